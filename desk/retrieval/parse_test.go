package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/kernel"
)

func whole() retrieval.Front {
	return retrieval.Front{Tenant: "acme", ID: "P7", Title: "T", Version: "1"}
}

func parse(t *testing.T, name, text string, over retrieval.Front) desk.Policy {
	t.Helper()
	_, p, err := retrieval.Parse(t.Context(), name, strings.NewReader(text), over)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refused checks that a file is refused in words that name it and say why.
func refused(t *testing.T, name, text string, over retrieval.Front, why string) {
	t.Helper()
	_, p, err := retrieval.Parse(t.Context(), name, strings.NewReader(text), over)
	refusal, ok := errors.AsType[*kernel.Error](err)
	if !ok || refusal.Code != kernel.CodeInvalidArgument {
		t.Fatalf("got %v and %q", err, p.Body)
	}
	if !strings.Contains(refusal.Message, filepath.Base(name)) || !strings.Contains(refusal.Message, why) || refusal.Hint == "" {
		t.Errorf("got %v (%s), which should say %q", err, refusal.Hint, why)
	}
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "policies", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Row 103: a policy is read with its version and with who may see it.
func TestParseText(t *testing.T) {
	file := "\uFEFF---\r\ntenant: acme\r\nid: P7\r\nversion: 2026.1\r\nvalid-from: 2026-01-31\r\nviewer: [alice]\r\n---\r\n# 差旅报销\r\n\r\n三十天内提交。\r\n"
	tenant, p, err := retrieval.Parse(t.Context(), "a/b.md", strings.NewReader(file), retrieval.Front{Version: "2"})
	if err != nil {
		t.Fatal(err)
	}
	if tenant != "acme" || p.ID != "P7" || p.Version != "2" || p.Title != "差旅报销" || p.Source != "b.md" ||
		p.ValidFrom.Format("2006-01-02") != "2026-01-31" || len(p.Viewers) != 1 || p.Body != "# 差旅报销\n\n三十天内提交。" {
		t.Errorf("%s %+v", tenant, p)
	}
}

// One viewer needs no list.
func TestParseOneViewer(t *testing.T) {
	for _, says := range []string{"alice", "[alice]", "\n- alice"} {
		if p := parse(t, "a.md", "---\nviewer: "+says+"\n---\ntext", whole()); !cmp.Equal(p.Viewers, []string{"alice"}) {
			t.Errorf("%s: %v", says, p.Viewers)
		}
	}
}

// Row 103.
func TestParseHTML(t *testing.T) {
	tenant, p, err := retrieval.Parse(t.Context(), "travel.html", strings.NewReader(testdata(t, "travel.html")), retrieval.Front{})
	if err != nil {
		t.Fatal(err)
	}
	if tenant != "acme" || p.ID != "P2001" || p.Version != "2026.1" || p.Title != "差旅报销制度" || p.Source != "travel.html" ||
		p.ValidFrom.Format("2006-01-02") != "2026-01-31" || !cmp.Equal(p.Viewers, []string{"alice", "bob"}) {
		t.Errorf("%s %+v", tenant, p)
	}
	want := `差旅报销制度
员工应在出差结束后三十天内提交报销申请，附 original receipts & approval.
标准为每天 600 元。
1. 审批单
2. 发票
- 电子发票
城市 | 上限
上海 | 800
first
  second`
	if diff := cmp.Diff(want, p.Body); diff != "" {
		t.Error(diff)
	}
}

func TestParseHTMLTitles(t *testing.T) {
	front := retrieval.Front{Tenant: "acme", ID: "P7", Version: "1"}
	for text, want := range map[string]string{
		"<title>One\n page</title><h1>Two</h1>":                        "One page",
		"<svg><title>Icon</title></svg><h1>The <em>first</em></h1>":    "The first",
		"<meta name=Policy-Title content=Said><title>Page</title><p>a": "Said",
	} {
		if p := parse(t, "a.htm", text+"<p>text", front); p.Title != want {
			t.Errorf("%s: the title is %q", text, p.Title)
		}
	}
	if p := parse(t, "a.md", "text\n#  Travel \t expenses \nmore", front); p.Title != "Travel expenses" {
		t.Errorf("the title is %q", p.Title)
	}
	front.Title = "Given"
	if p := parse(t, "a.html", "<title>Page</title><p>text", front); p.Title != "Given" {
		t.Errorf("the title is %q", p.Title)
	}
}

func TestParseRefuses(t *testing.T) {
	noTenant, noVersion, noTitle := whole(), whole(), whole()
	noTenant.Tenant, noVersion.Version, noTitle.Title = "", "", ""
	turned := whole()
	turned.Title = "a\u202eb"
	for name, c := range map[string]struct {
		file, text string
		over       retrieval.Front
		why        string
	}{
		"no tenant":               {"a.txt", "text", noTenant, "tenant"},
		"no version":              {"a.txt", "text", noVersion, "version"},
		"no title":                {"a.html", "<p>text", noTitle, "title"},
		"misspelt key":            {"a.md", "---\nviewers: [alice]\n---\ntext", whole(), "viewers"},
		"deep front matter":       {"a.md", "---\nviewer: " + strings.Repeat("[", 1<<20) + "\n---\ntext", whole(), "front matter"},
		"front matter that grows": {"a.md", "---\nviewer: &a [" + strings.Repeat("&b x, ", 99) + "*a, *a]\n---\ntext", whole(), "front matter"},
		"misspelt tag":            {"a.html", `<meta name="policy-viewers" content="alice"><p>text`, whole(), "policy-viewers"},
		"tag said twice":          {"a.html", `<meta name="policy-id" content="a"><meta name="policy-id" content="b"><p>text`, whole(), "twice"},
		"viewer without a name":   {"a.html", `<meta name="policy-viewer" content=""><p>text`, whole(), "viewers"},
		"after a document's end":  {"a.md", "---\ntitle: t\n...\nviewer: [alice]\n---\ntext", whole(), "one block"},
		"a second document":       {"a.md", "---\ntitle: t\n--- \nviewer: [alice]\n---\ntext", whole(), "one block"},
		"a second, empty one":     {"a.md", "---\ntitle: t\n--- \n# viewer\n---\ntext", whole(), "one block"},
		"a second front matter":   {"a.md", "---\ntitle: t\n---\n\n---\nviewer: [alice]\n---\ntext", whole(), "first in the file"},
		"a blank behind a fence":  {"a.md", "--- \nviewer: [alice]\n---\ntext", whole(), "very beginning"},
		"an empty line first":     {"a.md", "\n---\nviewer: [alice]\n---\ntext", whole(), "very beginning"},
		"nothing seen first":      {"a.md", "\u200b\n\u2060---\nviewer: [alice]\n---\ntext", whole(), "very beginning"},
		"a fence set in type":     {"a.md", "\u2014-\nviewer: [alice]\n---\ntext", whole(), "very beginning"},
		"a fence of TOML":         {"a.md", "+++\nviewer = ['alice']\n+++\ntext", whole(), "very beginning"},
		"no first fence":          {"a.txt", "title: t\n**Viewers**: alice\n---\ntext", whole(), "front matter"},
		"front matter as code":    {"a.md", "```yaml\n---\nviewer: [alice]\n---\n```\ntext", whole(), "front matter"},
		"a wide colon":            {"a.md", "Viewer：alice\n\ntext", whole(), "front matter"},
		"no viewer in the list":   {"a.md", "---\nviewer: []\n---\ntext", whole(), "viewer"},
		"no viewer at the key":    {"a.md", "---\nviewer:\n---\ntext", whole(), "viewer"},
		"no viewer by reference":  {"a.md", "---\n<<: {viewer: []}\n---\ntext", whole(), "viewer"},
		"two viewers in one":      {"a.md", "---\nviewer: alice, bob\n---\ntext", whole(), "commas"},
		"two in one of a list":    {"a.md", "---\nviewer: ['alice,bob']\n---\ntext", whole(), "commas"},
		"a key by another name":   {"a.md", "---\nverzion: 1\n---\ntext", whole(), `no key "verzion"; the keys are`},
		"a day out of reach":      {"a.md", "---\nvalid-from: 2999-01-01\n---\ntext", whole(), "from 1970 to 2199"},
		"a viewer of blanks":      {"a.md", "---\nviewer: ['']\n---\ntext", whole(), "viewers"},
		"a property of a page":    {"a.html", `<meta property="policy-viewer" content="alice"><p>text`, whole(), "property="},
		"an item's property":      {"a.html", `<meta itemprop="policy-viewer" content="alice"><p>text`, whole(), "itemprop="},
		"an underline in a tag":   {"a.html", `<meta name="policy_viewer" content="alice"><p>text`, whole(), "policy_viewer"},
		"no prefix in a tag":      {"a.html", `<meta name="Viewers" content="alice"><p>text`, whole(), "Viewers"},
		"wide letters in a tag":   {"a.html", `<meta name="ｐolicy-viewer" content="alice"><p>text`, whole(), "ｐolicy-viewer"},
		"everybody and somebody":  {"a.md", "---\nviewer: [everybody, alice]\n---\ntext", whole(), "names people"},
		"no end":                  {"a.md", "---\nid: P7\n", whole(), "no end"},
		"bad date":                {"a.md", "---\nvalid-from: soon\n---\ntext", whole(), "valid-from"},
		"empty":                   {"a.txt", " \n", whole(), "empty"},
		"no text at all":          {"a.md", "", whole(), "empty"},
		"a page without text":     {"a.html", "<script>x</script><p hidden>text", whole(), "empty"},
		"another kind":            {"a.exe", "text", whole(), "its name ends"},
		"no kind":                 {"policy", "text", whole(), "its name ends"},
		"HTML as text":            {"a.txt", "\n<!DOCTYPE HTML><p>text", whole(), ".html"},
		"text as HTML":            {"a.html", "text", whole(), "tag"},
		"PDF as text":             {"a.md", "%PDF-1.7\n", whole(), "a PDF"},
		"office document":         {"a.txt", "PK\x03\x04", whole(), "archive"},
		"too many bytes":          {"a.txt", strings.Repeat("a", retrieval.MaxFile+1), whole(), "bytes"},
		"too many characters":     {"a.txt", strings.Repeat("a", desk.MaxPolicyBody+1), whole(), "characters"},
		"too deep":                {"a.html", strings.Repeat("<div>", 100_000) + "text", whole(), "HTML"},
		"NUL":                     {"a.txt", "a\x00b", whole(), "line 1 holds U+0000"},
		"escape":                  {"a.html", "<p>a\n</p>\n<p>\x1b[2J", whole(), "U+001B"},
		"text turned round":       {"a.md", "one\ntwo \u202eeerht", whole(), "line 2 holds U+202E"},
		"a title turned round":    {"a.md", "text", turned, "the title"},
		"letters nobody sees":     {"a.md", "text\U000E0041", whole(), "U+E0041"},
		"lost characters":         {"a.md", "text \uFFFD", whole(), "lost"},
		"one font's characters":   {"a.md", "\uE001", whole(), "font"},
		"a surrogate in UTF-8":    {"a.md", "text \xed\xa0\x80", whole(), "encoding"},
		"no character":            {"a.md", "text \uFFFE", whole(), "no character"},
		"a number that is a half": {"a.html", "<p>&#xD800;", whole(), "lost"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.file, c.text, c.over, c.why) })
	}
}

