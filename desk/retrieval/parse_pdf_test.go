package retrieval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/internal/pdf/pdftest"
	"github.com/holdfast-run/holdfast/desk/retrieval"
)

func chinesePDF(text, info string) string {
	var f pdftest.File
	font, write := f.Chinese(text)
	f.Page(fmt.Sprintf("/Font << /S %d 0 R >>", font), "BT /S 12 Tf 50 700 Td "+write(text)+" Tj ET")
	if info != "" {
		f.Info = fmt.Sprintf("/Info %d 0 R", f.Add("<< "+info+" >>"))
	}
	return f.Bytes()
}

// Row 103: a PDF is named by its file unless somebody names it.
func TestParsePDF(t *testing.T) {
	front := retrieval.Front{Tenant: "acme", Version: "2026.1", ValidFrom: "2026-01-31", Viewers: []string{"alice"}}
	titled := chinesePDF("三十天内提交报销申请。", "/Title <FEFF62A59500>")
	p := parse(t, "policies/P3001.PDF", titled, front)
	if p.ID != "P3001" || p.Title != "报销" || p.Source != "P3001.PDF" || p.Body != "三十天内提交报销申请。" || len(p.Viewers) != 1 || p.ValidFrom.Year() != 2026 {
		t.Errorf("got %+v", p)
	}
	for _, info := range []string{"", "/Title (a\\000b)", "/Title <FEFF202E0041>"} {
		if p := parse(t, "P3001.pdf", chinesePDF("三十天", info), front); p.Title != "P3001" {
			t.Errorf("%s: the title is %q", info, p.Title)
		}
	}
	front.ID, front.Title = "P7", "报销制度"
	if p := parse(t, "P3001.pdf", titled, front); p.ID != "P7" || p.Title != "报销制度" {
		t.Errorf("got %+v", p)
	}
}

func TestParseRefusesPDF(t *testing.T) {
	version := retrieval.Front{Tenant: "acme"}
	good := chinesePDF("三十天", "")
	for name, c := range map[string]struct {
		text string
		over retrieval.Front
		why  string
	}{
		"no version":           {good, version, "version"},
		"text":                 {"三十天", whole(), "does not begin"},
		"cut off":              {good[:len(good)-30], whole(), "cut off"},
		"too many bytes":       {good + strings.Repeat("\n", retrieval.MaxPDF), whole(), "bytes"},
		"an empty page":        {chinesePDF(" ", ""), whole(), "empty"},
		"turned round":         {chinesePDF("a\u202eb", ""), whole(), "U+202E"},
		"one font's own":       {chinesePDF("a\ue001b", ""), whole(), "font"},
		"an archive called so": {"PK\x03\x04", whole(), "archive"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, "a.pdf", c.text, c.over, c.why) })
	}
}

func FuzzParsePDF(f *testing.F) { fuzz(f, "a.pdf", chinesePDF("三十天", "/Title (a)")) }
