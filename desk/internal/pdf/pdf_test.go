package pdf_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/internal/pdf"
	"github.com/holdfast-run/holdfast/desk/internal/pdf/pdftest"
)

func read(t *testing.T, raw string) string {
	t.Helper()
	document, err := pdf.Read(t.Context(), []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(document.Text)
}

// on is a page of which this is the content.
func on(resources, content string) string {
	var f pdftest.File
	f.Page(resources, content)
	return f.Bytes()
}

// Row 103: Chinese text comes out of a PDF as what it is.
func TestReadChinese(t *testing.T) {
	const text = "员工应在出差结束后三十天内提交报销申请，附发票🧾。"
	var f pdftest.File
	font, write := f.Chinese(text)
	f.Page(fmt.Sprintf("/Font << /S %d 0 R >>", font), "BT /S 12 Tf 50 700 Td "+write("报销申请")+" Tj 0 -20 Td "+write(text)+" Tj ET")
	for name, raw := range map[string]string{"PDF 1.4": f.Bytes(), "PDF 1.5": f.Compact()} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, raw); got != "报销申请\n"+text {
				t.Errorf("got %q", got)
			}
		})
	}
}

// What fonts say of their codes, in each of the ways that they have.
func TestReadFonts(t *testing.T) {
	simple := func(more string) string {
		return "<< /Type /Font /Subtype /TrueType /BaseFont /A " + more + " >>"
	}
	composite := func(encoding, more string) string {
		return "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /" + encoding + " /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 >>] " + more + " >>"
	}
	for name, c := range map[string]struct{ font, show, want, cmap string }{
		"WinAnsi":            {simple("/Encoding /WinAnsiEncoding"), `(caf\351 \200 \223a\224)`, "café € “a”", ""},
		"MacRoman":           {simple("/Encoding /MacRomanEncoding"), `(caf\216)`, "café", ""},
		"Standard":           {simple(""), `(it's \256)`, "it’s ﬁ", ""},
		"names":              {simple("/Encoding << /BaseEncoding /WinAnsiEncoding /Differences [65 /eacute /uni62A5 /u9500 66 /a.sc] >>"), `(ABC)`, "éa销", ""},
		"a table of ranges":  {simple("/ToUnicode 3 0 R"), `(ABC)`, "报抦z", "1 beginbfrange <41> <42> <62A5> endbfrange 1 beginbfrange <43> <43> [<007A>] endbfrange"},
		"a table first":      {simple("/Encoding /WinAnsiEncoding /ToUnicode 3 0 R"), `(AB)`, "ffiB", "1 beginbfchar <41> <006600660069> endbfchar"},
		"GBK":                {composite("GBK-EUC-H", ""), "<B1A8CFFA41>", "报销A", ""},
		"GB 18030":           {composite("GBK2K-V", ""), "<B1A89532 82 36>", "报𠀀", ""},
		"Unicode":            {composite("UniGB-UCS2-H", ""), "<62A59500>", "报销", ""},
		"UTF-16":             {composite("UniGB-UTF16-H", ""), "<62A5D83EDDFE>", "报🧾", ""},
		"Big5":               {composite("ETen-B5-H", ""), "<B3F8BE50>", "報銷", ""},
		"counting up":        {composite("Identity-H", "/ToUnicode 3 0 R"), "<00010002000A>", "一丁七", "2 beginbfrange <0001> <0002> <4E00> <000A> <000F> [<4E03> <4E04>] endbfrange"},
		"blank of a symbol":  {simple("/FontDescriptor << /Flags 4 >> /ToUnicode 3 0 R"), "(A A)", "a a", "1 beginbfchar <41> <0061> endbfchar"},
		"a comment, nesting": {simple(""), "(a(b\\)c)\\\nd) % (e)\n", "a(b)c)d", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f pdftest.File
			f.Stream("", "1 begincodespacerange <00> <FF> endcodespacerange "+c.cmap)
			f.Page("/Font << /F "+c.font+" >>", "BT /F 12 Tf 50 700 Td "+c.show+" Tj ET")
			if got := read(t, f.Bytes()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReadLines(t *testing.T) {
	const long = "(The claim is handed in within thirty days after the) Tj "
	for name, c := range map[string]struct{ content, want string }{
		"kerning":               {"BT /F 10 Tf 50 700 Td [(Re) 20 (im) -30 (burse) -600 (it)] TJ ET", "Reimburse it"},
		"one line in two":       {"BT /F 10 Tf 50 700 Td (one) Tj 40 0 Td (two) Tj ET", "one two"},
		"lines":                 {"BT /F 10 Tf 12 TL 50 700 Td (one) Tj T* (two) Tj (three) ' 1 2 (four) \" 0 -30 TD (five) Tj ET", "one\ntwo\nthree\nfour\nfive"},
		"a full line goes on":   {"BT /F 10 Tf 12 TL 50 700 Td " + long + "T* (journey.) Tj ET", "The claim is handed in within thirty days after the journey."},
		"an item does not":      {"BT /F 10 Tf 12 TL 50 700 Td " + long + "T* (2. journey) Tj ET", "The claim is handed in within thirty days after the\n2. journey"},
		"nor after a gap":       {"BT /F 10 Tf 40 TL 50 700 Td " + long + "T* (journey) Tj ET", "The claim is handed in within thirty days after the\njourney"},
		"a small figure":        {"BT /F 10 Tf 50 700 Td (x) Tj /F 5 Tf 4 Ts (2) Tj ET", "x2"},
		"turned":                {"BT /F 10 Tf 0 1 -1 0 300 100 Tm (up) Tj 0 1 -1 0 320 100 Tm (up again) Tj ET", "up\nup again"},
		"scaled and kept":       {"q 2 0 0 2 0 0 cm BT /F 5 Tf 25 350 Td (a) Tj ET Q BT /F 10 Tf 1 0 0 1 56 700 Tm (b) Tj ET", "ab"},
		"bold by showing twice": {"BT /F 10 Tf 50 700 Td (bold) Tj 0.4 0 Td (bold) Tj ET", "bold"},
		"the same again below":  {"BT /F 10 Tf 50 700 Td (same) Tj 0 -12 Td (same) Tj ET", "same\nsame"},
		"nobody sees":           {"BT /F 10 Tf 50 700 Td (seen) Tj 3 Tr (not seen) Tj 0 Tr 900 0 Td (beside) Tj -900 -9 Td /F 0.1 Tf (tiny) Tj ET", "seen"},
		"a picture between":     {"BT /F 10 Tf 50 700 Td (a) Tj ET BI /W 1 /H 1 ID \x01(EI\x02\nEI BT /F 10 Tf 50 680 Td (b) Tj ET", "a\nb"},
		"operands missing":      {"Q Tf Tj TJ Do cm Td BT /F 10 Tf /None 9 Tf /F 10 Tf 50 700 Td (a) Tj ] >> ) } ET", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, on(pdftest.Latin, c.content)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReadForms(t *testing.T) {
	var f pdftest.File
	form := f.Packed("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Matrix [1 0 0 1 0 100] /Resources << "+pdftest.Latin+" >>", "BT /F 10 Tf 50 500 Td (in a form) Tj ET")
	one, two := f.Stream("", "BT /F 10 Tf 50 700 Td (on the) Tj"), f.Packed("", "( page) Tj ET /X Do")
	f.PageOf(fmt.Sprintf("/Contents [%d 0 R %d 0 R] /Resources << %s /XObject << /X %d 0 R >> >>", one, two, pdftest.Latin, form))
	f.PageOf("") // empty
	if got := read(t, f.Bytes()); got != "on the page\nin a form" {
		t.Errorf("got %q", got)
	}
}

func TestReadTitle(t *testing.T) {
	var f pdftest.File
	f.Page(pdftest.Latin, "BT /F 10 Tf 50 700 Td (a) Tj ET")
	f.Info = fmt.Sprintf("/Info %d 0 R", f.Add("<< /Title <FEFF62A59500> >>"))
	document, err := pdf.Read(t.Context(), []byte(f.Bytes()))
	if err != nil || document.Title != "报销" {
		t.Errorf("got %q and %v", document.Title, err)
	}
}

// rounds is a form that shows itself twice.
func rounds() string {
	var f pdftest.File
	form := f.Stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 3 0 R >> >>", "/X Do /X Do")
	f.Page(fmt.Sprintf("/XObject << /X %d 0 R >>", form), "/X Do")
	return f.Bytes()
}

func scan() string {
	var f pdftest.File
	picture := f.Stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray", "a")
	f.Page(pdftest.Latin+fmt.Sprintf(" /XObject << /I %d 0 R >>", picture), "/I Do BT 3 Tr /F 10 Tf 50 700 Td (recognised) Tj ET")
	return f.Bytes()
}

func encrypted() string {
	var f pdftest.File
	f.Page(pdftest.Latin, "BT /F 10 Tf 50 700 Td (a) Tj ET")
	pass := strings.Repeat("00", 32)
	f.Info = fmt.Sprintf("/ID [<00> <00>] /Encrypt %d 0 R", f.Add("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <"+pass+"> /U <"+pass+"> >>"))
	return f.Bytes()
}

func TestReadRefuses(t *testing.T) {
	good := on(pdftest.Latin, "BT /F 10 Tf 50 700 Td (a) Tj ET")
	var packed pdftest.File
	whole := pdftest.Pack(strings.Repeat("BT /F 10 Tf 50 700 Td (text) Tj ET\n", 100))
	packed.PageOf(fmt.Sprintf("/Contents %d 0 R /Resources << %s >>", packed.Stream("/Filter /FlateDecode", whole[:len(whole)/2]), pdftest.Latin))
	var missing pdftest.File
	missing.PageOf("/Contents 99 0 R")
	var many pdftest.File
	for range pdf.MaxPages + 1 {
		many.PageOf("")
	}
	for name, c := range map[string]struct{ raw, why string }{
		"nothing":                   {"", "does not begin"},
		"text":                      {"text", "does not begin"},
		"random bytes":              {"%PDF-1.7\n" + strings.Repeat("\x93\xf1\x07<<[(\xbc", 500) + "\n%%EOF", "damaged"},
		"cut off":                   {good[:len(good)/2], "cut off"},
		"an end without a middle":   {good[:60] + good[len(good)-40:], "damaged"},
		"no pages":                  {(&pdftest.File{}).Bytes(), "no pages"},
		"too many pages":            {many.Bytes(), "pages"},
		"a tree of pages in rounds": {strings.Replace(good, "/Kids [4 0 R]", "/Kids [2 0 R]", 1), "tree of pages"},
		"a page is missing":         {strings.Replace(good, "/Kids [4 0 R]", "/Kids [9 0 R]", 1), "tree of pages"},
		"content is missing":        {missing.Bytes(), "missing"},
		"content is cut off":        {packed.Bytes(), "unpacked"},
		"tables in rounds":          {strings.Replace(good, "/Size", "/Prev "+after(good, "startxref\n")+" /Size", 1), ""},
		"encrypted":                 {encrypted(), "encrypted"},
		"a scan":                    {scan(), "picture"},
		"a scan on a second page":   {twoPages(), "page 2 is a picture"},
		"nobody sees it":            {on(pdftest.Latin, "BT 3 Tr /F 10 Tf 50 700 Td (a) Tj ET"), "nobody sees"},
		"glyphs without text":       {on("/Font << /F << /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< >>] >> >>", "BT /F 10 Tf 50 700 Td <00410042> Tj ET"), "page 1 shows characters"},
		"glyphs of symbols":         {on("/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Symbol >> >>", "BT /F 10 Tf 50 700 Td (abc) Tj ET"), "page 1 shows characters"},
		"half a character":          {on("/Font << /F << /Type /Font /Subtype /Type0 /Encoding /UniGB-UTF16-H >> >>", "BT /F 10 Tf 50 700 Td <D83E> Tj ET"), "page 1 shows characters"},
		"forms in rounds":           {rounds(), "nested too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := pdf.Read(t.Context(), []byte(c.raw))
			if c.why == "" && err == nil && strings.TrimSpace(document.Text) == "a" {
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v and %.40q", err, document.Text)
			}
		})
	}
}

func twoPages() string {
	var f pdftest.File
	f.Page(pdftest.Latin, "BT /F 10 Tf 50 700 Td (a) Tj ET")
	f.Page("", "BI /W 1 /H 1 ID x EI")
	return f.Bytes()
}

// after is the line after a text.
func after(s, text string) string {
	_, rest, _ := strings.Cut(s, text)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdf.Read(ctx, []byte(on(pdftest.Latin, "BT ET"))); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	var chinese pdftest.File
	font, write := chinese.Chinese("报销")
	chinese.Page(fmt.Sprintf("/Font << /S %d 0 R >>", font), "BT /S 12 Tf 50 700 Td "+write("报销")+" Tj ET")
	for _, seed := range []string{on(pdftest.Latin, "BT /F 10 Tf 50 700 Td [(a) 3 <41>] TJ ET"), chinese.Bytes(), chinese.Compact(), rounds(), scan(), encrypted()} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		document, err := pdf.Read(t.Context(), raw)
		if err == nil && strings.Contains(document.Text, "\ufffd") {
			t.Errorf("got %q", document.Text)
		}
	})
}
