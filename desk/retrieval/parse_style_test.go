package retrieval_test

import (
	"fmt"
	"testing"
)

// Row 103, report A45: what a page hides or strikes out by a style of its own is
// not imported, and where that cannot be told the page is not.
func TestParseStyles(t *testing.T) {
	for style, seen := range map[string]bool{
		"display: none":                               false,
		"DISPLAY:NONE!important":                      false,
		"text-decoration: line-through":               false,
		"text-decoration:underline line-through red":  false,
		"text-decoration-line: line-through":          false,
		"visibility : hidden":                         false,
		"opacity:0.00":                                false,
		"opacity: 1%":                                 false,
		"font-size:0pt":                               false,
		"font-size: .0em":                             false,
		"font-size:0%":                                false,
		"font-size:0.5px":                             false,
		"font: 0/0 a":                                 false,
		"font: italic 0px serif":                      false,
		"color: transparent":                          false,
		"mso-hide:all":                                false,
		"overflow:hidden; height: 0":                  false,
		"position:absolute;width:1px;overflow:hidden": false,

		"":                                      true,
		";;:":                                   true,
		"text-decoration: underline":            true,
		"display:block;opacity:1":               true,
		"opacity:60%":                           true,
		"font-size:10.5pt;line-height:150%":     true,
		"font: 400 12px/1.5 serif":              true,
		"font-size: small":                      true,
		"text-indent:-21.0pt;margin-left:21pt":  true,
		"margin:0 auto;width:0;left:-10%":       true,
		"overflow:hidden;width:600px":           true,
		"color:rgb(0, 0, 0);transform:none":     true,
		"background:url(a.png);clip:auto":       true,
		"display:block;display:block;color:red": true,
	} {
		page := fmt.Sprintf("<p>kept</p><p style=%q>text</p>", style)
		want := "kept"
		if seen {
			want = "kept\ntext"
		}
		if p := parse(t, "a.html", page, whole()); p.Body != want {
			t.Errorf("%q: got %q", style, p.Body)
		}
	}
	for _, style := range []string{
		"position:absolute;left:-9999px", "left: 9999px", "text-indent:-999em", "margin-left:-100%", "margin: 0 0 0 -500pt", "top:-100vh", "left:calc(0px - 9999px)",
		"clip:rect(0,0,0,0)", "clip-path: inset(100%)", "transform:scale(0)", "filter:opacity(0)", "scale:0", "font-size:var(--a)", "opacity:calc(1 - 1)", "display:var(--a)",
		"font-size:0;font-size:odd", "display:none;display:block", `\64isplay:none`, "dis/**/play:none",
	} {
		refused(t, "a.html", fmt.Sprintf("<p>kept</p><p style='%s'>text</p>", style), whole(), "style")
	}
	// What is hidden for certain may stand wherever it likes.
	if p := parse(t, "a.html", `<p>kept</p><p style="display:none"><b style="left:-9999px">text</b></p>`, whole()); p.Body != "kept" {
		t.Errorf("got %q", p.Body)
	}
}
