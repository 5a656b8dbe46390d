package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// Row 35: registered names alone, and nothing but text comes of a call.
func TestLoad(t *testing.T) {
	c := open(t, "testdata/skills")
	list, err := c.List()
	if err != nil {
		t.Fatal(err)
	}
	contains(t, list, "- check-program: Checks what", "- write-notes: ", "A skill permits nothing")
	out, err := call(t, c, skill.LoadName, `{"name":"check-program"}`)
	if err != nil || out.IsError {
		t.Fatal(out, err)
	}
	contains(t, out.Text, "permits nothing", "Run it once", "references/wording.md", "a configured program named main", "only these tools can be called: read_file")
	out, err = call(t, c, skill.ReadName, `{"name":"check-program","path":"references/wording.md"}`)
	if err != nil || out.IsError {
		t.Fatal(out, err)
	}
	contains(t, out.Text, "nothing that it did not print")
	for _, args := range []string{`{"name":"other"}`, `{"name":"../skills"}`, `{"name":"check-program","more":1}`, `{}`} {
		if _, err := call(t, c, skill.LoadName, args); err == nil {
			t.Errorf("%s passed the schema", args)
		}
	}
	for _, s := range c.Tools() {
		if spec := s.Spec(); spec.Effect != kernel.Read {
			t.Errorf("%s has the effect %s", spec.Name, spec.Effect)
		}
	}
}

// Row 76: allowed-tools takes away, and one that names nothing changes nothing.
func TestNarrows(t *testing.T) {
	c := open(t, "testdata/skills")
	set, err := tool.NewSet(c.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	n := set.Narrower(skill.LoadName)
	if n == nil {
		t.Fatal("load_skill narrows nothing")
	}
	out, _ := call(t, c, skill.LoadName, `{"name":"check-program"}`)
	names, narrows := n.Narrows(out.Data)
	if got, want := strings.Join(names, " "), "read_skill_file read_file run_program mcp__docs__*"; !narrows || got != want {
		t.Errorf("it leaves %q, %v; want %q", got, narrows, want)
	}
	out, _ = call(t, c, skill.LoadName, `{"name":"write-notes"}`)
	if names, narrows := n.Narrows(out.Data); narrows {
		t.Errorf("a skill without allowed-tools leaves %q", names)
	}
	if set.Narrower(skill.ReadName) != nil {
		t.Error("read_skill_file narrows")
	}
}

// A broken skill is left out by name with the reason, and the others are there.
func TestBroken(t *testing.T) {
	for more, want := range map[string]string{
		"":               "",
		"license: [a]\n": "license must be text",
		"compatibility: " + strings.Repeat("x", 501) + "\n": "at most 500",
		"metadata: {a: [b]}\n":                              "no key with a text",
		"metadata: {a: b, c: 1}\n":                          "",
		"allowed-tools: 3\n":                                "must be a text",
		"allowed-tools: \"\"\n":                             "names no tool",
		"allowed_tools: a\n":                                "what narrows the tools is allowed-tools",
		"allowed-tools: [a, b]\n":                           "",
		"name: twice\n":                                     "stands there twice",
		"a: &x b\nmetadata: {k: *x}\n":                      "no key with a text",
		"description2: {\n":                                 "not valid YAML",
		"mode: x\n":                                         "",
	} {
		c := open(t, lay(t, map[string]string{"one/SKILL.md": front("one", more), "good/SKILL.md": front("good", "")}))
		_, there := c.Skill("one")
		if _, good := c.Skill("good"); !good || there != (want == "") {
			t.Errorf("%q: there %v, the good one %v", more, there, good)
		}
		if w := c.Warnings(); want != "" && (len(w) != 1 || !strings.Contains(w[0], "skill one is left out (broken)") || !strings.Contains(w[0], want)) {
			t.Errorf("%q: %q, want %q", more, w, want)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "does not begin with front matter",
		"# Title\n":        "does not begin with front matter",
		"---\nname: one\n": "has no end",
		"---\n---\nx":      "holds no keys",
		"---\nname: other\ndescription: d\n---\n":                               "the folder is \"one\"",
		"---\nname: one\n---\n":                                                 "has no description",
		"---\ndescription: d\n---\n":                                            "has no name",
		"---\nname: one\ndescription: " + strings.Repeat("d", 1025) + "\n---\n": "at most 1024",
		"---\nname: One\ndescription: d\n---\n":                                 "lowercase",
		"---\nname: one--x\ndescription: d\n---\n":                              "lowercase",
		"---\nname: -one\ndescription: d\n---\n":                                "lowercase",
		"---\nname: one\ndescription: \"a\\u0007\"\n---\n":                      "control characters",
		"---\nname: one\ndescription: 12\n---\n":                                "put it in quotes",
		"\xff\xfe":                                                              "not UTF-8",
		front("one", "") + strings.Repeat("x", 64<<10):                          "over 65536 bytes",
	} {
		c := open(t, lay(t, map[string]string{"one/SKILL.md": text}))
		if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], want) {
			t.Errorf("%.40q: %q, want %q", text, w, want)
		}
		if len(c.Tools()) != 0 {
			t.Errorf("%.40q: there are tools", text)
		}
	}
	c := open(t, lay(t, map[string]string{"one/README": "x", ".hidden/SKILL.md": front("hidden", ""), "file": "x"}))
	if e := c.Entries(); len(e) != 1 || !strings.Contains(e[0].Reason, "there is no SKILL.md") {
		t.Errorf("%+v", e)
	}
}

