package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/policy/command"
)

func request() policy.Request {
	return policy.Request{Run: "R1", Call: "c1", Tool: "pay", Arguments: json.RawMessage(`{"cents":9007199254740993}`), User: "ann", Tenant: "acme"}
}

// shell is a hook that is a script.
func shell(t *testing.T, script string) *command.Hook {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &command.Hook{Argv: []string{"./check.sh"}, Dir: dir}
}

// Report A34: nothing but a verdict to pass is one.
func TestBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   string // part of the refusal; empty: it passes
	}{
		"passes":           {`echo '{"verdict":"pass"}'`, ""},
		"passes with room": {`printf '\n {"verdict": "pass"} \n\n'`, ""},
		"refuses":          {`echo '{"verdict":"refuse","reason":"not on Sundays"}'`, "not on Sundays"},
		"without a reason": {`echo '{"verdict":"refuse"}'`, "it gave no reason"},
		"exits with 1":     {`echo '{"verdict":"pass"}'; exit 1`, "exited with 1"},
		"is killed":        {`kill -9 $$`, "signal"},
		"says nothing":     {`:`, "no verdict"},
		"broken JSON":      {`echo '{"verdict":"pass"'`, "no verdict"},
		"trailing":         {`echo '{"verdict":"pass"} {"verdict":"pass"}'`, "no verdict"},
		"text around":      {`echo 'ok: {"verdict":"pass"}'`, "no verdict"},
		"another verdict":  {`echo '{"verdict":"allow"}'`, "no verdict"},
		"grants":           {`echo '{"verdict":"pass","reason":"trust me"}'`, "no verdict"},
		"another key":      {`echo '{"verdict":"pass","approved":true}'`, "no verdict"},
		"a key twice":      {`echo '{"verdict":"refuse","verdict":"pass"}'`, "no verdict"},
		"another case":     {`echo '{"Verdict":"pass"}'`, "no verdict"},
		"in two cases":     {`echo '{"verdict":"refuse","Verdict":"pass"}'`, "no verdict"},
		"a reason to pass": {`echo '{"verdict":"pass","reason":""}'`, "no verdict"},
		"no text":          {`echo '{"verdict":"refuse","reason":7}'`, "no verdict"},
		"a lookalike":      {`printf '{"verdict":"refuse","rea\305\277on":"","reason":"x"}'`, "no verdict"},
		"a list":           {`echo '["pass"]'`, "no verdict"},
		"too much":         {`echo '{"verdict":"pass"}'; head -c 10000 /dev/zero | tr '\0' ' '`, "too much"},
		"on stderr":        {`echo '{"verdict":"pass"}' >&2`, "no verdict"},
	} {
		t.Run(name, func(t *testing.T) {
			why, err := shell(t, tt.script).Before(t.Context(), request())
			if err != nil || (why == "") != (tt.want == "") || !strings.Contains(why, tt.want) {
				t.Errorf("got %q, %v", why, err)
			}
		})
	}
	for name, hook := range map[string]*command.Hook{
		"a missing file": {Argv: []string{"./nowhere.sh"}, Dir: t.TempDir()}, "no program": {},
	} {
		if why, err := hook.Before(t.Context(), request()); why == "" || err != nil {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
}

// A program need not read what it is given, however long that is, and what it
// leaves running with its output in hand holds nobody up.
func TestBeforeWithoutReading(t *testing.T) {
	r := request()
	r.Arguments = json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for _, script := range []string{
		`echo '{"verdict":"pass"}'`,
		`sleep 600 & echo '{"verdict":"pass"}'`,
		`exec 0<&-; echo '{"verdict":"pass"}'`,
	} {
		if why, err := shell(t, script).Before(t.Context(), r); why != "" || err != nil {
			t.Errorf("%s: %q, %v", script, why, err)
		}
	}
}

// Report A34: a hook that sleeps past its time is ended, with all that it
// started, and is no pass.
func TestBeforeInTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	why, err := shell(t, `sleep 600 & sleep 600; echo '{"verdict":"pass"}'`).Before(ctx, request())
	if why != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %q, %v", why, err)
	}
}

// What a program is told, and that it sees no secret of its host (A22).
func TestWhatAHookSees(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-planted")
	h := shell(t, `cat > seen; env > env; echo '{"verdict":"pass"}'`)
	h.Env = map[string]string{"STAGE": "test"}
	if why, err := h.Before(t.Context(), request()); why != "" || err != nil {
		t.Fatal(why, err)
	}
	seen := read(t, h, "seen")
	if diff := cmp.Diff(`{"run":"R1","call":"c1","tool":"pay","arguments":{"cents":9007199254740993},"user":"ann","tenant":"acme"}`+"\n", seen); diff != "" {
		t.Error(diff)
	}
	if env := read(t, h, "env"); strings.Contains(env, "sk-planted") || !strings.Contains(env, "STAGE=test") {
		t.Errorf("environment:\n%s", env)
	}
	if err := h.After(t.Context(), request(), policy.Answered{Text: "<paid>", IsError: true}); err != nil {
		t.Fatal(err)
	}
	if seen := read(t, h, "seen"); !strings.Contains(seen, `"result":"<paid>","is_error":true}`) {
		t.Errorf("after: %s", seen)
	}
	broken := request()
	broken.Arguments = json.RawMessage(`{"cents":`)
	if err := h.After(t.Context(), broken, policy.Answered{}); err != nil {
		t.Fatal(err)
	}
	if seen := read(t, h, "seen"); !json.Valid([]byte(seen)) || !strings.Contains(seen, `"arguments":"{\"cents\":"`) {
		t.Errorf("of broken arguments: %s", seen)
	}
}

func read(t *testing.T, h *command.Hook, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// After a call whatever is no pass is a warning.
func TestAfter(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"verdict":"pass"}'`:                       "",
		`echo '{"verdict":"refuse","reason":"too late"}'`: "it objects: too late",
		`exit 3`: "exited with 3",
		`:`:      "no verdict",
	} {
		err := shell(t, script).After(t.Context(), request(), policy.Answered{Text: "x"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
