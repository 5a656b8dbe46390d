//go:build linux || darwin

package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// Report A24: the death of a server.
func TestDeath(t *testing.T) {
	dying, log := fixtureServer(t, "plain")
	other, _ := fixtureServer(t, "plain")
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": dying, "other": other}, Backoff: time.Millisecond})
	set, warnings := source.Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	pending := make(chan tool.Outcome)
	for range 2 {
		go func() {
			o, _ := call(context.WithoutCancel(t.Context()), t, set, "mcp__docs__hang", `{}`)
			pending <- o
		}()
	}
	eventually(t, func() bool { return lines(t, log, "call hang") == 2 })
	outcomes := []tool.Outcome{mustCall(t, set, "mcp__docs__die", `{}`), <-pending, <-pending}
	for _, o := range outcomes {
		if o.Facts.Disposition != kernel.InDoubt || !strings.Contains(o.Text, "exit code 3") || !strings.Contains(o.Text, "out of cheese") || !strings.Contains(o.Text, "could not be confirmed") {
			t.Errorf("%+v", o)
		}
	}
	if o := mustCall(t, set, "mcp__other__echo", `{"text":"hi"}`); o.Text != "echo hi" {
		t.Errorf("the other server: %q", o.Text)
	}
	if o := mustCall(t, set, "mcp__docs__echo", `{"text":"hi"}`); o.Text != "echo hi" {
		t.Errorf("after the restart: %q", o.Text)
	}
	if n := lines(t, log, "call"); n != 4 { // two hang, one die, one echo
		t.Errorf("%d calls were sent", n)
	}
}

// Report A24: restarts are bounded, and a server that is given up fails fast.
func TestRestartsAreBounded(t *testing.T) {
	s, _ := fixtureServer(t, "broken")
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": s}, Backoff: time.Millisecond})
	source.Start()
	eventually(t, func() bool { return strings.Contains(source.Tools()[0].Reason, "given up") })
	got := source.Tools()[0]
	for _, want := range []string{"exit code 7", "cannot find the database", "started 6 times"} {
		if !strings.Contains(got.Reason, want) || got.State != mcp.Failed {
			t.Errorf("%+v lacks %q", got, want)
		}
	}
}

// A slow or broken server blocks nothing, is named, and joins later.
func TestSlowServerJoinsLater(t *testing.T) {
	slow, _ := fixtureServer(t, "late")
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	slow.Env[gateVariable] = gate
	broken, _ := fixtureServer(t, "broken")
	fine, _ := fixtureServer(t, "plain")
	source := open(t, mcp.Config{
		Servers: map[string]mcp.Server{"slow": slow, "broken": broken, "fine": fine}, Wait: 500 * time.Millisecond, Backoff: time.Hour,
	})
	source.Start()
	eventually(t, func() bool {
		return source.Summaries()[1].State == mcp.Ready && source.Summaries()[0].State == mcp.Failed
	})
	set, warnings := source.Snapshot(t.Context())
	if _, ok := set.Lookup("mcp__fine__echo"); !ok || len(warnings) != 2 || !strings.Contains(warnings[1], "mcp server slow is left out: it is still starting") {
		t.Fatalf("%q %q", set.Names(), warnings)
	}
	if again, _ := source.Snapshot(t.Context()); again != set {
		t.Error("without news there is another set")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		set, _ = source.Snapshot(t.Context())
		_, ok := set.Lookup("mcp__slow__echo")
		return ok
	})
}

// A server and what it has started end with the source.
func TestCloseKillsTheTree(t *testing.T) {
	s, _ := one(t, "plain")
	set, _ := s.Snapshot(t.Context())
	o := mustCall(t, set, "mcp__docs__child", `{}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal([]byte(o.Text), &pid); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
	if o := mustCall(t, set, "mcp__docs__echo", `{"text":"x"}`); o.Facts.Disposition != kernel.DidNotHappen {
		t.Errorf("%+v", o)
	}
	if _, warnings := s.Snapshot(t.Context()); len(warnings) != 1 {
		t.Errorf("%q", warnings)
	}
}

// zombie reports whether a process is dead and nobody has taken its exit status
// yet, which is up to init.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(raw), ") Z ")
}

// A server that is killed says so in its calls, is started again, and is sent
// nothing twice.
func TestKilledServer(t *testing.T) {
	fixture, log := fixtureServer(t, "plain")
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"docs": fixture}, Backoff: time.Millisecond})
	set, _ := source.Snapshot(t.Context())
	var pid int
	if err := json.Unmarshal([]byte(mustCall(t, set, "mcp__docs__pid", `{}`).Text), &pid); err != nil {
		t.Fatal(err)
	}
	pending := make(chan tool.Outcome)
	go func() {
		o, _ := call(context.WithoutCancel(t.Context()), t, set, "mcp__docs__hang", `{}`)
		pending <- o
	}()
	eventually(t, func() bool { return lines(t, log, "call hang") == 1 })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if o := <-pending; o.Facts.Disposition != kernel.InDoubt || !strings.Contains(o.Text, "ended by a signal: killed") {
		t.Errorf("%+v", o)
	}
	if o := mustCall(t, set, "mcp__docs__echo", `{"text":"again"}`); o.Text != "echo again" || lines(t, log, "call hang") != 1 {
		t.Errorf("%q", o.Text)
	}
}
