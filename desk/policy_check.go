package desk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/holdfast-run/holdfast/kernel"
)

// Check refuses a version that cannot be kept, as INVALID_ARGUMENT: one whose id,
// version or title is not what it looks like, or whose time is out of reach.
func (p *Policy) Check(tenant string) error {
	if !kernel.IsName(tenant) || posing(tenant) {
		return wrong("a policy belongs to a tenant, whose name looks like no other: %+.80q does not do", tenant)
	}
	for _, t := range []struct {
		text, name string
		most       int
		check      func(s, name string, most int) (string, error)
	}{{p.ID, "the policy's id", MaxPolicyID, Text}, {p.Version, "the version", MaxVersion, Line}, {p.Title, "the title", MaxTitle, Line}, {p.Body, "the body", MaxPolicyBody, Legible}} {
		if clean, err := t.check(t.text, t.name, t.most); err != nil {
			return err
		} else if clean != t.text {
			return wrong("%s has white space around it", t.name)
		}
	}
	switch {
	case !policyID.MatchString(p.ID) || !norm.NFKC.IsNormalString(p.ID):
		return wrong("the policy's id is letters of ASCII, digits and Chinese characters, and between them any of -_.:/()〔〕 and no blanks: %+.80q does not do", p.ID)
	case !p.ValidFrom.IsZero() && (p.ValidFrom.UTC().Year() < 1970 || p.ValidFrom.UTC().Year() > 2199):
		return wrong("a version is in force from a day between 1970 and 2199, and not from %.40s", p.ValidFrom.UTC().Format(time.DateOnly))
	case p.Everybody && len(p.Viewers) > 0:
		return wrong("a policy is for everybody or for its viewers")
	case len(p.Viewers) > MaxViewers || slices.ContainsFunc(p.Viewers, func(v string) bool { return !kernel.IsName(v) || posing(v) }):
		return wrong("viewers are at most %d names of people, each of which looks like no other", MaxViewers)
	}
	return nil
}

// CheckImport refuses policies that are too many to be kept in one transaction, or
// whose bodies are too long together, as INVALID_ARGUMENT: nobody else could write
// meanwhile.
func CheckImport(policies, text int) error {
	if policies <= MaxImport && text <= MaxImportText {
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeInvalidArgument,
		Message: fmt.Sprintf("one import has at most %d policies, and %d MiB of text in all", MaxImport, MaxImportText>>20),
		Hint:    "nothing was imported; import them in several parts",
	}
}

// policyID is what ids look like that stand in lists with blanks between them, and
// in sentences.
var policyID = regexp.MustCompile(`^[A-Za-z0-9\p{Han}]([-A-Za-z0-9\p{Han}_.:/()〔〕]*[A-Za-z0-9\p{Han})〕])?$`)

// posing tells whether a name can pass for another one: by characters that are
// others in another shape, or by letters of an alphabet that shares shapes with Latin
// among Latin ones.
func posing(name string) bool {
	in := func(scripts ...*unicode.RangeTable) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, scripts...) })
	}
	return !norm.NFKC.IsNormalString(name) ||
		in(unicode.Latin) && in(unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

func wrong(format string, args ...any) error {
	return &kernel.Error{
		Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf(format, args...),
		Hint: "nothing was kept; change it where it comes from, a flag or the policy's file",
	}
}
