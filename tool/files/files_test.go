//go:build linux || darwin

package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVar); dir != "" {
		writeForEver(dir)
	}
	goleak.VerifyTestMain(m)
}

// bench is a workspace beside a directory that must stay as it is.
type bench struct {
	*testing.T
	dir, out string
	set      *tool.Set
}

const victim = "out of bounds"

func newBench(t *testing.T) bench {
	t.Helper()
	base := t.TempDir()
	b := bench{T: t, dir: filepath.Join(base, "ws"), out: filepath.Join(base, "out")}
	for _, dir := range []string{b.dir, b.out, filepath.Join(base, "ws-evil")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.put(filepath.Join(b.out, "victim"), victim)
	w, err := files.Open(b.dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if b.set, err = tool.NewSet(w.Tools()...); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) put(name, content string) {
	b.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.dir, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b bench) link(target, name string) {
	b.Helper()
	if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
		b.Fatal(err)
	}
}

func (b bench) get(name string) string {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(content)
}

func (b bench) execute(ctx context.Context, name string, args any) tool.Outcome {
	b.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	if err := b.set.Check(name, raw); err != nil {
		b.Fatalf("%s %s: %v", name, raw, err)
	}
	bound, _ := b.set.Bind(name, b.set.EffectOf(name, raw))
	return tool.Border{}.Execute(ctx, bound, tool.Call{Arguments: raw})
}

func (b bench) list(path string) tool.Outcome {
	b.Helper()
	return b.execute(b.Context(), files.ListName, map[string]any{"path": path})
}

func (b bench) read(path string) tool.Outcome {
	b.Helper()
	return b.execute(b.Context(), files.ReadName, map[string]any{"path": path})
}

func (b bench) write(path, content string) tool.Outcome {
	b.Helper()
	return b.execute(b.Context(), files.WriteName, map[string]any{"path": path, "content": content})
}

// untouched fails unless everything outside the workspace is as it was.
func (b bench) untouched() {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(b.out, "victim"))
	if err != nil || string(content) != victim {
		b.Errorf("outside: %q, %v", content, err)
	}
	entries, err := os.ReadDir(b.out)
	if err != nil || len(entries) != 1 {
		b.Errorf("outside: %d entries, %v", len(entries), err)
	}
}

// noDrafts fails when a temporary file was left behind.
func (b bench) noDrafts() {
	b.Helper()
	drafts, err := filepath.Glob(filepath.Join(b.dir, "*", ".holdfast-*"))
	more, err2 := filepath.Glob(filepath.Join(b.dir, ".holdfast-*"))
	if err != nil || err2 != nil || len(drafts)+len(more) != 0 {
		b.Errorf("left behind: %v %v", drafts, more)
	}
}

