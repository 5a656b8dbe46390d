package retrieval_test

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/kernel"
)

func TestParse(t *testing.T) {
	file := "\uFEFF---\r\ntenant: acme\r\nid: P7\r\nversion: 2026.1\r\nvalid-from: 2026-01-31\r\nviewer: [alice]\r\n---\r\n# 差旅报销\r\n\r\n三十天内提交。\r\n"
	tenant, p, err := retrieval.Parse("a/b.md", strings.NewReader(file), retrieval.Front{Version: "2"})
	if err != nil {
		t.Fatal(err)
	}
	if tenant != "acme" || p.ID != "P7" || p.Version != "2" || p.Title != "差旅报销" || p.Source != "b.md" ||
		p.ValidFrom.Format("2006-01-02") != "2026-01-31" || len(p.Viewers) != 1 || !strings.HasSuffix(p.Body, "三十天内提交。") {
		t.Errorf("%s %+v", tenant, p)
	}
}

func TestParseRefuses(t *testing.T) {
	whole := retrieval.Front{Tenant: "acme", ID: "P7", Title: "T", Version: "1"}
	for name, c := range map[string]struct {
		file, text string
		over       retrieval.Front
	}{
		"no tenant":     {"a.txt", "text", retrieval.Front{ID: "P7", Title: "T", Version: "1"}},
		"no version":    {"a.txt", "text", retrieval.Front{Tenant: "acme", ID: "P7", Title: "T"}},
		"misspelt key":  {"a.md", "---\nviewers: [alice]\n---\ntext", whole},
		"no end":        {"a.md", "---\nid: P7\n", whole},
		"bad date":      {"a.md", "---\nvalid-from: soon\n---\ntext", whole},
		"empty":         {"a.txt", " \n", whole},
		"GB18030":       {"a.txt", "\xb1\xa8\xcf\xfa", whole},
		"another kind":  {"a.exe", "text", whole},
		"too long":      {"a.txt", strings.Repeat("a", retrieval.MaxFile+1), whole},
		"nul character": {"a.txt", "a\x00b", whole},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := retrieval.Parse(c.file, strings.NewReader(c.text), c.over); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
				t.Errorf("got %v", err)
			}
		})
	}
}
