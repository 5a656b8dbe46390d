package retrieval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"

	"github.com/holdfast-run/holdfast/desk/internal/pdf"
)

// readHTML reads the text that a browser would show, a line for each block. What
// front matter says elsewhere is said by <meta name="policy-…" content="…">; the
// title of the page stands in for that of the policy, or else its first heading.
func readHTML(ctx context.Context, _ string, raw []byte) (found, error) {
	text, err := decode(raw, declaredEncoding(raw))
	if err != nil {
		return found{}, err
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "<") {
		return found{}, errors.New("it does not begin with a tag, as HTML does")
	}
	root, err := html.ParseWithOptions(&until{ctx, strings.NewReader(withoutFormatting(text))}, html.ParseOptionEnableScripting(false))
	switch {
	case ctx.Err() != nil:
		return found{}, errors.New("it took too long to read")
	case err != nil:
		return found{}, fmt.Errorf("it is no HTML that can be read: %w", err)
	}
	return readPage(root)
}

// until reads until ctx ends. Deep pages of many stray tags take the parser long.
type until struct {
	ctx context.Context
	io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

// withoutFormatting makes plain elements of those that only change how letters
// look. The standard has a parser open all of them that were never closed again
// in each block: a page of a megabyte would become a tree of gigabytes.
func withoutFormatting(text string) string {
	var plain strings.Builder
	tags := html.NewTokenizer(strings.NewReader(text))
	for {
		kind := tags.Next()
		raw := string(tags.Raw())
		if kind == html.ErrorToken {
			return plain.String() + raw
		}
		if kind == html.StartTagToken || kind == html.EndTagToken || kind == html.SelfClosingTagToken {
			name, _ := tags.TagName()
			if to := plainName(string(name)); to != string(name) {
				start := strings.IndexFunc(raw, unicode.IsLetter)
				raw = raw[:start] + to + raw[start+len(name):]
			}
		}
		plain.WriteString(raw)
	}
}

func plainName(name string) string {
	switch atom.Lookup([]byte(name)) {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.Small, atom.Strong, atom.Tt, atom.U:
		return "span"
	case atom.S, atom.Strike:
		return "del"
	}
	return name
}

func readPage(root *html.Node) (found, error) {
	var f found
	var heading string
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Meta:
			if err := f.front.meta(n); err != nil {
				return found{}, err
			}
		case atom.Title:
			if f.title == "" && n.Namespace == "" {
				f.title = oneLine(n)
			}
		case atom.H1:
			if heading == "" {
				heading = oneLine(n)
			}
		}
	}
	if f.title == "" {
		f.title = heading
	}
	var w page
	w.node(root)
	f.body = w.text()
	return f, w.err
}

// meta takes what a tag says of the policy. One that only looks as if it did is
// refused: a misspelt viewer would show the policy to everybody.
func (f *Front) meta(n *html.Node) error {
	name, content := strings.ToLower(strings.TrimSpace(attribute(n, "name"))), attribute(n, "content")
	key, ours := strings.CutPrefix(name, "policy-")
	to, known := map[string]*string{
		"tenant": &f.Tenant, "id": &f.ID, "title": &f.Title, "version": &f.Version, "valid-from": &f.ValidFrom,
	}[key]
	switch {
	case ours && key == "viewer":
		f.Viewers = append(f.Viewers, content)
	case ours && known && *to != "":
		return fmt.Errorf("it says %s twice", name)
	case ours && known:
		*to = content
	default:
		return strange(n)
	}
	return nil
}

// strange refuses a tag that is none of the known ones, and has a word of theirs
// in its name.
func strange(n *html.Node) error {
	for _, as := range []string{"name", "property", "itemprop"} {
		name := attribute(n, as)
		if plain := strings.ToLower(norm.NFKC.String(name)); strings.Contains(plain, "policy") || strings.Contains(plain, "viewer") {
			return fmt.Errorf("it has a tag <meta %s=%.80q>, which is none of <meta name=…> with policy-tenant, -id, -title, -version, -valid-from and -viewer", as, name)
		}
	}
	return nil
}

// declaredEncoding is the one that a tag among the first 1024 bytes names, as
// the HTML standard has it.
func declaredEncoding(raw []byte) string {
	tags := html.NewTokenizer(bytes.NewReader(raw[:min(len(raw), 1024)]))
	for {
		switch tags.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tags.Token()
			if token.DataAtom != atom.Meta {
				continue
			}
			tag := &html.Node{Attr: token.Attr}
			if name := attribute(tag, "charset"); name != "" {
				return name
			}
			if _, name, found := strings.Cut(strings.ToLower(attribute(tag, "content")), "charset="); found && strings.EqualFold(attribute(tag, "http-equiv"), "content-type") {
				return strings.Trim(name, `"' ;`)
			}
		}
	}
}

