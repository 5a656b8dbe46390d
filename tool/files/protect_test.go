//go:build linux || darwin

package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
)

// protecting is the bench with protected paths below the workspace.
func protecting(t *testing.T, protect ...string) bench {
	b := newBench(t)
	for i, p := range protect {
		protect[i] = filepath.Join(b.dir, p)
	}
	w, err := files.Open(b.dir, files.Options{Protect: protect})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if b.set, err = tool.NewSet(w.Tools()...); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) hardLink(old, name string) {
	b.Helper()
	if err := os.Link(filepath.Join(b.dir, old), filepath.Join(b.dir, name)); err != nil {
		b.Fatal(err)
	}
}

// The agent reaches neither its policy nor its journal, by whatever name, also
// where they are not there yet.
func TestProtectedFilesAreOutOfReach(t *testing.T) {
	b := protecting(t, ".holdfast", "holdfast.yaml", "db/j.db", "db/j.db-wal", "conf/linked.yaml", "new/dir")
	b.put("holdfast.yaml", "policy")
	b.put(".holdfast/journal.db", "events")
	b.put(".holdfast/sub/deep", "events")
	b.put("db/j.db", "events")
	b.put("conf/real.yaml", "policy")
	b.put("db/open.txt", "open")
	b.link("real.yaml", "conf/linked.yaml")
	b.link("holdfast.yaml", "link")
	b.link(filepath.Join(b.dir, "holdfast.yaml"), "absolute")
	b.link(".holdfast", "dir")
	b.link("dir/sub", "twice")
	b.link("db/j.db-wal", "dangling")
	b.hardLink("holdfast.yaml", "hard")
	b.hardLink(".holdfast/journal.db", "hard.db")
	b.hardLink(".holdfast/sub/deep", "db/hard.deep")
	b.link("hard.db", "link-to-hard")

	for _, p := range []string{
		"holdfast.yaml", "./holdfast.yaml", "db/../holdfast.yaml", "HOLDFAST.yaml", "link", "absolute", "hard",
		".holdfast/journal.db", ".holdfast/sub/deep", ".holdfast/new", ".holdfast/new/deeper", ".HOLDFAST/journal.db", ".Holdfast/New",
		"dir/journal.db", "dir/new", "twice/deep", "hard.db", "link-to-hard", "db/hard.deep",
		"db/j.db", "db/j.db-wal", "db/J.DB", "db/J.db-WAL", "dangling", "conf/linked.yaml", "conf/real.yaml", "new/dir", "new/dir/x",
		".holdfast", "dir", "twice",
	} {
		for what, o := range map[string]tool.Outcome{"write": b.write(p, "owned"), "read": b.read(p), "list": b.list(p)} {
			if strings.Contains(p, "..") {
				b.refused(what+" "+p, o, kernel.CodeInvalidArgument)
				continue
			}
			if what == "list" && o.Facts.Code == tool.CodeFailed {
				continue // a file is no directory
			}
			b.refused(what+" "+p, o, kernel.CodeInvalidArgument)
			if !strings.Contains(o.Text, "belongs to the host") {
				t.Errorf("%s %s: %s", what, p, o.Text)
			}
		}
	}
	for name, want := range map[string]string{"holdfast.yaml": "policy", ".holdfast/journal.db": "events", ".holdfast/sub/deep": "events", "db/j.db": "events", "conf/real.yaml": "policy"} {
		if got := b.get(name); got != want {
			t.Errorf("%s = %q", name, got)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(b.dir, ".holdfast")); err != nil || len(entries) != 2 {
		t.Errorf(".holdfast has %d entries, %v", len(entries), err)
	}
	for dir, want := range map[string]string{
		".":    `[{"name":"absolute","type":"link"},{"name":"conf","type":"dir"},{"name":"dangling","type":"link"},{"name":"db","type":"dir"},{"name":"dir","type":"link"},{"name":"link","type":"link"},{"name":"link-to-hard","type":"link"},{"name":"twice","type":"link"}]}`,
		"db":   `[{"name":"open.txt","type":"file","size":4}]}`,
		"conf": `[]}`,
	} {
		if o := b.list(dir); !strings.Contains(o.Text, `"entries":`+want) {
			t.Errorf("list %s: %s, want %s", dir, o.Text, want)
		}
	}
	b.noDrafts()
}

// A protected file that is not there yet is known by where its path leads.
func TestProtectedPathThroughALink(t *testing.T) {
	b := newBench(t)
	b.put("db/open.txt", "open")
	b.link("db", "alias")
	w, err := files.Open(b.dir, files.Options{Protect: []string{filepath.Join(b.dir, "alias", "later", "j.db")}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if b.set, err = tool.NewSet(w.Tools()...); err != nil {
		t.Fatal(err)
	}
	b.refused("write", b.write("db/later/j.db", "x"), kernel.CodeInvalidArgument)
	if o := b.write("db/later/k.db", "x"); o.IsError {
		t.Errorf("beside it: %s", o.Text)
	}
}

// What is not protected works as ever beside it, also with a similar name or
// with two names.
func TestProtectionIsExact(t *testing.T) {
	b := protecting(t, ".holdfast", "holdfast.yaml")
	b.put(".holdfast/journal.db", "events")
	b.put("two", "names")
	b.hardLink("two", "names")
	for _, p := range []string{"holdfast.yaml.bak", ".holdfast-notes", ".holdfastx/y", "sub/holdfast.yaml", "two", "names"} {
		if o := b.write(p, "mine"); o.IsError {
			t.Errorf("write %s: %s", p, o.Text)
		}
		if o := b.read(p); o.IsError || !strings.Contains(o.Text, "mine") {
			t.Errorf("read %s: %s", p, o.Text)
		}
	}
}

// A protected directory above the workspace, or the workspace itself, leaves
// nothing.
func TestProtectedWorkspace(t *testing.T) {
	b := protecting(t, "..")
	b.put("x", "")
	b.refused("write", b.write("y", ""), kernel.CodeInvalidArgument)
	b.refused("read", b.read("x"), kernel.CodeInvalidArgument)
	b.refused("list", b.list("."), kernel.CodeInvalidArgument)
}

func TestOpenRefusesRelativeProtection(t *testing.T) {
	if _, err := files.Open(t.TempDir(), files.Options{Protect: []string{"x"}}); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("Open = %v", err)
	}
}
