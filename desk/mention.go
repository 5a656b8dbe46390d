package desk

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// mention is an id in an answer, or what looks like one.
type mention struct {
	id    string // as it was returned; of one that nothing returned, as it is written
	known bool   // it was returned
	cited bool   // it is put forward as what the answer rests on
}

// token is what can be an id: letters and digits, with hyphens inside.
var token = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*`)

// citing is how a text puts forward what follows it.
var citing = regexp.MustCompile(`(?i)(?:依据|根据|依照|按照|遵照|参照|援引|引用|按|依|见|凭|制度|政策|规定|规章|办法|条例|` +
	`\b(?:under|per|see|polic(?:y|ies)|according to|based on|rest(?:s|ing)? on|rel(?:y|ies) on|pursuant to|in line with|cit(?:e|es|ed|ing)|sources?|references?|basis))` +
	`(?:是|为|了|的|编号|号|\b(?:the|policy|policies|no\.|number|is|are)\b|[\s:"'“”‘’«»《〈「『【\[({*_` + "`" + `#-])*$`)

// joining is what stands between the parts of a list.
var joining = regexp.MustCompile(`(?i)^(?:[\s,、和与及或跟&/+"'“”‘’«»《》〈〉「」『』【】\[\](){}*_` + "`" + `]|以及|\band\b|\bor\b|\bas well as\b)+$`)

// missing is how a text says that something was not found.
var missing = regexp.MustCompile(`(?i)(?:没有?|未)能?[找查搜]|[找查搜]不到|\b(?:no such|not? (?:find|found)|found no|find no|(?:cannot|can't|could not|couldn't|unable to|did not|didn't) find|no policy)\b`)

// spelled writes a text in one spelling, so that an id is found however wide its
// letters and its hyphens are.
func spelled(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '−' || unicode.Is(unicode.Pd, r) {
			return '-'
		}
		return r
	}, norm.NFKC.String(text))
}

// lower folds the letters that ids are told apart by, byte for byte.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// place is where a mention stands.
type place struct {
	from, to int
	mention
}

// mentions are the ids in an answer in their order, and what looks like one to
// people: known are those that were returned, policies those of them that are of policies.
func mentions(answer string, known, policies []string) []mention {
	answer = spelled(answer)
	places := returned(answer, known)
	for _, at := range token.FindAllStringIndex(answer, -1) {
		free := !slices.ContainsFunc(places, func(p place) bool { return at[0] < p.to && p.from < at[1] })
		if free && digits(answer[at[0]:at[1]]) > 0 {
			places = append(places, place{at[0], at[1], mention{id: answer[at[0]:at[1]]}})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return a.from - b.from })
	return told(answer, places, prefixes(policies))
}

// returned finds ids word by word, the longest first: one inside another is none.
func returned(answer string, known []string) (places []place) {
	known = slices.Clone(known)
	slices.SortStableFunc(known, func(a, b string) int { return len(b) - len(a) })
	for _, id := range slices.Compact(known) {
		for _, at := range standing(answer, id) {
			if !slices.ContainsFunc(places, func(p place) bool { return at < p.to && p.from < at+len(spelled(id)) }) {
				places = append(places, place{at, at + len(spelled(id)), mention{id: id, known: true}})
			}
		}
	}
	return places
}

// standing is where an id stands in a text that is spelled, with borders around it.
func standing(text, id string) (at []int) {
	text, id = lower(text), lower(spelled(id))
	for from := 0; id != ""; {
		i := strings.Index(text[from:], id)
		if i < 0 {
			break
		}
		i += from
		if !joined(text[:i], id, false) && !joined(text[i+len(id):], id, true) {
			at = append(at, i)
		}
		from = i + len(id)
	}
	return at
}

// joined reports whether an id goes on in what stands beside it.
func joined(beside, id string, after bool) bool {
	word := func(s string, i int) bool { return i >= 0 && i < len(s) && (s[i] == '_' || isWord(s[i])) }
	if after {
		return word(id, len(id)-1) && (word(beside, 0) || strings.HasPrefix(beside, "-") && word(beside, 1))
	}
	last := len(beside) - 1
	return word(id, 0) && (word(beside, last) || strings.HasSuffix(beside, "-") && word(beside, last-1))
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// told keeps what was returned, and what would be taken for an id.
func told(answer string, places []place, prefixes []string) (found []mention) {
	end, cited := 0, false
	for i, p := range places {
		before := answer[end:p.from]
		cited = cites(before) || i > 0 && cited && joining.MatchString(before)
		end = p.to
		p.cited = cited
		if p.known || p.looksLikeID(prefixes) {
			found = append(found, p.mention)
		}
	}
	return found
}

// cites reports whether a text puts forward what follows it.
func cites(before string) bool {
	clause := before[strings.LastIndexAny(before, "。.!?;,\n")+1:]
	return citing.MatchString(before) && !missing.MatchString(clause)
}

// manyDigits is from how many digits on a word is no size, and no name of a thing.
const manyDigits = 3

// looksLikeID reports whether people would take a word for an id: it begins like
// the policies that were found, or has capitals and then digits, or is cited. A4
// and COVID-19 are none.
func (m *mention) looksLikeID(prefixes []string) bool {
	prefix := prefixOf(m.id)
	capitals := strings.ToUpper(prefix) == prefix
	return slices.Contains(prefixes, prefix) || digits(m.id) >= manyDigits && (capitals || m.cited)
}

func prefixes(ids []string) (found []string) {
	for _, id := range ids {
		if p := prefixOf(spelled(id)); p != "" && p != spelled(id) {
			found = append(found, p)
		}
	}
	return found
}

// prefixOf is what stands before the first digit.
func prefixOf(id string) string {
	if i := strings.IndexAny(id, "0123456789"); i >= 0 {
		return id[:i]
	}
	return id
}

func digits(text string) (n int) {
	for _, r := range text {
		if '0' <= r && r <= '9' {
			n++
		}
	}
	return n
}
