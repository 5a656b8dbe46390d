package pdf

import (
	"fmt"
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

// What a file makes of itself is bounded, however little of it there is.
func TestBounds(t *testing.T) {
	few := bounds{decoded: 1 << 20, operations: 1 << 16, text: 1 << 10}
	font := "/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
	var long pdftest.File
	long.Page(font, "BT /F 0.6 Tf 50 700 Td ("+strings.Repeat("a", 600)+") Tj 0 -9 Td ("+strings.Repeat("b", 600)+") Tj ET")
	for name, c := range map[string]struct{ raw, why string }{
		"forms that breed":         {breeding(), "draws too much"},
		"one that unpacks to much": {bomb(2<<20, 1), "once it is unpacked"},
		"several that do":          {bomb(1<<18, 5), "once it is unpacked"},
		"packed twice":             {packedTwice(2 << 20), "unpacked"},
		"too much text":            {long.Bytes(), "bytes of text"},
		"one stream, many objects": {shared(), "circles"},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := read(t.Context(), []byte(c.raw), few)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v and %.40q", err, document.Text)
			}
		})
	}
}