// refused fails unless o is an error that proves that nothing happened.
func (b bench) refused(what string, o tool.Outcome, code kernel.Code) {
	b.Helper()
	if !o.IsError || o.Facts.Code != code || o.Facts.Disposition != kernel.DidNotHappen {
		b.Errorf("%s: %+v, want %s", what, o, code)
	}
	if strings.Contains(o.Text, b.dir) || strings.Contains(o.Text, b.out) || strings.Contains(o.Text, victim) {
		b.Errorf("%s: tells of the outside: %s", what, o.Text)
	}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Report A20 (a)–(e), for writes and for reads.
func TestNothingLeavesTheWorkspace(t *testing.T) {
	b := newBench(t)
	b.link(filepath.Join(b.out, "victim"), "n.md")
	b.link("../out/victim", "relative")
	b.link(filepath.Join(b.out, "new"), "new")
	b.link("../out/new", "new-relative")
	b.link(b.out, "d")
	b.link("../out", "d-relative")
	b.link("d/victim", "twice")
	b.link("../ws-evil", "evil")
	b.link("/", "root")
	b.link("loop", "loop")
	b.put("sub/x", "inside")
	b.link("../../out/victim", "sub/up")

	for _, path := range []string{
		"n.md", "relative", "new", "new-relative", "d/x", "d/victim", "d-relative/victim", "d-relative/x",
		"twice", "evil/x", "root/etc/passwd", "sub/up",
		b.out + "/victim", b.dir + "/../out/x", b.dir + "-evil/x", b.dir + "/sub/x",
		"../out/victim", "../ws-evil/x", "../ws/sub/x", "sub/../../out/victim", "sub/../sub/x", "..",
	} {
		b.refused("write "+path, b.write(path, "owned"), kernel.CodeInvalidArgument)
		b.refused("read "+path, b.read(path), kernel.CodeInvalidArgument)
		b.refused("list "+path, b.list(path), kernel.CodeInvalidArgument)
	}
	b.refused("a loop", b.write("loop", "x"), tool.CodeFailed)
	b.untouched()
	b.noDrafts()
	if got := b.get("sub/x"); got != "inside" {
		t.Errorf("sub/x = %q", got)
	}
}

// Report A20, last sentence: links inside the workspace work, and a write goes
// to the target and leaves the link.
func TestLinksInsideWork(t *testing.T) {
	b := newBench(t)
	b.put("real/deep/file", "old")
	b.link("real/deep", "dir")
	b.link("dir/file", "file")
	b.link("../file", "real/back")
	b.link(filepath.Join(b.dir, "real/deep/file"), "absolute")
	b.link("real/later", "dangling")

	for i, path := range []string{"dir/file", "file", "real/back", "absolute"} {
		content := fmt.Sprint("new ", i)
		if o := b.write(path, content); o.IsError || o.Facts.Disposition != kernel.Landed {
			t.Errorf("write %s: %+v", path, o)
		}
		if got := b.get("real/deep/file"); got != content {
			t.Errorf("write %s: target holds %q", path, got)
		}
		if o := b.read(path); !strings.Contains(o.Text, content) {
			t.Errorf("read %s: %+v", path, o)
		}
	}
	if o := b.write("dangling", "here"); o.IsError || b.get("real/later") != "here" {
		t.Errorf("write dangling: %+v", o)
	}
	for _, link := range []string{"dir", "file", "real/back", "absolute", "dangling"} {
		if info, err := os.Lstat(filepath.Join(b.dir, link)); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is no link any more", link)
		}
	}
	if o := b.list("dir"); !strings.Contains(o.Text, `"name":"file","type":"file"`) {
		t.Errorf("list dir: %+v", o)
	}
}

// Report A20 (f): a directory on the way becomes a link to the outside, and
// back, while files are written and read through it.
func TestNothingLeavesWhileLinksChange(t *testing.T) {
	b := newBench(t)
	swap, inside := filepath.Join(b.dir, "swap"), filepath.Join(b.dir, "real")
	b.put("real/victim", "inside")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			target := inside
			if i%2 == 0 {
				target = b.out
			}
			_ = os.Remove(swap + ".next")
			_ = os.Symlink(target, swap+".next")
			_ = os.Rename(swap+".next", swap)
		}
	}()
	landed, refused := 0, 0
	for range 300 {
		if o := b.write("swap/victim", "inside"); o.IsError {
			refused++
		} else {
			landed++
		}
		if o := b.read("swap/victim"); strings.Contains(o.Text, victim) {
			t.Fatalf("read outside: %s", o.Text)
		}
	}
	close(stop)
	<-stopped
	b.untouched()
	b.noDrafts()
	t.Logf("%d landed, %d refused", landed, refused)
}

func TestWriteReplacesAndReports(t *testing.T) {
	b := newBench(t)
	b.put("main.py", "print(41)\n")
	if err := os.Chmod(filepath.Join(b.dir, "main.py"), 0o751); err != nil {
		t.Fatal(err)
	}
	o := b.write("main.py", "print(42)\n")
	want := fmt.Sprintf(`{"status":"completed","result":{"path":"main.py","size":10,"sha256":%q,"replaced":{"size":10,"sha256":%q}}}`,
		hash("print(42)\n"), hash("print(41)\n"))
	if o.Text != want || o.Facts.Disposition != kernel.Landed || o.IsError {
		t.Errorf("%+v\nwant %s", o, want)
	}
	info, err := os.Stat(filepath.Join(b.dir, "main.py"))
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if b.get("main.py") != "print(42)\n" {
		t.Errorf("content %q", b.get("main.py"))
	}

	o = b.write("a/b/new.txt", "中😀")
	if !strings.Contains(o.Text, `"created":true`) || b.get("a/b/new.txt") != "中😀" {
		t.Errorf("%+v", o)
	}
	if o := b.write("empty", ""); o.IsError || b.get("empty") != "" {
		t.Errorf("%+v", o)
	}
	b.noDrafts()
}

