//go:build linux || darwin

package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
)

// lookup asks about a write of the call with that key that was cut short.
func (b bench) lookup(key, path, content string) (kernel.Presence, tool.Outcome) {
	b.Helper()
	return b.ask(b.Context(), key, map[string]any{"path": path, "content": content})
}

func (b bench) ask(ctx context.Context, key string, args any) (kernel.Presence, tool.Outcome) {
	b.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	bound, _ := b.set.Bind(files.WriteName, kernel.Reconcilable)
	return tool.Border{}.Lookup(ctx, bound, tool.Call{Key: key, Arguments: raw})
}

func (b bench) writeAs(key, path, content string) tool.Outcome {
	b.Helper()
	raw, err := json.Marshal(map[string]string{"path": path, "content": content})
	if err != nil {
		b.Fatal(err)
	}
	bound, _ := b.set.Bind(files.WriteName, kernel.Reconcilable)
	return tool.Border{}.Execute(b.Context(), bound, tool.Call{Key: key, Arguments: raw})
}

// Case 49: the effect is done and its receipt lost. Equal: adopted, not
// written again. Changed: unknown. Asking twice changes nothing.
func TestLookupOfAWrite(t *testing.T) {
	b := newBench(t)
	b.put("equal", "new")
	b.put("changed", "other")
	b.put("longer", "new and more")
	b.put("same-size", "NEW")
	b.put("dir/file", "x")
	b.put("empty", "")
	b.link("equal", "link")
	b.link("gone", "dangling")
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Unix(1_000_000, 0)
	if err := os.Chtimes(filepath.Join(b.dir, "equal"), past, past); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want kernel.Presence
	}{
		{"equal", kernel.Present},
		{"link", kernel.Present},
		{"./equal", kernel.Present},
		{"changed", kernel.PresenceUnknown},
		{"longer", kernel.PresenceUnknown},
		{"same-size", kernel.PresenceUnknown},
		{"empty", kernel.PresenceUnknown},
		{"missing", kernel.Absent},
		{"no/such/dir", kernel.Absent},
		{"dangling", kernel.Absent},
		{"dir", kernel.PresenceUnknown},
		{"dir/file/below", kernel.PresenceUnknown},
		{"pipe", kernel.PresenceUnknown},
		{"../out/victim", kernel.PresenceUnknown},
		{"dir/", kernel.PresenceUnknown},
	} {
		for range 2 {
			found, o := b.lookup("r/c", tt.path, "new")
			if found != tt.want || found == kernel.PresenceUnknown && len(o.Warnings) != 1 {
				t.Errorf("%s: found %s, want %s; %+v", tt.path, found, tt.want, o)
			}
		}
	}
	if found, o := b.lookup("r/c", "empty", ""); found != kernel.Present {
		t.Errorf("empty: found %s, %+v", found, o)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "equal")); err != nil || !info.ModTime().Equal(past) {
		t.Errorf("the file was written again: %v, %v", info, err)
	}
	b.noDrafts()
	b.untouched()
}

// What is adopted reads as what the write returns, but for what it replaced.
func TestLookupTellsTheReceipt(t *testing.T) {
	b := newBench(t)
	ran := b.writeAs("r/c", "sub/file", "中😀")
	found, o := b.lookup("r/c", "sub/file", "中😀")
	want := fmt.Sprintf(`{"status":"completed","result":{"path":"sub/file","size":7,"sha256":%q}}`, hash("中😀"))
	if found != kernel.Present || o.Text != want || o.IsError || o.Facts.Disposition != kernel.Landed {
		t.Errorf("found %s, %+v", found, o)
	}
	if ran.Text != strings.Replace(want, `"}}`, `","created":true}}`, 1) {
		t.Errorf("ran %s", ran.Text)
	}
	if !strings.Contains(want, string(o.Data)) || len(o.Data) == 0 {
		t.Errorf("facts %s", o.Data)
	}
}

// A draft of the very call proves that a file with other content is still the
// old one. Running the call again uses the proof up, and fences the write that
// left it.
func TestLookupAfterAKilledWrite(t *testing.T) {
	b := newBench(t)
	content := strings.Repeat("x", files.MaxContent)
	b.put("sub/file", "old")
	killedWrite(t, b.dir)
	b.put("sub/file", "old") // as if it had been its first write
	for _, key := range []string{"run/other", ""} {
		if found, o := b.lookup(key, "sub/file", content); found != kernel.PresenceUnknown {
			t.Errorf("key %q: found %s, %+v", key, found, o)
		}
		if o := b.writeAs(key, "sub/beside", "y"); o.IsError || len(drafts(t, filepath.Join(b.dir, "sub"))) != 1 {
			t.Errorf("key %q: %+v, drafts %v", key, o, drafts(t, filepath.Join(b.dir, "sub")))
		}
	}
	if found, o := b.lookup(writerKey, "sub/file", content); found != kernel.Absent {
		t.Fatalf("not in place: found %s, %+v", found, o)
	}
	if o := b.writeAs(writerKey, "sub/file", content); o.IsError || o.Facts.Disposition != kernel.Landed {
		t.Fatalf("%+v", o)
	}
	if found, o := b.lookup(writerKey, "sub/file", content); found != kernel.Present {
		t.Errorf("written again: found %s, %+v", found, o)
	}
	b.noDrafts()
	b.put("sub/file", "someone else's")
	if found, o := b.lookup(writerKey, "sub/file", content); found != kernel.PresenceUnknown {
		t.Errorf("changed since: found %s, %+v", found, o)
	}
}

// The host's files are no more told of than by the other tools.
func TestLookupOfProtectedFiles(t *testing.T) {
	b := protecting(t, "holdfast.yaml", ".holdfast")
	b.put("holdfast.yaml", "policy")
	b.link("holdfast.yaml", "link")
	for _, path := range []string{"holdfast.yaml", "link", ".holdfast/new"} {
		if found, o := b.lookup("r/c", path, "policy"); found != kernel.PresenceUnknown || !strings.Contains(o.Warnings[0], "belongs to the host") {
			t.Errorf("%s: found %s, %+v", path, found, o)
		}
	}
}

func TestLookupThatCannotLook(t *testing.T) {
	b := newBench(t)
	b.put("file", "new")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := map[string]any{"path": "file", "content": "new"}
	if found, o := b.ask(ctx, "r/c", args); found != kernel.PresenceUnknown {
		t.Errorf("after the end: found %s, %+v", found, o)
	}
	args["content"] = strings.Repeat("x", files.MaxContent+1)
	if found, o := b.ask(t.Context(), "r/c", args); found != kernel.PresenceUnknown {
		t.Errorf("over the limit: found %s, %+v", found, o)
	}

	w, err := files.Open(b.dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if b.set, err = tool.NewSet(w.Write); err != nil {
		t.Fatal(err)
	}
	if found, o := b.lookup("r/c", "file", "new"); found != kernel.PresenceUnknown || !strings.Contains(o.Warnings[0], "closed") {
		t.Errorf("closed: found %s, %+v", found, o)
	}
}
