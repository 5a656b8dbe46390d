package retrieval

import (
	"context"
	"errors"
	"strings"
)

const fence = "---\n"

// readText reads Markdown and text, which may begin with front matter between
// two lines "---". The first heading stands in for a title.
func readText(_ context.Context, _ string, raw []byte) (found, error) {
	text, err := decode(raw, "")
	if err != nil {
		return found{}, err
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if page := strings.ToLower(strings.TrimSpace(text[:min(len(text), 200)])); strings.HasPrefix(page, "<!doctype html") || strings.HasPrefix(page, "<html") {
		return found{}, errors.New("the file is HTML: its name has to end in .html")
	}
	front, body, err := split(text)
	return found{front: front, body: body, title: heading(body)}, err
}

func split(text string) (front Front, body string, err error) {
	rest, fenced := strings.CutPrefix(text, fence)
	if !fenced {
		return front, text, unfenced(text)
	}
	head, body, closed := strings.Cut(rest, "\n"+fence)
	if !closed {
		return front, "", errors.New("its front matter has no end")
	}
	if err := front.said(head); err != nil {
		return front, "", err
	}
	return front, body, unfenced(body)
}

func heading(body string) string {
	for line := range strings.Lines(body) {
		if title, found := strings.CutPrefix(line, "# "); found {
			return strings.Join(strings.Fields(title), " ") // a title is one line
		}
	}
	return ""
}
