//go:build linux || darwin

package files_test

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
)

// Rules compare a path in the spelling under which the tools name the file,
// however a model wrote it.
func TestNormalSpelling(t *testing.T) {
	w, err := files.Open(t.TempDir(), files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	set, err := tool.NewSet(w.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range set.Names() {
		for args, want := range map[string]string{
			`{"path":"./secret//a"}`:                  `{"path":"secret/a"}`,
			`{"path":"secret/./a/"}`:                  `{"path":"secret/a"}`,
			`{"content":"<x>","path":"././secret/a"}`: `{"content":"<x>","path":"secret/a"}`,
			`{"path":"secret/a"}`:                     `{"path":"secret/a"}`,
			`{"path":"secret/../a"}`:                  `{"path":"secret/../a"}`, // which is refused
			`{"path":7}`:                              `{"path":7}`,
			`{}`:                                      `{}`,
		} {
			if got := string(set.Normal(name, json.RawMessage(args))); got != want {
				t.Errorf("%s of %s: %s, want %s", args, name, got, want)
			}
		}
	}
	if got := string(set.Normal("unknown", json.RawMessage(`{"path":"./a"}`))); got != `{"path":"./a"}` {
		t.Error(got)
	}
}
