package retrieval

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// said decodes front matter. Whatever would be passed over is refused, since it
// might have said who may see the policy: a key that is not known, a second
// document, and a viewer without a name.
func (f *Front) said(head string) error {
	absent := []string{""}
	f.Viewers = absent
	decoder := yaml.NewDecoder(strings.NewReader(head))
	decoder.KnownFields(true)
	if err := decoder.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("its front matter: %s", plainly(err))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New(`its front matter goes on behind a line of its own, "---" or "...": write one block between two lines "---"`)
	}
	switch {
	case len(f.Viewers) == 0:
		return errors.New("its front matter has a viewer without a name: leave the key out where everybody of the tenant may see it")
	case &f.Viewers[0] == &absent[0]:
		f.Viewers = nil
	}
	return nil
}

var unknownKey = regexp.MustCompile(`^line \d+: field (.*) not found in type .*$`)

// plainly tells an error of the decoder in the file's own words.
func plainly(err error) string {
	if mistakes, ok := errors.AsType[*yaml.TypeError](err); ok && len(mistakes.Errors) > 0 {
		if key := unknownKey.FindStringSubmatch(mistakes.Errors[0]); key != nil {
			return fmt.Sprintf("there is no key %.80q; the keys are tenant, id, title, version, valid-from and viewer", key[1])
		}
	}
	return err.Error()
}

var viewerKey = regexp.MustCompile(`(?i)^[^\pL\pN]*(policy)?[\s_-]*viewers?[^\pL\pN]*[:=]`)

// unfenced refuses a text that begins as if it told something of itself, and not
// between two lines "---": it would become part of the policy, for everybody to see.
func unfenced(text string) error {
	first := true
	for line := range strings.Lines(text) {
		line = strings.TrimFunc(norm.NFKC.String(line), func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
		switch {
		case line == "" && first:
			continue
		case line == "":
			return nil
		case first && isRule(line):
			return fmt.Errorf(`its text begins with %.20q: front matter begins and ends with "---" at the very beginning and end of a line, and stands once, first in the file`, line)
		case viewerKey.MatchString(line):
			return fmt.Errorf(`its text begins with %.40q, which is for front matter: write that between two lines "---" at the very beginning of the file`, line)
		}
		first = false
	}
	return nil
}

// isRule tells whether a line begins as a fence does, or is a fence that a word
// processor has made more beautiful.
func isRule(line string) bool {
	return strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") ||
		strings.Trim(line, "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2500") == ""
}
