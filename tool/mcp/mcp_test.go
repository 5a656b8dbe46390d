//go:build linux || darwin

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// fixtureServer is this program as a server.
func fixtureServer(t *testing.T, mode string) (s mcp.Server, log string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "log")
	return mcp.Server{
		Command: []string{self},
		// The race detector would make each server end a second late.
		Env:          map[string]string{modeVariable: mode, logVariable: log, "GORACE": "atexit_sleep_ms=0"},
		StartTimeout: 20 * time.Second,
	}, log
}

// open starts servers and closes them with the test.
func open(t *testing.T, c mcp.Config) *mcp.Servers {
	t.Helper()
	if c.Wait == 0 {
		c.Wait = 20 * time.Second // a busy machine is no broken server
	}
	s, err := mcp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func one(t *testing.T, mode string) (*mcp.Servers, string) {
	t.Helper()
	s, log := fixtureServer(t, mode)
	return open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}), log
}

// call checks and runs a call as an engine does.
func call(ctx context.Context, t *testing.T, set *tool.Set, name, args string) (tool.Outcome, error) {
	t.Helper()
	if err := set.Check(name, []byte(args)); err != nil {
		return tool.Outcome{}, err
	}
	b, ok := set.Bind(name, set.EffectOf(name, json.RawMessage(args)))
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tool.Border{}.Execute(ctx, b, tool.Call{ID: "c1", Run: "r", Arguments: json.RawMessage(args)}), nil
}

func mustCall(t *testing.T, set *tool.Set, name, args string) tool.Outcome {
	t.Helper()
	o, err := call(t.Context(), t, set, name, args)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func lines(t *testing.T, path, want string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, want) {
			n++
		}
	}
	return n
}

// Case 41, rows 36 and 37: what the documents bound, exactly.
func TestDocumentsBounds(t *testing.T) {
	s, log := fixtureServer(t, "plain")
	s.Limits = &mcp.Limits{Blocks: 4, Chars: 2000}
	set, warnings := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}).Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	for _, bad := range []struct{ name, args string }{
		{"mcp__docs__echo", `{"text":"` + strings.Repeat("x", 121) + `"}`},
		{"mcp__docs__echo", `{"text":1}`},
		{"mcp__docs__echo", `{}`},
		{"mcp__docs__nothing", `{}`},
	} {
		if _, err := call(t.Context(), t, set, bad.name, bad.args); err == nil {
			t.Errorf("%s%.40s was accepted", bad.name, bad.args)
		}
	}
	if n := lines(t, log, "call"); n != 0 {
		t.Errorf("%d calls reached the server", n)
	}
	for as, fine := range map[string]bool{
		"2000": true, "four": true, "2001": false, "five": false, "image": false, "structured": false, "blank": false, "none": false,
	} {
		o := mustCall(t, set, "mcp__docs__answer", `{"as":"`+as+`"}`)
		if o.IsError == fine {
			t.Errorf("%s: %.80q", as, o.Text)
		}
		if o.Facts.Disposition != kernel.Landed {
			t.Errorf("%s: %s", as, o.Facts.Disposition)
		}
	}
	if o := mustCall(t, set, "mcp__docs__echo", `{"text":"`+strings.Repeat("x", 120)+`"}`); o.IsError {
		t.Errorf("%q", o.Text)
	}
}

// Without limits results are told as they are, and what is no text by name.
func TestResults(t *testing.T) {
	s, _ := one(t, "plain")
	set, _ := s.Snapshot(t.Context())
	for as, want := range map[string]string{
		"five": "1\n2\n3\n4\n5", "image": "[an image of 3 bytes, image/png, which is not shown]",
		"structured": "42\n{\"n\":42}", "none": "(no output)", "failure": "no such page",
	} {
		o := mustCall(t, set, "mcp__docs__answer", `{"as":"`+as+`"}`)
		if o.Text != want || o.IsError != (as == "failure") {
			t.Errorf("%s: %q, error %v", as, o.Text, o.IsError)
		}
		if as == "structured" && string(o.Data) != `{"n":42}` {
			t.Errorf("facts %s", o.Data)
		}
	}
	if o := mustCall(t, set, "mcp__docs__answer", `{"as":"100000"}`); o.Facts.Omitted == 0 || len(o.Text) > 64<<10 {
		t.Errorf("%d bytes, %d omitted", len(o.Text), o.Facts.Omitted)
	}
	if o := mustCall(t, set, "mcp__docs__answer", `{"as":"refusal"}`); o.Facts.Disposition != kernel.DidNotHappen || !strings.Contains(o.Text, "the argument is not known") {
		t.Errorf("%+v", o)
	}
	if o := mustCall(t, set, "mcp__docs__answer", `{"as":"fault"}`); o.Facts.Disposition != kernel.InDoubt {
		t.Errorf("%+v", o)
	}
}

