// Package pdftest writes small PDFs for tests.
package pdftest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// File is a PDF in the making. Its object 1 is the catalog and object 2 the only
// node of the tree of pages. The zero value has no pages.
type File struct {
	Info    string // what the trailer says besides, such as "/Info 3 0 R"
	objects []string
	pages   []int
}

// Add adds an object and returns its number.
func (f *File) Add(object string) int {
	f.objects = append(f.objects, object)
	return len(f.objects) + 2
}

// Stream adds a stream with more entries of its dictionary, and returns its number.
func (f *File) Stream(entries, data string) int {
	return f.Add(fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), data))
}

// Packed adds a stream in packed form.
func (f *File) Packed(entries, data string) int {
	return f.Stream(entries+" /Filter /FlateDecode", Pack(data))
}

// Page adds a page with resources and content.
func (f *File) Page(resources, content string) {
	f.PageOf(fmt.Sprintf("/Resources << %s >> /Contents %d 0 R", resources, f.Stream("", content)))
}

// PageOf adds a page with entries of its dictionary.
func (f *File) PageOf(entries string) {
	f.pages = append(f.pages, f.Add("<< /Type /Page /Parent 2 0 R "+entries+" >>"))
}

func (f *File) all() []string {
	kids := make([]string, len(f.pages))
	for i, page := range f.pages {
		kids[i] = fmt.Sprintf("%d 0 R", page)
	}
	return append([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /MediaBox [0 0 600 800] /Count %d /Kids [%s] >>", len(kids), strings.Join(kids, " ")),
	}, f.objects...)
}

// Bytes writes the file in the form of PDF 1.4.
func (f *File) Bytes() string {
	var out strings.Builder
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	all := f.all()
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(all)+1)
	for i, object := range all {
		table += fmt.Sprintf("%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "%strailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", table, len(all)+1, f.Info, start)
	return out.String()
}

// Compact writes it in the form of PDF 1.5: objects in a packed stream, and the
// table of them in another.
func (f *File) Compact() string {
	var out, head, body strings.Builder
	out.WriteString("%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
	all := f.all()
	holder, index := len(all)+1, 0
	var table bytes.Buffer
	row := func(kind byte, where, which int) {
		table.WriteByte(kind)
		_ = binary.Write(&table, binary.BigEndian, uint32(where))
		_ = binary.Write(&table, binary.BigEndian, uint16(which))
	}
	row(0, 0, 65535)
	for i, object := range all {
		if strings.Contains(object, "\nstream\n") {
			row(1, out.Len(), 0)
			fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
			continue
		}
		row(2, holder, index)
		index++
		fmt.Fprintf(&head, "%d %d ", i+1, body.Len())
		body.WriteString(object + "\n")
	}
	row(1, out.Len(), 0)
	packed := Pack(head.String() + body.String())
	fmt.Fprintf(&out, "%d 0 obj\n<< /Type /ObjStm /N %d /First %d /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\n", holder, index, head.Len(), len(packed), packed)
	start := out.Len()
	row(1, start, 0)
	packed = Pack(table.String())
	fmt.Fprintf(&out, "%d 0 obj\n<< /Type /XRef /Size %d /W [1 4 2] /Root 1 0 R %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		holder+1, holder+2, f.Info, len(packed), packed, start)
	return out.String()
}

// Pack packs data as FlateDecode unpacks them.
func Pack(data string) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	return packed.String()
}

// Chinese adds a font whose codes are numbers of glyphs, from 1 for the first
// character of an alphabet on, and which says which text they are. It returns the
// font's number, and what writes a text in hexadecimal digits.
func (f *File) Chinese(alphabet string) (font int, write func(text string) string) {
	var lines strings.Builder
	codes := map[rune]int{}
	for _, r := range alphabet {
		codes[r] = len(codes) + 1
		fmt.Fprintf(&lines, "<%04X> <", codes[r])
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&lines, "%04X", unit)
		}
		lines.WriteString(">\n")
	}
	text := f.Packed("", fmt.Sprintf("/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n"+
		"%d beginbfchar\n%sendbfchar\nendcmap end end", len(codes), lines.String()))
	below := f.Add("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 >>")
	font = f.Add(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>", below, text))
	return font, func(text string) string {
		var hex strings.Builder
		for _, r := range text {
			fmt.Fprintf(&hex, "%04X", codes[r])
		}
		return "<" + hex.String() + ">"
	}
}

// Latin are resources with a font of Western letters, which is called F.
const Latin = "/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >>"