// Report A45: only what might have been front matter is refused: a file may have rules
// between its parts, speak of viewers, and leave out who may see it.
func TestParseTakesWhatIsNoFrontMatter(t *testing.T) {
	for _, text := range []string{
		"---\ntitle: t\n---\ntext\n\n---\n\nmore", "---\n# nothing\n---\ntext", "text\n---\nmore", "# Viewing\n\nviewer: a person who looks", "- one\n- two",
	} {
		if p := parse(t, "a.md", text, whole()); len(p.Viewers) != 0 {
			t.Errorf("%q: %v", text, p.Viewers)
		}
	}
	if p := parse(t, "a.html", `<meta name="description" content="a policy"><meta property="og:title" content="viewer"><p>text`, whole()); len(p.Viewers) != 0 {
		t.Errorf("a page: %v", p.Viewers)
	}
}

// Row 103: who may see a policy is said in names, or outright.
func TestParseViewers(t *testing.T) {
	for text, want := range map[string]desk.Policy{
		"---\nid: P7\n---\ntext":              {},
		"---\nviewer: [alice, bob]\n---\na":   {Viewers: []string{"alice", "bob"}},
		"---\nviewer: [everybody]\n---\ntext": {Everybody: true},
	} {
		if p := parse(t, "a.md", text, whole()); !cmp.Equal(p.Viewers, want.Viewers) || p.Everybody != want.Everybody {
			t.Errorf("%q: seen by %q, everybody: %v", text, p.Viewers, p.Everybody)
		}
	}
	page := `<meta name="policy-viewer" content="everybody"><p>text`
	if p := parse(t, "a.html", page, whole()); p.Viewers != nil || !p.Everybody {
		t.Errorf("%+v", p)
	}
	over := whole()
	over.Viewers = []string{"bob"}
	if p := parse(t, "a.html", page, over); !cmp.Equal(p.Viewers, []string{"bob"}) || p.Everybody {
		t.Errorf("%+v", p)
	}
}

