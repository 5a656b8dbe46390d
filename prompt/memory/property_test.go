//go:build linux || darwin

package memory_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/prompt/memory"
)

// naive is what the rules say of one file, by themselves: which bytes were
// confirmed last, and which were forgotten.
type naive struct {
	file, confirmed, forgotten string
}

func (n naive) state() memory.State {
	switch {
	case n.file == "" && n.forgotten != "", n.file != "" && n.file == n.forgotten:
		return memory.Forgotten
	case n.file != "" && n.file == n.confirmed:
		return memory.Confirmed
	}
	return memory.Proposed
}

// Row 75 and invariant I15, for any order of what people and models do: exactly
// what is confirmed, byte for byte and not forgotten since, goes with requests.
func TestAnyOrder(test *testing.T) {
	rapid.Check(test, func(t *rapid.T) {
		dir := test.TempDir()
		project := filepath.Join(dir, "project")
		m, err := memory.Open(memory.Config{Project: project, User: filepath.Join(dir, "user")})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(project, 0o700); err != nil {
			t.Fatal(err)
		}
		want := map[string]naive{}
		texts := rapid.SampledFrom([]string{"one", "two", "---\nauthor: x\n---\nthree"})
		actions := map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				name, text := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), texts.Draw(t, "text")
				if err := os.WriteFile(filepath.Join(project, name+".md"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				n := want[name]
				n.file = text
				want[name] = n
			},
			"delete": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
				_ = os.Remove(filepath.Join(project, name+".md")) // if it is there
				n := want[name]
				n.file = ""
				want[name] = n
			},
			"confirm": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
				e, err := m.Find(t.Context(), "project/"+name, nil)
				if err != nil {
					return
				}
				n := want[name]
				_, err = m.Confirm(t.Context(), e, e.Hash, "eve")
				if legal := n.file != "" && n.state() != memory.Forgotten; legal != (err == nil) {
					t.Fatalf("confirming %+v: %v", n, err)
				}
				if err == nil {
					n.confirmed, n.forgotten = n.file, ""
					want[name] = n
				}
			},
			"forget": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
				e, err := m.Find(t.Context(), "project/"+name, nil)
				if err != nil {
					return
				}
				if _, err := m.Forget(t.Context(), e, "eve"); err != nil {
					t.Fatal(err)
				}
				n := want[name]
				if n.file != "" || n.forgotten == "" { // a tombstone is not made again
					n.forgotten = cmp.Or(n.file, "no file that anybody writes")
				}
				n.file, n.confirmed = "", ""
				want[name] = n
			},
			"": func(t *rapid.T) { check(t, m, want) },
		}
		t.Repeat(actions)
	})
}

func check(t *rapid.T, m *memory.Memory, want map[string]naive) {
	all, err := m.Attach(t.Context(), prompt.AttachRequest{User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	attached := map[string]string{}
	for _, a := range all {
		attached[strings.TrimPrefix(a.ID, "project/")] = a.Text
	}
	for name, n := range want {
		text, goes := attached[name]
		if goes != (n.state() == memory.Confirmed) {
			t.Fatalf("%s goes with requests: %t, and it is %+v", name, goes, n)
		}
		last := n.file[strings.LastIndexByte(n.file, '\n')+1:]
		if goes && !strings.HasSuffix(text, "\n> "+last) {
			t.Fatalf("%s goes as %q, and it is %q", name, text, n.file)
		}
		e, err := m.Find(t.Context(), "project/"+name, nil)
		if err == nil && e.State != n.state() {
			t.Fatalf("%+v, and it is %+v", e, n)
		}
	}
	if len(all) > len(want) {
		t.Fatalf("got %+v", all)
	}
}

// Whatever a file holds, what goes with a request is text that shows, each line
// behind a mark; whatever is proposed is kept to the character or refused.
func TestAnyText(t *testing.T) {
	f := open(t)
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.OneOf(
			rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringMatching(`(---\n(author: [a-z\x1b"]*\n|source: .*\n|created: .*\n)*---\n)?[a-z \n\t]*`),
		).Draw(t, "file")
		f.write("x.md", file)
		e, err := f.Find(t.Context(), "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if e.State == memory.Confirmed {
			return // the same bytes as before
		}
		if _, err := f.Confirm(t.Context(), e, e.Hash, "eve"); (err == nil) != (e.Problem == "" || strings.HasPrefix(e.Problem, "it was changed")) {
			t.Fatalf("%+v: %v", e, err)
		}
		all, err := f.Attach(t.Context(), prompt.AttachRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if !utf8.ValidString(a.Text) || strings.ContainsFunc(a.Text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) || r == '\u202e' }) {
				t.Fatalf("goes as %q", a.Text)
			}
			for i, line := range strings.Split(a.Text, "\n") {
				if i == 0 != strings.HasPrefix(line, "project memory") || i > 0 && !strings.HasPrefix(line, "> ") {
					t.Fatalf("line %d goes as %q", i, line)
				}
			}
		}
	})
	f = open(t)
	rapid.Check(t, func(t *rapid.T) {
		p := memory.Proposal{Scope: memory.Project, Text: rapid.String().Draw(t, "text"), Author: rapid.String().Draw(t, "author"), Source: rapid.String().Draw(t, "source"), Again: true}
		e, err := f.Propose(t.Context(), p)
		if err != nil {
			return
		}
		kept, err := f.again().Find(t.Context(), e.ID, nil)
		if err != nil || kept.Text != strings.Trim(strings.ReplaceAll(p.Text, "\r\n", "\n"), "\n") || kept.Problem != "" {
			t.Fatalf("%+v, %v", kept, err)
		}
		if _, err := f.Forget(t.Context(), kept, "eve"); err != nil {
			t.Fatal(err)
		}
	})
}

// Who wrote a text and where it is from hold nothing that does not show either:
// a file with it would be refused when it is read.
func TestWordsThatDoNotShow(t *testing.T) {
	f := open(t)
	for _, hidden := range []string{"a\U000E01DA", "a\ufe0f\ufe0f", "a\u202eb", "a\nb", "a\tb", "\xff"} {
		for _, p := range []memory.Proposal{
			{Scope: memory.Project, Text: "x", Author: hidden}, {Scope: memory.Project, Text: "x", Source: hidden},
		} {
			if _, err := f.Propose(t.Context(), p); err == nil {
				t.Errorf("%q is taken", hidden)
			}
		}
	}
}
