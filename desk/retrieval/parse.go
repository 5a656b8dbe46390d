package retrieval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// MaxFile is the most bytes of a file that is read.
const MaxFile = 4*desk.MaxPolicyBody + 64<<10

const fence = "---\n"

// Front is what a file says of itself between two lines "---" at its beginning,
// and what stands in for it or overrules it. An empty field says nothing.
type Front struct {
	Tenant    string   `yaml:"tenant"`
	ID        string   `yaml:"id"`
	Title     string   `yaml:"title"`
	Version   string   `yaml:"version"`
	ValidFrom string   `yaml:"valid-from"` //nolint:tagliatelle // the flag's name; a date, in UTC, or a time of RFC 3339; empty: always
	Viewers   []string `yaml:"viewer"`
}

// Parse reads a version of a policy, and whose it is, from Markdown or text. What
// over says overrules the file. A file without a title has its first heading as
// one. A key that is not known, a missing tenant, id, title or version, another
// kind of file, a text that is not UTF-8 and a file over MaxFile bytes are
// INVALID_ARGUMENT.
func Parse(name string, r io.Reader, over Front) (tenant string, p desk.Policy, err error) {
	if kind := strings.ToLower(filepath.Ext(name)); kind != ".md" && kind != ".markdown" && kind != ".txt" {
		return "", p, refuse(name, "it is neither Markdown (.md, .markdown) nor text (.txt)")
	}
	raw, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	switch {
	case err != nil:
		return "", p, refuse(name, err.Error())
	case len(raw) > MaxFile:
		return "", p, refuse(name, fmt.Sprintf("it has over %d bytes", MaxFile))
	case !utf8.Valid(raw):
		return "", p, refuse(name, "it is not UTF-8: convert it first")
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\uFEFF"), "\r\n", "\n")
	front, body, err := split(text)
	if err != nil {
		return "", p, refuse(name, err.Error())
	}
	front.overrule(over)
	from, err := day(front.ValidFrom)
	if err != nil {
		return "", p, refuse(name, err.Error())
	}
	p = desk.Policy{
		ID: strings.TrimSpace(front.ID), Version: strings.TrimSpace(front.Version), Title: strings.TrimSpace(front.Title),
		Body: strings.TrimSpace(body), ValidFrom: from, Viewers: front.Viewers, Source: filepath.Base(name),
	}
	if p.Title == "" {
		p.Title = heading(p.Body)
	}
	if err := p.Check(front.Tenant); err != nil {
		return "", p, refuse(name, err.Error())
	}
	return front.Tenant, p, nil
}

func split(text string) (front Front, body string, err error) {
	rest, fenced := strings.CutPrefix(text, fence)
	if !fenced {
		return front, text, nil
	}
	head, body, closed := strings.Cut(rest, "\n"+fence)
	if !closed {
		return front, "", errors.New("its front matter has no end")
	}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(head)))
	decoder.KnownFields(true) // a misspelt "viewer" would show the policy to everybody
	if err := decoder.Decode(&front); err != nil && !errors.Is(err, io.EOF) {
		return front, "", fmt.Errorf("its front matter: %w", err)
	}
	return front, body, nil
}

func (f *Front) overrule(over Front) {
	for _, o := range []struct {
		to  *string
		say string
	}{{&f.Tenant, over.Tenant}, {&f.ID, over.ID}, {&f.Title, over.Title}, {&f.Version, over.Version}, {&f.ValidFrom, over.ValidFrom}} {
		if o.say != "" {
			*o.to = o.say
		}
	}
	if len(over.Viewers) > 0 {
		f.Viewers = over.Viewers
	}
}

func day(s string) (time.Time, error) {
	if s == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("valid-from is %q, and not a date such as 2026-01-31", s)
}

func heading(body string) string {
	for line := range strings.Lines(body) {
		if title, found := strings.CutPrefix(line, "# "); found {
			return strings.TrimSpace(title)
		}
	}
	return ""
}

func refuse(name, why string) error {
	return &kernel.Error{
		Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%s cannot be imported: %s", filepath.Base(name), why),
		Hint: "nothing was imported; tenant, id, title and version come from flags or from front matter",
	}
}