// What takes no room is left out, so that a word is found whatever a page has put
// between its letters.
func TestParseLeavesOutWhatTakesNoRoom(t *testing.T) {
	p := parse(t, "a.html", "<p>报&#8203;销 reim&shy;bursement\u2060 🧑\u200d💻 a\u2028b", whole())
	if p.Body != "报销 reimbursement 🧑\u200d💻 a b" {
		t.Errorf("got %q", p.Body)
	}
}

func TestParseIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := retrieval.Parse(ctx, "a.md", strings.NewReader("text"), whole()); kernel.CodeOf(err) != kernel.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

// failing is a file whose reader panics.
type failing struct{}

func (failing) Read([]byte) (int, error) { panic("no such object") }

func TestParseOutlivesAReaderThatPanics(t *testing.T) {
	_, _, err := retrieval.Parse(t.Context(), "a.pdf", failing{}, whole())
	if kernel.CodeOf(err) != kernel.CodeInvalidArgument || !strings.Contains(err.Error(), "no such object") {
		t.Errorf("got %v", err)
	}
}

// Nothing that a page can be made of takes long: these are what parsers of HTML
// have been slow at.
func TestParseHostileHTML(t *testing.T) {
	for name, part := range map[string]string{
		"blocks":      "<p><table><tr><td>",
		"formatting":  "<b><i><a>",
		"different":   "<font a=%><font b=%>",
		"items":       "<li>a",
		"tags":        "<",
		"comments":    "<!-- ",
		"attributes":  "<p a b c",
		"entities":    "&amp;&#",
		"table text":  "<table>a<b>",
		"select":      "<select><option>",
		"many cells":  "<tr><td>a<td>b",
		"frames":      "<frameset>",
		"white space": " \n",
	} {
		t.Run(name, func(t *testing.T) {
			text := "<p>" + strings.Repeat(part, 1<<20/len(part))
			_, _, err := retrieval.Parse(t.Context(), "a.html", strings.NewReader(text), whole())
			if err != nil && kernel.CodeOf(err) != kernel.CodeInvalidArgument {
				t.Error(err)
			}
		})
	}
}

// Elements that were not closed are not opened again in each block that follows.
func TestParseHTMLDoesNotGrow(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "<p><font size=%d>", i)
	}
	text.WriteString(strings.Repeat("<p>a", 10_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parse(t, "a.html", text.String(), whole())
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 100<<20 {
		t.Errorf("%d bytes of HTML took %d bytes", text.Len(), grown)
	}
}

func FuzzParseHTML(f *testing.F) {
	fuzz(f, "a.html", "<p>a", "<table><td>", "<meta charset=gbk>\xb1\xa8", "<A0\x00>")
}
func FuzzParseText(f *testing.F) {
	fuzz(f, "a.md", "# a\n", "---\nid: a\n---\n", "\xff\xfea\x00", "\xb1\xa8\xcf\xfa")
}

// fuzz checks that what is read is what may be kept, and that anything else is
// refused for what it is.
func fuzz(f *testing.F, name string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tenant, p, err := retrieval.Parse(t.Context(), name, strings.NewReader(string(raw)), whole())
		if err != nil {
			if kernel.CodeOf(err) != kernel.CodeInvalidArgument {
				t.Error(err)
			}
			return
		}
		if err := p.Check(tenant); err != nil {
			t.Error(err)
		}
	})
}
