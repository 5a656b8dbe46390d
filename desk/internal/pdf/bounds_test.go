package pdf

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/internal/pdf/pdftest"
)

// breeding are forms that each show the next one many times.
func breeding() string {
	var f pdftest.File
	for i := range 9 {
		f.Stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>", i+4), strings.Repeat("/X Do ", 100))
	}
	f.Page("/XObject << /X 3 0 R >>", "/X Do")
	return f.Bytes()
}

// bomb is a page whose content unpacks to size bytes, so many times.
func bomb(size, times int) string {
	var f pdftest.File
	one := f.Packed("", strings.Repeat(" ", size))
	f.PageOf("/Contents [" + strings.Repeat(fmt.Sprintf("%d 0 R ", one), times) + "]")
	return f.Bytes()
}

func packedTwice(size int) string {
	var f pdftest.File
	f.PageOf(fmt.Sprintf("/Contents %d 0 R", f.Stream("/Filter [/FlateDecode /FlateDecode]", pdftest.Pack(pdftest.Pack(strings.Repeat(" ", size))))))
	return f.Bytes()
}

// shared is a file in which many objects have the same long stream.
func shared() string {
	var f pdftest.File
	long := f.Stream("", strings.Repeat("a", 100_000))
	raw := f.Bytes()
	_, table, _ := strings.Cut(raw, "xref\n")
	row := strings.Split(table, "\n")[long+1]
	head, tail, _ := strings.Cut(raw, "trailer\n")
	return head + fmt.Sprintf("%d 5000\n", long+1) + strings.Repeat(row+"\n", 5000) + "trailer\n" + strings.Replace(tail, "/Size 4", "/Size 5004", 1)
}

const (
	latin = "/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
	begin = "BT /F 0.6 Tf 50 700 Td "
)

// page is one of which this is the content once it is unpacked.
func page(content string) string {
	var f pdftest.File
	f.PageOf(fmt.Sprintf("/Resources << %s >> /Contents %d 0 R", latin, f.Packed("", content)))
	return f.Bytes()
}

// mapped is a page that shows something in a font of which a table tells this.
func mapped(table string) string {
	var f pdftest.File
	number := f.Packed("", table)
	f.Page(fmt.Sprintf("/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /A /ToUnicode %d 0 R >> >>", number), begin+"(a) Tj ET")
	return f.Bytes()
}

// wide is a page in fonts that each have the widths of all codes, in a few bytes.
func wide() string {
	var f pdftest.File
	fonts, use := "", ""
	for i := range 40 {
		number := f.Add("<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /W [0 65535 500] >>] >>")
		fonts += fmt.Sprintf("/F%d %d 0 R ", i, number)
		use += fmt.Sprintf("/F%d 9 Tf ", i)
	}
	f.Page("/Font << "+fonts+">>", "BT "+use+"ET")
	return f.Bytes()
}

// What a file makes of itself is bounded, however little of it there is.
func TestBounds(t *testing.T) {
	few := bounds{decoded: 1 << 20, operations: 1 << 16, codes: 1 << 10, text: 1 << 10}
	many := bounds{decoded: 16 << 20, operations: 1 << 20, codes: MaxCodes, text: 1 << 20}
	for name, c := range map[string]struct {
		raw, why string
		most     bounds
	}{
		"forms that breed":         {breeding(), "draws too much", few},
		"one that unpacks to much": {bomb(2<<20, 1), "once it is unpacked", few},
		"several that do":          {bomb(1<<18, 5), "once it is unpacked", few},
		"packed twice":             {packedTwice(2 << 20), "unpacked", few},
		"too much text":            {page(begin + "(" + strings.Repeat("a", 600) + ") Tj 0 -9 Td (" + strings.Repeat("b", 600) + ") Tj ET"), "bytes of text", few},
		"one stream, many objects": {shared(), "circles", few},
		"operands that count":      {page(strings.Repeat("0 ", 1<<16+1)), "draws too much", few},
		"glyphs that count":        {page(begin + strings.Repeat("3 Tr ("+strings.Repeat("a", 1000)+") Tj ", 70)), "draws too much", few},
		"operands in a row":        {page(strings.Repeat("0 ", maxOperands+1)), "operands in a row", many},
		"an array without end":     {page("[" + strings.Repeat("0 ", maxOperands)), "operands in a row", many},
		"arrays without end":       {page(strings.Repeat("[", maxOperands+1)), "operands in a row", many},
		"a long string":            {page(begin + "(" + strings.Repeat("a", maxString+1) + ") Tj ET"), "a string of over", many},
		"a long string in hex":     {page(begin + "<" + strings.Repeat("61", maxString+9) + "> Tj ET"), "a string of over", many},
		"a long word":              {page(strings.Repeat("a", maxString+1)), "a string of over", many},
		"much shown at once":       {page(begin + "[" + strings.Repeat("("+strings.Repeat("a", 1000)+") 500000 ", 70) + "] TJ ET"), "at once", many},
		"many lines":               {page(begin + strings.Repeat("(a) Tj 0 -3 Td (b) Tj 0 3 Td ", maxLines/2+1) + "ET"), "lines", many},
		"a table of codes":         {mapped(strings.Repeat("<0041> <0042> ", 1025) + "endbfchar"), "too many characters", few},
		"a table of ranges":        {mapped("<0000> <ffff> [" + strings.Repeat("<0042> ", 1025) + "] endbfrange"), "too many characters", few},
		"a table that is too long": {mapped(strings.Repeat("<0041> ", maxOperands+1) + "endbfchar"), "operands in a row", many},
		"widths in a few bytes":    {wide(), "too many characters", many},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := read(t.Context(), []byte(c.raw), c.most)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v and %.40q", err, document.Text)
			}
		})
	}
}

// A string of 8 MB that is packed in 8 KB takes little more than itself.
func TestAStringDoesNotGrow(t *testing.T) {
	raw := []byte(page(begin + "(" + strings.Repeat("A", 8<<20) + ") Tj ET"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(t.Context(), raw)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; err == nil || grown > 128<<20 {
		t.Errorf("%d bytes took %d bytes: %v", len(raw), grown, err)
	}
}