func TestWriteRefuses(t *testing.T) {
	b := newBench(t)
	b.put("dir/file", "x")
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".", "dir", "dir/", "newdir/", "newdir/.", "./", "pipe", "a\nb", "a\x00b", " "} {
		b.refused("write "+path, b.write(path, "x"), kernel.CodeInvalidArgument)
	}
	b.refused("below a file", b.write("dir/file/x", "x"), tool.CodeFailed)
	b.refused("a long name", b.write(strings.Repeat("n", 300), "x"), tool.CodeFailed)
	b.refused("wide content", b.write("big", strings.Repeat("汉", files.MaxContent/3+1)), kernel.CodeInvalidArgument)
	if o := b.write("big", strings.Repeat("x", files.MaxContent)); o.IsError {
		t.Errorf("content at the limit: %s", o.Text)
	}
	if b.get("dir/file") != "x" {
		t.Error("dir/file changed")
	}
	if _, err := os.Lstat(filepath.Join(b.dir, "newdir")); err == nil {
		t.Error("a refused write left newdir")
	}
	b.noDrafts()
}

// A write that fails before the rename has not happened.
func TestWriteInterrupted(t *testing.T) {
	b := newBench(t)
	b.put("file", "old")
	w, err := files.Open(b.dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Past the border, which would not begin at all.
	_, err = w.Write.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"path":"file","content":"new"}`)})
	var e *tool.Error
	if !errors.As(err, &e) || e.Disposition != kernel.DidNotHappen || e.Code != kernel.CodeCancelled {
		t.Errorf("Run = %v", err)
	}
	_, err = w.Write.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"path":"fresh","content":"new"}`)})
	if !errors.As(err, &e) || e.Disposition != kernel.DidNotHappen {
		t.Errorf("Run = %v", err)
	}
	if b.get("file") != "old" {
		t.Errorf("content %q", b.get("file"))
	}
	b.noDrafts()
}