// Case 41, row 38: a timeout leaves the call unconfirmed; it was sent once.
func TestTimeout(t *testing.T) {
	s, log := fixtureServer(t, "plain")
	s.Timeout = 50 * time.Millisecond
	set, _ := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}).Snapshot(t.Context())
	o := mustCall(t, set, "mcp__docs__hang", `{}`)
	if !o.IsError || o.Facts.Disposition != kernel.InDoubt || o.Facts.Status != kernel.StatusError || o.Facts.Code != tool.CodeTimeout {
		t.Errorf("%+v", o.Facts)
	}
	if !strings.Contains(o.Text, "could not be confirmed") {
		t.Errorf("%q", o.Text)
	}
	if n := lines(t, log, "call hang"); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// Report A22: a server sees a short environment and its own, and no key.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-x-very-secret")
	t.Setenv("SESSION_SECRET", "yyyyyyyy")
	s, _ := fixtureServer(t, "plain")
	s.Env["A"] = "1"
	set, _ := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}).Snapshot(t.Context())
	o := mustCall(t, set, "mcp__docs__environment", `{}`)
	for _, secret := range []string{"sk-x", "yyyyyyyy", "OPENAI", "SESSION_SECRET"} {
		if strings.Contains(o.Text, secret) {
			t.Errorf("the server sees %s", secret)
		}
	}
	var seen struct{ Env, Args []string }
	if err := json.Unmarshal([]byte(o.Text), &seen); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(seen.Env, "A=1") || len(seen.Args) != 1 {
		t.Errorf("%q", seen)
	}
	base := []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "A", "GORACE", modeVariable, logVariable}
	for _, variable := range seen.Env {
		if name, _, _ := strings.Cut(variable, "="); !slices.Contains(base, name) {
			t.Errorf("the server sees %s", name)
		}
	}
}

// Report A23: noise on standard output is passed over.
func TestNoise(t *testing.T) {
	s, _ := one(t, "chatty")
	set, warnings := s.Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	for range 3 {
		if o := mustCall(t, set, "mcp__docs__echo", `{"text":"hi"}`); o.Text != "echo hi" {
			t.Errorf("%q", o.Text)
		}
	}
}

// Report A23: only noise.
func TestNothingButNoise(t *testing.T) {
	s, _ := fixtureServer(t, "noise")
	s.StartTimeout = 300 * time.Millisecond
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}})
	set, warnings := source.Snapshot(t.Context())
	if len(set.Names()) != 0 || len(warnings) != 1 {
		t.Fatalf("%q %q", set.Names(), warnings)
	}
	for _, want := range []string{"mcp server docs", "not up within 300ms", `"banner 0"`, `"banner 4", and 15 more`} {
		if !strings.Contains(warnings[0], want) {
			t.Errorf("%q lacks %q", warnings[0], want)
		}
	}
}

// Report A25: all pages, each tool once, and an end.
func TestPages(t *testing.T) {
	for _, mode := range []string{"pages-a", "pages-b", "pages-c", "pages-d"} {
		s, _ := one(t, mode)
		set, warnings := s.Snapshot(t.Context())
		if !slices.Equal(set.Names(), []string{"mcp__docs__t1", "mcp__docs__t2"}) {
			t.Errorf("%s: %q", mode, set.Names())
		}
		if repeated := len(warnings) == 1 && strings.Contains(warnings[0], "repeats a cursor"); repeated != (mode == "pages-b") {
			t.Errorf("%s: %q", mode, warnings)
		}
	}
}

// Report A26: names are legal, unique and the same on every start, and calls go
// out under their own.
func TestNames(t *testing.T) {
	legal := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	var before []string
	for range 2 {
		a, log := fixtureServer(t, "names")
		b, _ := fixtureServer(t, "names")
		source := open(t, mcp.Config{Servers: map[string]mcp.Server{"servicenow-catalog": a, "b": b}})
		set, warnings := source.Snapshot(t.Context())
		if len(set.Names()) != 12 || len(warnings) > 0 {
			t.Fatalf("%q %q", set.Names(), warnings)
		}
		for _, name := range set.Names() {
			if !legal.MatchString(name) {
				t.Errorf("%q", name)
			}
		}
		if before != nil && !slices.Equal(before, set.Names()) {
			t.Errorf("%q, before %q", set.Names(), before)
		}
		before = set.Names()
		for _, st := range source.Tools() {
			if st.Server != "b" {
				if o := mustCall(t, set, st.Name, `{}`); !strings.HasPrefix(o.Text, st.Tool+" ") {
					t.Errorf("%s: %q", st.Name, o.Text)
				}
			}
		}
		if n := lines(t, log, "call 查询"); n != 1 {
			t.Errorf("%d calls", n)
		}
	}
}

