package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spot is where a glyph stands: along its line, and across it.
type spot struct{ from, to, across, size, angle float64 }

// line is text that stands in a row.
type line struct {
	spot

	text strings.Builder
	last rune
}

// lines puts the glyphs of a page together, in the order in which they are shown.
type lines struct {
	all  []*line
	show []glyphAt // of the operation that shows them
	past []glyphAt // of the one before
}

type glyphAt struct {
	spot

	text string
}

func (l *lines) begin() { l.show, l.past = l.past[:0], l.show }

func (l *lines) put(text string, at spot) { l.show = append(l.show, glyphAt{at, text}) }

// end takes what an operation has shown, unless it shows the one before again a
// little beside it, as bold letters are made. It returns how many bytes that is.
func (l *lines) end() (size int) {
	if l.again() {
		return 0
	}
	for _, g := range l.show {
		l.add(g)
		size += max(1, len(g.text))
	}
	return size
}

func (l *lines) again() bool {
	if len(l.show) != len(l.past) {
		return false
	}
	for i, g := range l.show {
		p := l.past[i]
		if g.text != p.text || math.Abs(g.from-p.from) > g.size/5 || math.Abs(g.across-p.across) > g.size/5 {
			return false
		}
	}
	return len(l.show) > 0
}

func (l *lines) add(g glyphAt) {
	current := l.current()
	if current == nil || current.angle != g.angle || math.Abs(current.across-g.across) > max(current.size, g.size)/2 ||
		g.from < current.to-2*max(current.size, g.size) {
		current = &line{spot: g.spot}
		l.all = append(l.all, current)
	} else if gap := g.from - current.to; gap > current.size/5 && current.last != ' ' {
		first, _ := utf8.DecodeRuneInString(g.text)
		if gap > current.size || !Spaceless(current.last) || !Spaceless(first) {
			current.text.WriteByte(' ')
		}
	}
	current.text.WriteString(g.text)
	current.to = max(current.to, g.to)
	current.size = max(current.size, g.size)
	current.last, _ = utf8.DecodeLastRuneInString(g.text)
}

func (l *lines) current() *line {
	if len(l.all) == 0 {
		return nil
	}
	return l.all[len(l.all)-1]
}

// text is that of the page. A line that was broken only because it was full goes
// on with the next one, so that a word which the break cut is whole.
func (l *lines) text() string {
	var all strings.Builder
	var before *line
	widest := l.extents()
	for _, next := range l.all {
		text := strings.TrimSpace(next.text.String())
		if text == "" {
			continue
		}
		if before != nil {
			all.WriteString(between(before, next, text, widest[before.kind()]))
		}
		all.WriteString(bulleted(text))
		next.last, _ = utf8.DecodeLastRuneInString(text)
		before = next
	}
	return all.String()
}

// kind is what lines of one text have in common.
type kind struct {
	angle float64
	size  int
}

func (l *line) kind() kind { return kind{l.angle, int(math.Round(l.size))} }

type extent struct{ left, right float64 }

// extents are how far the lines of each kind reach.
func (l *lines) extents() map[kind]extent {
	all := map[kind]extent{}
	for _, line := range l.all {
		reach, known := all[line.kind()]
		if !known {
			reach = extent{line.from, line.to}
		}
		all[line.kind()] = extent{min(reach.left, line.from), max(reach.right, line.to)}
	}
	return all
}

func between(before, next *line, text string, widest extent) string {
	if !goesOn(before, next, widest) || itemised(text) {
		return "\n"
	}
	first, _ := utf8.DecodeRuneInString(text)
	if Spaceless(before.last) && Spaceless(first) {
		return ""
	}
	return " "
}

// goesOn reports whether a line is as long as its page allows, and the next one
// begins below it and no further right.
func goesOn(before, next *line, widest extent) bool {
	slack := 2 * before.size
	if !Spaceless(before.last) {
		slack = max(slack, (widest.right-widest.left)/8)
	}
	below := before.across - next.across
	return before.kind() == next.kind() && below > before.size/2 && below < 2.5*before.size &&
		before.to > widest.right-slack && before.to-before.from > 10*before.size && next.from < before.from+before.size/2
}

// itemised reports whether a line begins an item of a list.
func itemised(text string) bool {
	mark, _, _ := strings.Cut(text, " ")
	first, _ := utf8.DecodeRuneInString(text)
	if strings.ContainsRune("•●■◆○·-–—*（(\ufffd第", first) || unicode.Is(unicode.Co, first) {
		return true
	}
	rest := strings.TrimLeft(mark, "0123456789一二三四五六七八九十")
	return rest != mark && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "、") || strings.HasPrefix(rest, ")") || strings.HasPrefix(rest, "．"))
}

// bulleted puts a bullet for the character of a font of symbols that a line
// begins with: what it looks like is all that it says.
func bulleted(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if (string(first) == unreadable || unicode.Is(unicode.Co, first)) && strings.HasPrefix(text[size:], " ") {
		return "•" + text[size:]
	}
	return text
}

// Spaceless reports whether words are not parted by blanks where r stands.
func Spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || (r >= 0x3000 && r <= 0x303f) || (r >= 0xff00 && r <= 0xffef)
}