func TestClosedWorkspace(t *testing.T) {
	w, err := files.Open(t.TempDir(), files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(w.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	bound, _ := set.Bind(files.WriteName, kernel.Reconcilable)
	o := tool.Border{}.Execute(t.Context(), bound, tool.Call{Arguments: json.RawMessage(`{"path":"x","content":""}`)})
	if o.Facts.Disposition != kernel.DidNotHappen || !strings.Contains(o.Text, "closed") {
		t.Errorf("%+v", o)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none"), file} {
		if _, err := files.Open(path, files.Options{}); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("Open(%s) = %v", path, err)
		}
	}
}

func TestRead(t *testing.T) {
	b := newBench(t)
	b.put("main.py", "print(\"<42>\")\n")
	if o, want := b.read("./main.py"), `{"status":"completed","result":{"path":"main.py","size":14,"content":"print(\"<42>\")\n"}}`; o.Text != want {
		t.Errorf("%s, want %s", o.Text, want)
	}
	b.put("empty", "")
	if o := b.read("empty"); !strings.Contains(o.Text, `"size":0,"content":""`) {
		t.Errorf("%+v", o)
	}
	// Control characters of a file are shown as what they are, not dropped.
	b.put("escapes", "a\rb\x1b[31m\x7f\u009b1m")
	if o := b.read("escapes"); !strings.Contains(o.Text, `a\rb\u001b[31m\u007f\u009b1m`) {
		t.Errorf("%+v", o)
	}
	for name, content := range map[string]string{"nul": "a\x00b", "latin": "caf\xe9", "late": strings.Repeat("x", 100_000) + "\x00"} {
		b.put(name, content)
		if o := b.read(name); o.IsError || !strings.Contains(o.Text, `"binary":true`) || strings.Contains(o.Text, "content") {
			t.Errorf("%s: %.200s", name, o.Text)
		}
	}
	b.refused("none", b.read("none"), kernel.CodeNotFound)
	b.refused("dir", b.read("."), kernel.CodeInvalidArgument)
	b.refused("below a file", b.read("main.py/x"), tool.CodeFailed)
}

// Report A28: the head and the tail of a large file.
func TestReadShortens(t *testing.T) {
	b := newBench(t)
	for shift := range 3 {
		content := strings.Repeat("a", shift) + strings.Repeat("汉", 20_000)
		b.put("long", content)
		o := b.read("long")
		var doc struct {
			Size    int64
			Omitted int64 `json:"omitted_bytes"`
			Content string
		}
		if err := json.Unmarshal(o.Data, &doc); err != nil {
			t.Fatal(err)
		}
		marker := fmt.Sprintf("\n[%d bytes omitted]\n", doc.Omitted)
		kept := strings.ReplaceAll(doc.Content, marker, "")
		if len(kept) == len(doc.Content) || int64(len(kept))+doc.Omitted != int64(len(content)) || doc.Size != int64(len(content)) {
			t.Errorf("shift %d: kept %d, omitted %d of %d", shift, len(kept), doc.Omitted, len(content))
		}
		if len(doc.Content) > files.MaxRead || !utf8.ValidString(doc.Content) || strings.Contains(doc.Content, "\ufffd") {
			t.Errorf("shift %d: %d bytes", shift, len(doc.Content))
		}
		if !strings.HasSuffix(doc.Content, "汉") || !json.Valid([]byte(o.Text)) || o.Facts.Omitted != 0 {
			t.Errorf("shift %d: the border cut it again", shift)
		}
	}
}

// A pipe or a socket in the workspace does not hold up a run.
func TestReadDoesNotHang(t *testing.T) {
	b := newBench(t)
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.refused("pipe", b.read("pipe"), kernel.CodeInvalidArgument)
	b.refused("list a pipe", b.list("pipe"), tool.CodeFailed)
	if o := b.list("."); !strings.Contains(o.Text, `"name":"pipe","type":"other"}`) {
		t.Errorf("%+v", o)
	}
}

func TestList(t *testing.T) {
	b := newBench(t)
	b.put("b.txt", "12345")
	b.put("a/inner", "")
	b.link("b.txt", "c")
	want := `{"status":"completed","result":{"path":".","entries":[{"name":"a","type":"dir"},{"name":"b.txt","type":"file","size":5},{"name":"c","type":"link"}]}}`
	if o := b.list("."); o.Text != want {
		t.Errorf("%s\nwant %s", o.Text, want)
	}
	if o := b.list("a/"); !strings.Contains(o.Text, `"path":"a","entries":[{"name":"inner","type":"file","size":0}]`) {
		t.Errorf("%s", o.Text)
	}
	b.refused("a file", b.list("b.txt"), tool.CodeFailed)
	b.refused("none", b.list("none"), kernel.CodeNotFound)
}

func TestListIsBounded(t *testing.T) {
	b := newBench(t)
	const n = files.MaxEntries + 20
	for i := range n {
		b.put(fmt.Sprintf("many/f%04d", n-i), "")
		if i < 300 {
			b.put(fmt.Sprintf("wide/%04d%s", i, strings.Repeat("w", 200)), "")
		}
	}
	var l struct {
		Entries []struct{ Name string }
		Omitted int `json:"omitted_entries"`
	}
	if err := json.Unmarshal(b.list("many").Data, &l); err != nil {
		t.Fatal(err)
	}
	if len(l.Entries) != files.MaxEntries || l.Omitted != 20 || l.Entries[0].Name != "f0001" || l.Entries[499].Name != "f0500" {
		t.Errorf("%d entries from %s, %d omitted", len(l.Entries), l.Entries[0].Name, l.Omitted)
	}
	l.Entries = nil
	if err := json.Unmarshal(b.list("wide").Data, &l); err != nil {
		t.Fatal(err)
	}
	if len(l.Entries) == 0 || len(l.Entries)+l.Omitted != 300 || l.Omitted == 0 {
		t.Errorf("%d entries, %d omitted", len(l.Entries), l.Omitted)
	}
}

func TestSpecs(t *testing.T) {
	b := newBench(t)
	for name, want := range map[string]kernel.EffectClass{
		files.ListName: kernel.Read, files.ReadName: kernel.Read, files.WriteName: kernel.Reconcilable,
	} {
		if s, ok := b.set.Spec(name); !ok || s.Effect != want {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