// Report A39: a list that changes.
func TestListChanged(t *testing.T) {
	s, log := one(t, "plain")
	before, _ := s.Snapshot(t.Context())
	if o := mustCall(t, before, "mcp__docs__change", `{}`); o.Text != "changed" {
		t.Fatal(o.Text)
	}
	if s.Immediate() {
		t.Error("a list that has changed is nothing to wait for")
	}
	after, warnings := s.Snapshot(t.Context())
	if !s.Immediate() || !slices.Equal(after.Names(), []string{"mcp__docs__added", "mcp__docs__echo"}) || len(warnings) > 0 {
		t.Fatalf("%q %q", after.Names(), warnings)
	}
	if n := lines(t, log, "list"); n != 2 {
		t.Errorf("%d lists", n)
	}
	one, _ := before.Spec("mcp__docs__echo")
	other, _ := after.Spec("mcp__docs__echo")
	if string(one.Foreign) == string(other.Foreign) {
		t.Error("the definition is the old one")
	}
	for _, name := range []string{"mcp__docs__echo", "mcp__docs__hang"} { // changed, removed
		args := `{}`
		if strings.HasSuffix(name, "echo") {
			args = `{"text":"hi"}`
		}
		o := mustCall(t, before, name, args)
		if o.Facts.Code != kernel.CodeUnknownTool || o.Facts.Disposition != kernel.DidNotHappen {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := mustCall(t, after, "mcp__docs__added", `{}`); o.IsError {
		t.Errorf("%q", o.Text)
	}
}

// A list that has changed and does not come is waited for once. The tools stay
// as they were, with a warning, and it counts whenever it comes.
func TestListThatDoesNotCome(t *testing.T) {
	s, log := fixtureServer(t, "slow list")
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Env[gateVariable] = gate
	s.StartTimeout = time.Minute
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}, Wait: 300 * time.Millisecond})
	source.Settle(t.Context())
	before, _ := source.Snapshot(t.Context())
	mustCall(t, before, "mcp__docs__change", `{}`)
	for range 2 { // it waits in the first round alone
		set, warnings := source.Snapshot(t.Context())
		if set != before || len(warnings) != 1 || !strings.Contains(warnings[0], "the list is still being read") || !source.Immediate() {
			t.Fatalf("%q %q", set.Names(), warnings)
		}
	}
	opened, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.Close()
	eventually(t, func() bool {
		set, warnings := source.Snapshot(t.Context())
		return slices.Contains(set.Names(), "mcp__docs__added") && len(warnings) == 0
	})
	if n := lines(t, log, "list"); n != 2 {
		t.Errorf("%d lists", n)
	}
}

// Report A38: foreign schemas.
func TestForeignSchemas(t *testing.T) {
	s, _ := one(t, "schemas")
	set, warnings := s.Snapshot(t.Context())
	good := []string{"any_of", "bad_output", "bare", "draft7", "nullable", "refs", "yes"}
	var names []string
	for _, name := range good {
		names = append(names, "mcp__docs__"+name)
	}
	if !slices.Equal(set.Names(), names) {
		t.Errorf("%q", set.Names())
	}
	for _, bad := range []string{"contradiction", "dangling", "outside", "endless", "list"} {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "mcp tool "+bad+" of docs is left out: ") }) {
			t.Errorf("nothing is said of %s: %q", bad, warnings)
		}
	}
	for _, c := range []struct {
		name, args string
		fine       bool
	}{
		{"refs", `{"root":{"name":"a","next":{"name":"b"}}}`, true},
		{"refs", `{"root":{"name":"a","next":{"nam":"b"}}}`, false},
		{"any_of", `{"id":1}`, true}, {"any_of", `{"name":"x"}`, true}, {"any_of", `{}`, false},
		{"nullable", `{"who":null,"user_id":"u","more":1}`, true}, {"nullable", `{"who":1}`, false},
		{"bare", `{}`, true}, {"bare", `{"x":1}`, true}, {"yes", `{"x":1}`, true},
		{"draft7", `{"pair":["a",1]}`, true}, {"draft7", `{"pair":["a","b"]}`, false}, {"draft7", `{"pair":["a",1,2]}`, false}, {"draft7", `{"x":1}`, false},
	} {
		if err := set.Check("mcp__docs__"+c.name, []byte(c.args)); (err == nil) != c.fine {
			t.Errorf("%s%s: %v", c.name, c.args, err)
		}
	}
	spec, _ := set.Spec("mcp__docs__any_of")
	if strings.Contains(string(spec.Schema), "anyOf") || !strings.Contains(string(spec.Schema), `"id"`) || !strings.Contains(spec.Description, "{id} or {name}") {
		t.Errorf("%s\n%s", spec.Schema, spec.Description)
	}
}

