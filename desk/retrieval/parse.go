package retrieval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of a file that is read.
const (
	MaxFile = 4*desk.MaxPolicyBody + 64<<10 // bytes of Markdown, text or HTML
	MaxPDF  = 32 << 20                      // bytes of a PDF, which has pictures
	MaxTime = 30 * time.Second              // for one file
)

// Front is what a file says of itself, and what stands in for it or overrules
// it. An empty field says nothing.
type Front struct {
	Tenant    string `yaml:"tenant"`
	ID        string `yaml:"id"`
	Title     string `yaml:"title"`
	Version   string `yaml:"version"`
	ValidFrom string `yaml:"valid-from"` //nolint:tagliatelle // the flag's name; a date, in UTC, or a time of RFC 3339; empty: always
	// Viewers are who may see it, or [Everybody]. None: everybody, unless there is a
	// version of it already that only some may see.
	Viewers Names `yaml:"viewer"`
}

// found is what a reader of one format finds in a file.
type found struct {
	front Front
	body  string
	title string // what stands in for a title that nobody gives
}

// Parse reads a version of a policy, and whose it is, from Markdown, text, HTML
// or PDF, which the end of the name tells. What over says overrules the file.
//
// INVALID_ARGUMENT is what it cannot read for certain: another kind of file than
// its name says, characters of an unknown encoding or that nobody would see, a
// key that is not known, a missing tenant, id, title or version, more than the
// bounds allow, a PDF that is encrypted, damaged or without text. CANCELLED is
// the end of ctx.
func Parse(ctx context.Context, name string, r io.Reader, over Front) (tenant string, p desk.Policy, err error) {
	limited, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	file, err := read(limited, name, r)
	switch {
	case ctx.Err() != nil:
		return "", p, &kernel.Error{Code: kernel.CodeCancelled, Message: "the import was cancelled", Hint: "nothing was imported"}
	case err != nil:
		return "", p, refuse(name, err, "a file is read whole and for certain, or not at all")
	}
	if tenant, p, err = file.policy(over); err != nil {
		return "", desk.Policy{}, refuse(name, err, "tenant, id, title and version come from flags or from the file")
	}
	p.Source = filepath.Base(name)
	return tenant, p, nil
}

// format is one kind of file.
type format struct {
	most int
	read func(ctx context.Context, name string, raw []byte) (found, error)
}

func formatOf(name string) (format, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown", ".txt":
		return format{MaxFile, readText}, nil
	case ".html", ".htm":
		return format{MaxFile, readHTML}, nil
	case ".pdf":
		return format{MaxPDF, readPDF}, nil
	}
	return format{}, errors.New("its name ends in none of .md, .markdown, .txt, .html, .htm and .pdf")
}

// read reads a file. A parser of others that panics has met a file that cannot be
// read, and takes nothing else down.
func read(ctx context.Context, name string, r io.Reader) (f found, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			f, err = found{}, fmt.Errorf("its reader failed: %v", fault)
		}
	}()
	kind, err := formatOf(name)
	if err != nil {
		return found{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(kind.most)+1))
	switch {
	case err != nil:
		return found{}, err
	case len(raw) > kind.most:
		return found{}, fmt.Errorf("it has over %d bytes", kind.most)
	}
	if err := suits(name, raw); err != nil {
		return found{}, err
	}
	return kind.read(ctx, name, raw)
}

// suits refuses a content that belongs under another name.
func suits(name string, raw []byte) error {
	kind := strings.ToLower(filepath.Ext(name))
	for _, known := range []struct{ begins, is, ends string }{
		{"%PDF-", "a PDF", ".pdf"},
		{"PK\x03\x04", "an archive, as office documents are: save it as PDF or HTML", ""},
		{"\xd0\xcf\x11\xe0", "an old office document: save it as PDF or HTML", ""},
		{"{\\rtf", "rich text: save it as PDF or HTML", ""},
	} {
		if bytes.HasPrefix(raw, []byte(known.begins)) && kind != known.ends {
			return fmt.Errorf("the file is %s, and its name ends in %s", known.is, kind)
		}
	}
	return nil
}

// policy makes one out of what was found, and of what overrules it.
func (f *found) policy(over Front) (tenant string, p desk.Policy, err error) {
	front := f.front
	front.overrule(over)
	if p.Viewers, p.Everybody, err = seenBy(front.Viewers); err != nil {
		return "", p, err
	}
	if p.ValidFrom, err = day(front.ValidFrom); err != nil {
		return "", p, err
	}
	if front.Title == "" {
		front.Title = f.title
	}
	for _, t := range []struct {
		to         *string
		text, name string
	}{
		{&p.ID, front.ID, "the policy's id"}, {&p.Version, front.Version, "the version"},
		{&p.Title, front.Title, "the title"}, {&p.Body, f.body, "the body"},
	} {
		if *t.to, err = legible(t.text); err != nil {
			return "", p, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return front.Tenant, p, p.Check(front.Tenant)
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
	return time.Time{}, fmt.Errorf("valid-from is %q, and not a day from 1970 to 2199 such as 2026-01-31", s)
}

func refuse(name string, why error, hint string) error {
	message := why.Error()
	if known, ok := errors.AsType[*kernel.Error](why); ok {
		message = known.Message
	}
	return &kernel.Error{
		Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%q cannot be imported: %s", filepath.Base(name), message),
		Hint: "nothing was imported; " + hint,
	}
}