// page writes the lines of a page.
type page struct {
	lines []string
	line  strings.Builder
	last  rune   // of the line
	mark  string // due at the beginning of the next line
	space bool   // a white space is due before the next word
	broke bool   // it held a line break
	exact bool   // white space counts, as in <pre>
	err   error  // that it cannot be told whether something is seen
}

func (w *page) node(n *html.Node) {
	switch {
	case n.Type == html.TextNode && w.exact:
		w.line.WriteString(n.Data)
	case n.Type == html.TextNode:
		w.words(n.Data)
	case n.Type == html.ElementNode && (!shown(n) || w.hidden(n)):
	case n.Type == html.ElementNode && n.DataAtom == atom.Br:
		w.end()
	case n.Type == html.ElementNode && isBlock(n):
		w.end()
		w.begin()
		w.children(n)
		w.end()
	case n.Type == html.ElementNode || n.Type == html.DocumentNode:
		w.children(n)
	}
}

// hidden reports whether the style of an element hides it.
func (w *page) hidden(n *html.Node) bool {
	said := attribute(n, "style")
	if said == "" {
		return false
	}
	s, err := styleOf(said)
	if err == nil && !s.hides() {
		if property := s.untold(); property != "" {
			err = fmt.Errorf("it has a style with %q, %.60q, of which it cannot be told whether people see what is in it", property, said)
		}
	}
	w.err = cmp.Or(w.err, err)
	return err != nil || s.hides()
}

// begin writes the mark of an item of a list.
func (w *page) begin() {
	w.line.WriteString(w.mark)
	w.space, w.mark = w.mark != "", ""
}

func (w *page) children(n *html.Node) {
	before, number := w.exact, 0
	w.exact = before || n.DataAtom == atom.Pre
	for child := range n.ChildNodes() {
		switch child.DataAtom {
		case atom.Td, atom.Th:
			w.cell()
		case atom.Li:
			number++
			w.mark = "-"
			if n.DataAtom == atom.Ol {
				w.mark = strconv.Itoa(number) + "."
			}
		}
		w.node(child)
	}
	w.exact = before
}

// cell parts a cell of a table from the one before it in its line.
func (w *page) cell() {
	if w.line.Len() > 0 {
		w.line.WriteString(" |")
		w.space = true
	}
}

// words writes text in which any white space is one blank. A line break between
// two characters of a script without blanks is none.
func (w *page) words(text string) {
	for _, r := range text {
		if unicode.IsSpace(r) && r != noBreakSpace {
			w.space = true
			w.broke = w.broke || r == '\n'
			continue
		}
		if w.space && w.line.Len() > 0 && (!w.broke || !pdf.Spaceless(w.last) || !pdf.Spaceless(r)) {
			w.line.WriteByte(' ')
		}
		w.line.WriteRune(r)
		w.last, w.space, w.broke = r, false, false
	}
}

const noBreakSpace = '\u00a0'

// end ends the line, unless there is nothing in it.
func (w *page) end() {
	if line := strings.TrimRightFunc(w.line.String(), unicode.IsSpace); strings.TrimSpace(line) != "" {
		w.lines = append(w.lines, line)
	}
	w.line.Reset()
	w.last, w.space, w.broke = 0, false, false
}

func (w *page) text() string {
	w.end()
	return strings.Join(w.lines, "\n")
}

// oneLine is the text of a node without its structure.
func oneLine(n *html.Node) string {
	var w page
	w.children(n)
	return strings.ReplaceAll(w.text(), "\n", " ")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// shown reports whether a browser shows an element, and whether what it shows is
// still said: struck out text is not. Style sheets are not followed.
func shown(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Head, atom.Title, atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object, atom.Svg, atom.Canvas,
		atom.Audio, atom.Video, atom.Textarea, atom.Select, atom.Datalist, atom.Del:
		return false
	case atom.Dialog:
		return has(n, "open")
	}
	return !has(n, "hidden")
}

func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Html, atom.Body, atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd,
		atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Pre, atom.Blockquote, atom.Section, atom.Article, atom.Header, atom.Footer,
		atom.Main, atom.Aside, atom.Nav, atom.Address, atom.Figure, atom.Figcaption, atom.Fieldset, atom.Legend, atom.Form, atom.Details, atom.Summary, atom.Hr,
		atom.Dialog, atom.Hgroup, atom.Menu, atom.Center:
		return true
	}
	return false
}
