package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keeper notes what it is given.
type keeper struct {
	got     []memory.Proposal
	receipt memory.Receipt
	err     error
}

func (k *keeper) Propose(_ context.Context, p memory.Proposal) (memory.Receipt, error) {
	k.got = append(k.got, p)
	return k.receipt, k.err
}

func made(t *testing.T, k *keeper, scopes ...string) *tool.Set {
	t.Helper()
	p, err := memory.New(k, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func call(args string) tool.Call {
	return tool.Call{ID: "c1", Run: "r1", Tenant: "acme", User: "ann", Arguments: json.RawMessage(args)}
}

func execute(t *testing.T, set *tool.Set, c tool.Call) tool.Outcome {
	t.Helper()
	if err := set.Check(memory.Name, c.Arguments); err != nil {
		t.Fatal(err)
	}
	b, _ := set.Bind(memory.Name, kernel.Idempotent)
	return tool.Border{}.Execute(t.Context(), b, c)
}

// Row 75: a model may propose, and is told that it counts for nothing. Whose the
// proposal is comes from the host.
func TestAProposal(t *testing.T) {
	k := &keeper{receipt: memory.Receipt{ID: "user/m-1", State: "proposed"}}
	o := execute(t, made(t, k, memory.Project, memory.User), call(`{"scope":"user","text":"Likes tea."}`))
	want := memory.Proposal{Scope: "user", Text: "Likes tea.", Tenant: "acme", User: "ann", Run: "r1", Call: "c1"}
	if len(k.got) != 1 || k.got[0] != want {
		t.Errorf("got %+v", k.got)
	}
	if !strings.Contains(o.Text, `"id":"user/m-1","state":"proposed"`) || !strings.Contains(o.Text, "counts for nothing until a person confirms it") {
		t.Errorf("the model is told %s", o.Text)
	}
	for state, want := range map[string]string{"confirmed": "has confirmed it already", "forgotten": "was not proposed again"} {
		k.receipt.State = state
		if o := execute(t, made(t, k, memory.User), call(`{"scope":"user","text":"x"}`)); !strings.Contains(o.Text, want) {
			t.Errorf("%s: %s", state, o.Text)
		}
	}
}

// What is refused did not happen; any other failure proves nothing.
func TestARefusedProposal(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want kernel.Disposition
	}{
		{&kernel.Error{Code: kernel.CodeInvalidArgument, Message: "64 proposals wait"}, kernel.DidNotHappen},
		{&kernel.Error{Code: kernel.CodeLocalStorage, Message: "the disk is full"}, kernel.InDoubt},
		{errors.New("odd"), kernel.InDoubt},
	} {
		o := execute(t, made(t, &keeper{err: tt.err}, memory.User), call(`{"scope":"user","text":"x"}`))
		if o.Facts.Disposition != tt.want {
			t.Errorf("%v: %+v, %s", tt.err, o.Facts, o.Text)
		}
	}
}

func TestArguments(t *testing.T) {
	set := made(t, &keeper{}, memory.Project)
	for _, bad := range []string{
		`{}`, `{"scope":"user","text":"x"}`, `{"scope":"project"}`, `{"scope":"project","text":""}`, `{"scope":"project","text":1}`,
		`{"scope":"project","text":"x","user":"ben"}`, `{"scope":"project","text":"` + strings.Repeat("x", memory.MaxText+1) + `"}`,
	} {
		if err := set.Check(memory.Name, []byte(bad)); err == nil {
			t.Errorf("%.60s passes", bad)
		}
	}
}

// One proposal of one identity has one key, whatever call it is of.
func TestKey(t *testing.T) {
	p, err := memory.New(&keeper{}, memory.Project, memory.User)
	if err != nil {
		t.Fatal(err)
	}
	key := func(c tool.Call) string {
		t.Helper()
		k, err := p.(tool.Keyer).Key(c)
		if err != nil || k == "" {
			t.Fatalf("%q, %v", k, err)
		}
		return k
	}
	first := call(`{"scope":"user","text":"x"}`)
	again := call(`{ "text":"\u0078", "scope":"user"}`)
	again.ID, again.Run, again.Turn = "c2", "r2", 7
	if key(first) != key(again) {
		t.Error("the same proposal has two keys")
	}
	seen := map[string]bool{key(first): true}
	for _, c := range []tool.Call{
		call(`{"scope":"project","text":"x"}`), call(`{"scope":"user","text":"y"}`),
		{Tenant: "acm", User: "eann", Arguments: first.Arguments}, {User: "ann", Arguments: first.Arguments},
	} {
		if k := key(c); seen[k] {
			t.Errorf("%+v has the key of another", c)
		} else {
			seen[k] = true
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, build := range map[string]func() (tool.Tool, error){
		"nobody":    func() (tool.Tool, error) { return memory.New(nil, memory.User) },
		"no scope":  func() (tool.Tool, error) { return memory.New(&keeper{}) },
		"odd scope": func() (tool.Tool, error) { return memory.New(&keeper{}, "tenant") },
	} {
		if p, err := build(); kernel.CodeOf(err) != kernel.CodeConfiguration || p != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}