// The first folder wins, and the other one is named.
func TestDuplicate(t *testing.T) {
	a := lay(t, map[string]string{"one/SKILL.md": front("one", "license: first\n")})
	b := lay(t, map[string]string{"one/SKILL.md": front("one", "license: second\n")})
	c := open(t, a, b)
	if s, _ := c.Skill("one"); s.License != "first" {
		t.Errorf("the license is %q", s.License)
	}
	if e := c.Entries(); len(e) != 2 || e[1].State != skill.Duplicate || !strings.Contains(e[1].Reason, a) {
		t.Errorf("%+v", e)
	}
}

func TestOpenRefuses(t *testing.T) {
	many := map[string]string{}
	for i := range skill.MaxSkills + 1 {
		name := fmt.Sprintf("s%d", i)
		many[name+"/SKILL.md"] = front(name, "")
	}
	one := lay(t, map[string]string{"one/SKILL.md": front("one", "")})
	for want, folders := range map[string][]string{
		"cannot be read":    {filepath.Join(t.TempDir(), "none")},
		"is a skill itself": {filepath.Join(one, "one")},
		"is given twice":    {one, one + "/."},
		"over 64 skills":    {lay(t, many)},
	} {
		if c, err := skill.Open(folders...); kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", c, err, want)
		}
	}
}

// Row 35: what is read lies in the skill, is a regular file and is bounded.
func TestReadStaysInside(t *testing.T) {
	dir := lay(t, map[string]string{
		"one/SKILL.md": front("one", ""), "one/a.txt": "inside", "one/bin": "\x00\x01", "one/.secret": "hidden",
		"one/big": strings.Repeat("x", skill.MaxFile+1), "one/long": strings.Repeat("y", skill.MaxShown+1), "outside": "out of it", "two/x": "other",
	})
	if err := os.Symlink("../outside", filepath.Join(dir, "one", "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "one", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	s, there := c.Skill("one")
	if !there || len(s.Notes) != 3 || !strings.Contains(s.Notes[2], `no part of the skill: ".secret"`) || !strings.Contains(strings.Join(c.Warnings(), " "), "alias is left out (broken): it is a symbolic link") {
		t.Fatalf("%+v, %v, %q", s, there, c.Warnings())
	}
	for path, want := range map[string]string{
		"a.txt": `"content":"inside"`, "bin": `"binary":true`, "long": `"omitted_bytes":`,
		"big": "can be read", ".secret": "has no file", "link": "has no file", "pipe": "has no file", "none": "has no file",
		"../outside": "leads upwards", "a/../../two/x": "leads upwards", "/etc/passwd": "absolute", "./a.txt": "shortest form", `..\\outside`: "backslash", "a\u202e": "do not show",
	} {
		out, err := call(t, c, skill.ReadName, `{"name":"one","path":"`+path+`"}`)
		if err != nil {
			t.Fatal(path, err)
		}
		if !strings.Contains(out.Text, want) {
			t.Errorf("%s: %.200s, want %q", path, out.Text, want)
		}
	}
}

// What changes on disk under a run is the old bytes or an error, never a mix.
func TestFrozen(t *testing.T) {
	dir := lay(t, map[string]string{"one/SKILL.md": front("one", ""), "one/a.txt": "old"})
	c := open(t, dir)
	before := c.Digest()
	for name, text := range map[string]string{"one/SKILL.md": front("one", "license: new\n"), "one/a.txt": "new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, _ := call(t, c, skill.LoadName, `{"name":"one"}`); !strings.Contains(out.Text, "Do it.") {
		t.Errorf("%s", out.Text)
	}
	if out, _ := call(t, c, skill.ReadName, `{"name":"one","path":"a.txt"}`); !out.IsError || !strings.Contains(out.Text, "CONFLICT") {
		t.Errorf("%+v", out)
	}
	again := open(t, dir)
	if before == again.Digest() || c.Tools()[0].Spec().Description == again.Tools()[0].Spec().Description {
		t.Error("another catalog has the same digest, or the same definition")
	}
}

// A list that is too long is nobody's list.
func TestListIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		name := fmt.Sprintf("s%d", i)
		files[name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: " + strings.Repeat("d", 1000) + "\n---\nx"
	}
	if text, err := open(t, lay(t, files)).List(); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
