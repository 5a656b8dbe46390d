package pdf

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// cmap tells the text of codes, as a font's ToUnicode has it.
type cmap struct {
	single map[uint32]string
	ranges []codeRange
	widths []int // in bytes, of its codes
	may    func() bool
}

// codeRange are codes in a row: the text of the first, whose last unit counts up,
// or a text for each.
type codeRange struct {
	low, high uint32
	first     []uint16
	each      []literal
}

func (f *file) readCMap(data []byte) *cmap {
	m := &cmap{single: map[uint32]string{}, may: f.learn}
	l := &lexer{data: data, spend: f.spend}
	var args []any
	for {
		token, more := l.next()
		if !more {
			break
		}
		op, isOperator := token.(operator)
		if !isOperator {
			args = append(args, token)
			continue
		}
		switch op {
		case "endcodespacerange":
			m.space(args)
		case "endbfchar":
			m.chars(args)
		case "endbfrange":
			m.addRanges(args)
		}
		args = args[:0]
	}
	if l.err != nil {
		f.fault = l.err
	}
	slices.SortStableFunc(m.ranges, func(a, b codeRange) int { return cmp.Compare(a.low, b.low) })
	return m
}

func (m *cmap) space(args []any) {
	for _, arg := range args {
		if code, ok := arg.(literal); ok && len(code) <= 4 && !slices.Contains(m.widths, len(code)) {
			m.widths = append(m.widths, len(code))
		}
	}
	slices.Sort(m.widths)
}

func (m *cmap) chars(args []any) {
	for ; len(args) >= 2 && m.may(); args = args[2:] {
		code, ok1 := args[0].(literal)
		text, ok2 := args[1].(literal)
		if ok1 && ok2 {
			m.single[number(code)] = textOf(units(text))
		}
	}
}

func (m *cmap) addRanges(args []any) {
	for ; len(args) >= 3 && m.may(); args = args[3:] {
		low, ok1 := args[0].(literal)
		high, ok2 := args[1].(literal)
		if !ok1 || !ok2 {
			continue
		}
		r := codeRange{low: number(low), high: number(high)}
		switch to := args[2].(type) {
		case literal:
			r.first = units(to)
		case []any:
			for i := 0; i < len(to) && m.may(); i++ {
				text, _ := arg[literal](to, i)
				r.each = append(r.each, text)
			}
		}
		m.ranges = append(m.ranges, r)
	}
}

// text returns the text of a code; nothing: none is known.
func (m *cmap) text(code uint32) string {
	if text, known := m.single[code]; known {
		return text
	}
	after, _ := slices.BinarySearchFunc(m.ranges, code, func(r codeRange, code uint32) int {
		if r.low <= code {
			return -1
		}
		return 1
	})
	if after == 0 || m.ranges[after-1].high < code {
		return ""
	}
	r := m.ranges[after-1]
	offset := code - r.low
	if int(offset) < len(r.each) {
		return textOf(units(r.each[offset]))
	}
	if len(r.first) == 0 || offset > 0xffff {
		return ""
	}
	counted := slices.Clone(r.first)
	counted[len(counted)-1] += uint16(offset)
	return textOf(counted)
}

func number(code literal) (n uint32) {
	for i := range min(len(code), 4) {
		n = n<<8 | uint32(code[i])
	}
	return n
}

// units are those of UTF-16 in a string of at most 64 bytes.
func units(s literal) []uint16 {
	if len(s) == 1 {
		return []uint16{uint16(s[0])}
	}
	s = s[:min(len(s), 64)]
	all := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		all = append(all, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return all
}

func textOf(u []uint16) string { return string(utf16.Decode(u)) }