// What a server hints at makes a tool stricter and never looser; a pinned tool
// keeps its definition or is set aside.
func TestEffectsHintsAndPins(t *testing.T) {
	s, _ := fixtureServer(t, "hints")
	s.Effects = map[string]kernel.EffectClass{"search": kernel.Read, "wipe": kernel.Read}
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}})
	set, _ := source.Snapshot(t.Context())
	for name, want := range map[string]kernel.EffectClass{"search": kernel.Read, "wipe": kernel.Once, "plain": kernel.Once} {
		if spec, _ := set.Spec("mcp__docs__" + name); spec.Effect != want {
			t.Errorf("%s: %s", name, spec.Effect)
		}
	}
	var hash string
	for _, st := range source.Tools() {
		if st.Tool == "search" {
			hash = st.Hash
		}
	}
	s.Pin = map[string]string{"search": "sha256:" + hash, "wipe": hash}
	set, warnings := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}).Snapshot(t.Context())
	if !slices.Equal(set.Names(), []string{"mcp__docs__plain", "mcp__docs__search"}) || len(warnings) != 1 || !strings.Contains(warnings[0], "pinned") {
		t.Errorf("%q %q", set.Names(), warnings)
	}
}

// A server is asked for nothing that is not there: without somebody to ask no
// capability is offered, with somebody only that one.
func TestElicitation(t *testing.T) {
	s, log := fixtureServer(t, "capabilities")
	set, _ := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}).Snapshot(t.Context())
	if raw, _ := os.ReadFile(log); !strings.HasPrefix(string(raw), "{}\n") {
		t.Errorf("capabilities %.200s", raw)
	}
	if o := mustCall(t, set, "mcp__docs__ask", `{}`); !strings.Contains(o.Text, `"error"`) {
		t.Errorf("nobody was asked, and %q", o.Text)
	}
	for _, accept := range []bool{true, false} {
		s, log := fixtureServer(t, "capabilities")
		var asked mcp.Question
		source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}, Elicit: func(_ context.Context, q mcp.Question) (mcp.Answer, error) {
			asked = q
			return mcp.Answer{Accept: accept, Content: map[string]any{"colour": "red"}}, nil
		}})
		set, _ := source.Snapshot(t.Context())
		if raw, _ := os.ReadFile(log); !strings.Contains(string(raw), `{"elicitation":{`) || strings.Contains(string(raw), "roots") {
			t.Errorf("capabilities %.200s", raw)
		}
		o := mustCall(t, set, "mcp__docs__ask", `{}`)
		if asked.Server != "docs" || asked.Message != "which colour?" || !strings.Contains(string(asked.Schema), "colour") {
			t.Errorf("%+v", asked)
		}
		if strings.Contains(o.Text, `"action":"accept"`) != accept || strings.Contains(o.Text, "red") != accept {
			t.Errorf("accepted %v: %q", accept, o.Text)
		}
	}
}

// Errors hold no value of a configured variable.
func TestErrorsHoldNoSecrets(t *testing.T) {
	s, _ := fixtureServer(t, "plain")
	s.Env["TOKEN"] = "s3cret-value"
	set, _ := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}}).Snapshot(t.Context())
	o := mustCall(t, set, "mcp__docs__answer", `{"as":"fault"}`)
	if strings.Contains(o.Text, "s3cret-value") || !strings.Contains(o.Text, "[secret]") {
		t.Errorf("%q", o.Text)
	}
}

// Nor do they hold a part of one, where a text was shortened or one value begins
// another.
func TestErrorsHoldNoPartOfASecret(t *testing.T) {
	s, _ := fixtureServer(t, "leaky")
	s.Env["TOKEN"], s.Env["SHORT"] = "s3cret-"+strings.Repeat("value", 20), "s3cret-value"
	_, warnings := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}, Backoff: time.Hour}).Snapshot(t.Context())
	if len(warnings) != 1 || strings.Contains(warnings[0], "value") || strings.Count(warnings[0], "[secret]") < 1 || !strings.Contains(warnings[0], "yyy") {
		t.Errorf("%q", warnings)
	}
}

