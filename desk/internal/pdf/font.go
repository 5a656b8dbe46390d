package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	utf16 "golang.org/x/text/encoding/unicode"
)

// unreadable stands for a glyph whose text the file does not tell.
const unreadable = "\ufffd"

// glyph is what one code of a string shows. Its width is in thousandths of the
// font's size.
type glyph struct {
	text  string
	width float64
	blank bool // the code 32 of one byte, to which word spacing applies
}

// font tells what codes show.
type font struct {
	toUnicode *cmap
	table     *[256]rune        // of a font with codes of one byte; nil: it tells nothing
	composite bool              // codes have several bytes
	charset   encoding.Encoding // of a composite font whose codes are text
	unit      int               // bytes of a code in it; 0: as GBK or Big5 have it
	widths    map[uint32]float64
	width     float64 // of other codes
	scale     float64 // of widths, to thousandths
	vertical  bool
}

// font reads a font of a page's resources.
func (f *file) font(o types.Object) *font {
	ref, isRef := o.(types.IndirectRef)
	if known := f.fonts[ref]; isRef && known != nil {
		return known
	}
	read := f.readFont(f.dict(o))
	if isRef {
		f.fonts[ref] = read
	}
	return read
}

func (f *file) readFont(d types.Dict) *font {
	read := &font{widths: map[uint32]float64{}, width: 500, scale: 1}
	if d["ToUnicode"] != nil {
		if data, err := f.stream(d["ToUnicode"]); err == nil {
			read.toUnicode = f.readCMap(data)
		}
	}
	if f.name(d["Subtype"]) == "Type0" {
		f.readComposite(read, d)
		return read
	}
	read.table = f.readTable(d)
	first, _ := f.number(d["FirstChar"])
	for i, width := range f.numbers(d["Widths"]) {
		if !f.learn() {
			break
		}
		read.widths[uint32(int(first)+i)] = width
	}
	if missing, given := f.number(f.dict(d["FontDescriptor"])["MissingWidth"]); given && len(read.widths) > 0 {
		read.width = missing
	}
	if matrix := f.numbers(d["FontMatrix"]); f.name(d["Subtype"]) == "Type3" && len(matrix) == 6 {
		read.scale = matrix[0] * 1000
	}
	return read
}

// readTable reads the encoding of a font with codes of one byte. That which an
// embedded font of symbols has within itself is not known here.
func (f *file) readTable(d types.Dict) *[256]rune {
	if table := f.baseEncoding(f.name(d["Encoding"])); table != nil {
		return table
	}
	differences := f.dict(d["Encoding"])
	table := f.baseEncoding(f.name(differences["BaseEncoding"]))
	if table == nil && !f.symbolic(d) {
		table = f.baseEncoding("StandardEncoding")
	}
	array, _ := f.object(differences["Differences"]).(types.Array)
	if table == nil && len(array) > 0 {
		table = &[256]rune{}
	}
	code := 0
	for _, item := range array {
		if !f.learn() {
			break
		}
		if number, isNumber := f.number(item); isNumber {
			code = int(number)
			continue
		}
		if code >= 0 && code < 256 {
			table[code] = f.glyph(f.name(item))
		}
		code++
	}
	return table
}

func (f *file) symbolic(d types.Dict) bool {
	base := f.name(d["BaseFont"])
	if strings.Contains(base, "Symbol") || strings.Contains(base, "Dingbats") || strings.Contains(base, "Wingdings") || f.name(d["Subtype"]) == "Type3" {
		return true
	}
	flags, given := f.number(f.dict(d["FontDescriptor"])["Flags"])
	return given && int(flags)&4 != 0
}

// readComposite reads a font whose codes have several bytes, as Chinese has them.
func (f *file) readComposite(read *font, d types.Dict) {
	read.composite, read.width = true, 1000
	coding := f.name(d["Encoding"])
	read.vertical = strings.HasSuffix(coding, "-V")
	switch {
	case strings.HasPrefix(coding, "Identity"):
		read.unit = 2
	case strings.Contains(coding, "-UCS2-"), strings.Contains(coding, "-UTF16-"):
		read.charset, read.unit = utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM), 2
	case strings.HasPrefix(coding, "GB"):
		read.charset = simplifiedchinese.GB18030
	case strings.HasPrefix(coding, "ETen"), strings.HasPrefix(coding, "B5pc"):
		read.charset = traditionalchinese.Big5
	}
	descendants, _ := f.object(d["DescendantFonts"]).(types.Array)
	if len(descendants) == 0 || read.charset != nil {
		return // the widths are those of other numbers than the codes
	}
	below := f.dict(descendants[0])
	if width, given := f.number(below["DW"]); given {
		read.width = width
	}
	if array, ok := f.object(below["W"]).(types.Array); ok {
		f.readWidths(read, array)
	}
}

// readWidths reads "first [w w …]" and "first last w" of codes.
func (f *file) readWidths(read *font, array types.Array) {
	for len(array) >= 2 && f.learn() {
		first, _ := f.number(array[0])
		if each := f.numbers(array[1]); each != nil {
			for i := 0; i < len(each) && f.learn(); i++ {
				read.widths[uint32(int(first)+i)] = each[i]
			}
			array = array[2:]
			continue
		}
		if len(array) < 3 {
			return
		}
		last, _ := f.number(array[1])
		width, _ := f.number(array[2])
		for code := int(first); code <= int(last) && code <= 0xffff && f.learn(); code++ {
			read.widths[uint32(code)] = width
		}
		array = array[3:]
	}
}

// glyphs cuts a string into what it shows.
func (t *font) glyphs(s literal) []glyph {
	all := make([]glyph, 0, len(s))
	for len(s) > 0 {
		n := min(t.length(s), len(s))
		code := number(s[:n])
		width, known := t.widths[code]
		if !known {
			width = t.width
			if t.charset != nil && n == 1 {
				width /= 2
			}
		}
		all = append(all, glyph{readable(t.text(s[:n], code)), width * t.scale, n == 1 && code == ' '})
		s = s[n:]
	}
	return all
}

// length is that of the code at the beginning of s, in bytes.
func (t *font) length(s literal) int {
	switch {
	case !t.composite:
		return 1
	case t.unit == 2 && t.charset != nil && len(s) >= 4 && s[0] >= 0xd8 && s[0] <= 0xdb:
		return 4 // two surrogates
	case t.unit > 0:
		return t.unit
	case t.charset == simplifiedchinese.GB18030 && s[0] > 0x80 && len(s) >= 4 && s[1] >= '0' && s[1] <= '9':
		return 4
	case t.charset != nil && s[0] > 0x80:
		return 2
	case t.charset != nil:
		return 1
	case t.toUnicode != nil && len(t.toUnicode.widths) == 1:
		return max(1, t.toUnicode.widths[0])
	}
	return 2
}

func (t *font) text(raw literal, code uint32) string {
	if t.toUnicode != nil {
		if text := t.toUnicode.text(code); text != "" {
			return text
		}
	}
	switch {
	case t.charset != nil:
		text, err := t.charset.NewDecoder().String(string(raw))
		if err != nil {
			return unreadable
		}
		return text
	case t.table != nil && code < 256 && t.table[code] != 0:
		return string(t.table[code])
	case !t.composite && code == ' ':
		return " " // fonts of symbols have it too
	}
	return unreadable
}

// readable makes a blank of any white space, and one unreadable character of what
// is no text.
func readable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || (unicode.IsControl(r) && !unicode.IsSpace(r))
	}) {
		return unreadable
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
}
