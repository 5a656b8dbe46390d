//go:build linux || darwin

package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// fence stands above and below the front matter of a file.
const fence = "---"

// document is a file as it was read: what it says of itself, and its text.
type document struct {
	author, source string
	created        time.Time
	text           string
}

// parse reads a file. The front matter is optional: lines of `key: value`
// between two fences, of which author, source and created are looked at and
// others, which people's tools write, are passed over.
func parse(file string) (document, error) {
	var d document
	file = strings.ReplaceAll(file, "\r\n", "\n")
	if err := checkCharacters(file); err != nil {
		return d, err
	}
	body := file
	if head, ok := strings.CutPrefix(file, fence+"\n"); ok {
		matter, rest, found := cutFence(head)
		if !found {
			return d, fmt.Errorf("its front matter has no end: a line %s is missing", fence)
		}
		if err := d.describe(matter); err != nil {
			return d, err
		}
		body = rest
	}
	d.text = strings.Trim(body, "\n")
	return d, checkText(d.text)
}

// cutFence splits what follows the first fence at the second one.
func cutFence(s string) (before, after string, found bool) {
	if after, found = strings.CutPrefix(s, fence+"\n"); found {
		return "", after, true
	}
	if before, found = strings.CutSuffix(s, "\n"+fence); found && !strings.Contains(before, "\n"+fence+"\n") {
		return before, "", true
	}
	return strings.Cut(s, "\n"+fence+"\n")
}

func (d *document) describe(matter string) error {
	for line := range strings.SplitSeq(matter, "\n") {
		key, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		value = strings.TrimSpace(value)
		if plain, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
			value = plain
		}
		var err error
		switch key {
		case "author":
			d.author, err = value, checkWords("author", value)
		case "source":
			d.source, err = value, checkWords("source", value)
		case "created":
			if d.created, err = time.Parse(time.RFC3339, value); err != nil {
				d.created, err = time.Parse(time.DateOnly, value)
			}
			if err != nil {
				return fmt.Errorf("created is not a date such as 2026-01-31")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write is the inverse of parse.
func (d *document) write() string {
	return fence + "\nsource: " + strconv.Quote(d.source) + "\nauthor: " + strconv.Quote(d.author) +
		"\ncreated: " + d.created.Format(time.RFC3339) + "\n" + fence + "\n\n" + d.text + "\n"
}

// checkText judges the text of an entry.
func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("it has no text")
	case len(text) > MaxText:
		return fmt.Errorf("its text has %d bytes, and at most %d are possible", len(text), MaxText)
	}
	return checkCharacters(text)
}

// checkCharacters refuses what a person who confirms would not see, or would
// see differently: a text is what it looks like, on a screen and in a request.
func checkCharacters(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("it is not valid UTF-8")
	}
	line, before := 1, rune(0)
	for _, r := range text {
		if r == '\n' {
			line++
		}
		hidden := unseen(r) || smuggles(before, r)
		before = r
		if hidden {
			return fmt.Errorf("line %d holds the character U+%04X, which does not show", line, r)
		}
	}
	return nil
}

// unseen reports control characters, line separators and format characters,
// but for line breaks, tabs and the two joiners that ordinary text needs.
func unseen(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == utf8.RuneError
}

// smuggles reports a variation selector that selects nothing: behind another
// one, or of the many that no ordinary text has. Whole texts have been hidden in
// them, which a model reads and a person does not see.
func smuggles(before, r rune) bool {
	const supplement = 0xe0100
	return unicode.Is(unicode.Variation_Selector, r) && (r >= supplement || unicode.Is(unicode.Variation_Selector, before))
}

// checkWords judges an author or a source: one line.
func checkWords(what, s string) error {
	if len(s) > maxWords || checkCharacters(s) != nil || strings.ContainsAny(s, "\n\t") {
		return fmt.Errorf("its %s is not one line of at most %d bytes", what, maxWords)
	}
	return nil
}

// quoted puts a mark in front of each line, so that no line of a text can pass
// for one of the host's.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}