// Report A22: what a server quotes of a key is not cut before the key is looked
// for, so that no part of it is told, wherever it stands.
func TestQuotationsHoldNoPartOfAKey(t *testing.T) {
	const key = "t0p-K3y\"of<many>parts"
	for _, dies := range []string{"", "yes"} {
		s, _ := fixtureServer(t, "quotes")
		s.EnvFrom = map[string]string{keyVariable: "DOCS_KEY"}
		s.Env[gateVariable] = dies
		var log bytes.Buffer
		source := open(t, mcp.Config{
			Servers: map[string]mcp.Server{"docs": s}, Backoff: time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Getenv: func(name string) string { return map[string]string{"DOCS_KEY": key}[name] },
		})
		set, warnings := source.Snapshot(t.Context())
		said := strings.Join(warnings, "\n")
		if dies == "" {
			said += mustCall(t, set, "mcp__docs__die", `{}`).Text
			source.Settle(t.Context())
		}
		_ = source.Close()
		said += log.String()
		if !strings.Contains(said, "[secret]") {
			t.Errorf("nothing was quoted: %.500s", said)
		}
		for n := range len(key) - 3 {
			if part := key[n : n+4]; strings.Contains(said, part) {
				t.Errorf("%q is told: %.500s", part, said)
			}
		}
	}
}

// Report A22: a key that a server repeats in a result reaches no model and no
// journal. What the configuration itself says may.
func TestResultsHoldNoKey(t *testing.T) {
	const key = "t0p-K3y\"of<many>parts"
	s, log := fixtureServer(t, "plain")
	s.EnvFrom = map[string]string{keyVariable: "DOCS_KEY"}
	set, _ := open(t, mcp.Config{
		Servers: map[string]mcp.Server{"docs": s},
		Getenv:  func(name string) string { return map[string]string{"DOCS_KEY": key}[name] },
	}).Snapshot(t.Context())
	o := mustCall(t, set, "mcp__docs__answer", `{"as":"environment"}`)
	want := `{"deep":[{"[secret]":"a [secret]"}],"log":"` + log + `"}`
	if string(o.Data) != want || !strings.HasPrefix(o.Text, "it is [secret]\n[the resource file:///k]\n[secret]\n") {
		t.Errorf("%s\n%s", o.Text, o.Data)
	}
	if o := mustCall(t, set, "mcp__docs__environment", `{}`); strings.Contains(o.Text, "t0p-K3y") || !strings.Contains(o.Text, log) {
		t.Errorf("%s", o.Text)
	}
}

func TestConfiguration(t *testing.T) {
	for name, c := range map[string]mcp.Config{
		"none":       {},
		"a name":     {Servers: map[string]mcp.Server{"a__b": {Command: []string{"x"}}}},
		"both":       {Servers: map[string]mcp.Server{"a": {Command: []string{"x"}, URL: "https://example.com"}}},
		"neither":    {Servers: map[string]mcp.Server{"a": {}}},
		"in clear":   {Servers: map[string]mcp.Server{"a": {URL: "http://example.com"}}},
		"a password": {Servers: map[string]mcp.Server{"a": {URL: "https://u:p@example.com"}}},
		"a class":    {Servers: map[string]mcp.Server{"a": {Command: []string{"x"}, Effects: map[string]kernel.EffectClass{"t": kernel.Reconcilable}}}},
		"a limit":    {Servers: map[string]mcp.Server{"a": {Command: []string{"x"}, Limits: &mcp.Limits{Blocks: -1}}}},
		"a timeout":  {Servers: map[string]mcp.Server{"a": {Command: []string{"x"}, Timeout: 2 * time.Hour}}},
		"an env":     {Servers: map[string]mcp.Server{"a": {URL: "https://example.com", Env: map[string]string{"A": "1"}}}},
		"headers":    {Servers: map[string]mcp.Server{"a": {Command: []string{"x"}, HeadersEnv: map[string]string{"A": "B"}}}},
	} {
		if _, err := mcp.New(c); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, url := range []string{"http://127.0.0.1:1/x", "http://localhost/x", "https://example.com/x"} {
		s, err := mcp.New(mcp.Config{Servers: map[string]mcp.Server{"a": {URL: url}}})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		_ = s.Close()
	}
}

// eventually waits for what another process brings about.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it never came about")
		}
	}
}

// Many runs share the servers: that lists change while they all ask for
// snapshots holds none of them up.
func TestManyAskWhileListsChange(t *testing.T) {
	source, _ := one(t, "plain")
	source.Snapshot(t.Context())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 300 {
				source.Changed("docs")
				source.Snapshot(t.Context())
			}
		})
	}
	all.Wait()
}
