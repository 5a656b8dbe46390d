package eval

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// mention is an id that stands in a text.
type mention struct {
	id    string // one that is known as it is, any other in capitals without what stands between its parts
	known bool
	cited bool // as what something rests on
}

// mentions are the ids in a text, each once: those that are known, of any shape,
// then whatever else has the shape of one. Half-width and full-width writing are
// alike, and so are upper and lower case, and P1001, P-1001 and P 1001.
func mentions(text string, known []string) []mention {
	text = uniform(text)
	var found []mention
	note := func(id string, known bool, at []int) {
		m := mention{id, known, citing.MatchString(text[:at[0]])}
		if i := slices.IndexFunc(found, func(one mention) bool { return one.id == id && one.known == known }); i >= 0 {
			found[i].cited = found[i].cited || m.cited
			return
		}
		found = append(found, m)
	}
	for _, id := range known {
		for _, spelling := range spellings(id) {
			for _, at := range spelling.FindAllStringIndex(text, -1) {
				if whole(text, at[0], at[1]) {
					note(id, true, at)
					text = text[:at[0]] + strings.Repeat(" ", at[1]-at[0]) + text[at[1]:] // it is nothing else as well
				}
			}
		}
	}
	for _, shape := range append(shapesLike(known), idShape) {
		for _, at := range shape.FindAllStringIndex(text, -1) {
			note(compact(text[at[0]:at[1]]), false, at)
		}
	}
	return found
}

var (
	// idShape is what reads like an id whatever ids there are: G1234, HR-2026-77,
	// the number of a draft. A4, COVID-19 and RMB300 do not.
	idShape = regexp.MustCompile(`\b(?:[A-Z]{1,2}\d{3,}[0-9A-Za-z]*(?:-[0-9A-Za-z]+)*|[A-Z]{1,8}(?:-[A-Z]{1,8})*-\d{3,}(?:-\d+)*|[A-Z]{1,8}(?:-[A-Z]{1,8})*(?:-\d+){2,}|[DT][0-9a-f]{24})\b`)
	// citing ends in words that say what something rests on.
	citing = regexp.MustCompile(`(?i)(?:依据|根据|依照|援引|according to|based on|pursuant to|\bunder)[\s\p{P}是为]*(?:(?:the )?policy|制度)?[\s\p{P}]*$`)
	// runs are the parts of an id, without what stands between them.
	runs    = regexp.MustCompile(`\d+|\p{L}+|[^\d\p{L} -]+`)
	digits  = regexp.MustCompile(`^\d+$`)
	letters = regexp.MustCompile(`^[A-Za-z]+$`)
)

// uniform is a text in one way of writing its characters, without those that are
// not seen.
func uniform(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.Is(unicode.Pd, r) || r == '−' || r == '_':
			return '-'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, norm.NFKC.String(text))
}

// compact is an id in capitals, without what stands between its parts.
func compact(id string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, uniform(id)))
}

// spellings match the ways to write an id: in any case with a hyphen or nothing
// between its parts, and as it is with spaces there too. "a 100" is then no A100.
// One without a number is a word, and is written as it is.
func spellings(id string) []*regexp.Regexp {
	parts := runs.FindAllString(uniform(id), -1)
	if !slices.ContainsFunc(parts, digits.MatchString) {
		return []*regexp.Regexp{regexp.MustCompile("(?i)" + regexp.QuoteMeta(uniform(id)))}
	}
	tight, loose := "(?i)", ""
	for i, part := range parts {
		least := ""
		switch {
		case i == 0:
		case digits.MatchString(part) == digits.MatchString(parts[i-1]): // without anything they were one
			least = "{1,3}"
		default:
			least = "{0,3}"
		}
		if least != "" {
			tight, loose = tight+"-"+least, loose+"[- ]"+least
		}
		tight, loose = tight+regexp.QuoteMeta(part), loose+regexp.QuoteMeta(part)
	}
	return []*regexp.Regexp{regexp.MustCompile(tight), regexp.MustCompile(loose)}
}

// whole reports whether what stands there is no part of a longer word or number.
func whole(text string, from, to int) bool {
	is := func(i int, low, high byte) bool { return i >= 0 && i < len(text) && low <= text[i] && text[i] <= high }
	word := func(i int) bool { return is(i, '0', '9') || is(i, 'A', 'Z') || is(i, 'a', 'z') }
	longer := word(from-1) && word(from) || word(to-1) && word(to)
	return !longer && !(is(to, '-', '-') && is(to+1, '0', '9'))
}

// shapesLike match what begins as one of these ids does and goes on with a number.
func shapesLike(known []string) []*regexp.Regexp {
	var first []string
	for _, id := range known {
		if parts := runs.FindAllString(uniform(id), 2); len(parts) == 2 && letters.MatchString(parts[0]) && digits.MatchString(parts[1]) {
			first = append(first, strings.ToUpper(parts[0]))
		}
	}
	if len(first) == 0 {
		return nil
	}
	either := `\b(?:` + strings.Join(distinct(first), "|") + ")"
	const number = `\d{3,}[0-9A-Za-z]*(?:-[0-9A-Za-z]+)*\b`
	return []*regexp.Regexp{regexp.MustCompile("(?i)" + either + "-?" + number), regexp.MustCompile(either + " " + number)}
}
