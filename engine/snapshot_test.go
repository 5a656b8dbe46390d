package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

// headed is an encoder that makes each head once, as the wires do, or never the
// same one. It changes what it is given.
type headed struct {
	encoder
	name   string
	forget bool
	mu     sync.Mutex
	asked  int
	head   map[string][]byte
}

func keeping(name string) *headed {
	k := &headed{encoder: encoder{&fake{}}, name: name, head: map[string][]byte{}}
	for range 20 {
		k.steps = append(k.steps, answers("yes"))
	}
	return k
}

func (k *headed) EncodeHead(system string, tools []model.Tool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	key := fmt.Sprintf("%s %q %q", k.name, system, tools)
	if k.name == "" {
		key = ""
	}
	if k.head[key] == nil || k.forget {
		k.head[key] = []byte(key)
	}
	for i := range tools {
		tools[i].Description = "changed by " + k.name
	}
	return k.head[key], nil
}

// seeing is a model that keeps what it was sent.
type seeing interface{ latest() model.Request }

func (f *fake) latest() model.Request { return f.seen[len(f.seen)-1] }

// What is made of tools and instructions is made again for whatever is not the
// same, and for nothing else.
func TestSnapshots(t *testing.T) {
	var kept engine.Snapshots
	one, other, empty, plain := keeping("one"), keeping("other"), keeping(""), keeping("plain").fake
	tools := look(t, 1)
	agent := &engine.Agent{Model: one, Instructions: "first", Tools: tools}
	begun := func() *engine.Execution {
		t.Helper()
		x, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil), Snapshots: &kept}, engine.Start{
			Agent: agent, Run: "r", Question: "what?",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	request := func(m seeing) model.Request {
		t.Helper()
		d := &drive{t: t, x: begun()}
		if d.run() == nil {
			t.Fatal("no end")
		}
		return m.latest()
	}
	same := func(a, b model.Request) bool { return unsafe.StringData(a.System) == unsafe.StringData(b.System) }

	first := request(one)
	if again := request(one); !same(first, again) || !bytes.Equal(again.Head, first.Head) {
		t.Error("the same was made twice")
	}
	changes := map[string]func() *headed{
		"instructions": func() *headed { agent.Instructions = "second"; return one },
		"a model":      func() *headed { agent.Model = other; return other },
		"tools":        func() *headed { agent.Tools = look(t, 1); return one },
		"no head":      func() *headed { agent.Model = empty; return empty },
	}
	for name, change := range changes {
		agent.Model, agent.Instructions, agent.Tools = one, "first", tools
		before := request(one)
		m := change()
		after := request(m)
		if same(before, after) != (m != one) {
			t.Errorf("%s: what was made before was taken, or not", name)
		}
		if !strings.Contains(after.System, agent.Instructions) || !strings.HasPrefix(string(after.Head), m.name) {
			t.Errorf("%s: system %q, head %q", name, after.System, after.Head)
		}
		if strings.Contains(string(after.Head), "changed") || after.Tools[0].Description != "changed by "+m.name {
			t.Errorf("%s: one run's model changed what another's is told: %q, %q", name, after.Head, after.Tools)
		}
		agent.Model = plain
		if bare := request(plain); bare.Head != nil || bare.Tools[0].Description != "Looks." {
			t.Errorf("%s, then a model that keeps no bytes: %q, %q", name, bare.Head, bare.Tools)
		}
	}
	if agent.Model = empty; request(empty).Head == nil {
		t.Error("an empty head is not none")
	}
	one.forget = true
	agent.Model = one
	before := one.asked
	if request(one); one.asked != before+1 {
		t.Errorf("asked for a head %d times", one.asked-before)
	}

	agent.Model, agent.Tools = one, nil
	if none := request(one); len(none.Tools) != 0 {
		t.Errorf("without tools: %v", none.Tools)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { begun() })
	}
	all.Wait()
}

// A question that requires something is routed on its own.
func TestSnapshotsAreNotOfARoute(t *testing.T) {
	var kept engine.Snapshots
	m := keeping("one")
	agent := &engine.Agent{Model: m, Tools: routes(t)}
	for _, requires := range [][]string{nil, {"a"}, {"b"}, nil} {
		x, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil), Snapshots: &kept}, engine.Start{
			Agent: agent, Run: "r", Question: "what?", Requires: requires,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := &drive{t: t, x: x}
		d.run()
		var names []string
		for _, offered := range m.latest().Tools {
			names = append(names, offered.Name)
		}
		want := "a b"
		if requires != nil {
			want = requires[0]
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("requires %q: offered %q", requires, got)
		}
	}
}

func routes(t *testing.T) *tool.Set {
	t.Helper()
	var all []tool.Tool
	for _, name := range []string{"a", "b"} {
		f, err := tool.Func(tool.Spec{Name: name, Description: "Does.", Effect: kernel.Read, Capabilities: []string{name}}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
			return tool.Result{Text: name}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// What is shared counts for as many tokens as what is not.
func TestSnapshotsCount(t *testing.T) {
	tokens := func(m model.Model, kept *engine.Snapshots) int64 {
		t.Helper()
		x, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil), Snapshots: kept}, engine.Start{
			Agent: &engine.Agent{Model: m, Instructions: "Be brief."}, Run: "r", Question: "what?",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := &drive{t: t, x: x}
		d.run()
		return d.x.State.InputTokens
	}
	var kept engine.Snapshots
	for _, m := range []model.Model{keeping("one"), keeping("another, with a head that is longer"), keeping("plain").fake} {
		alone := tokens(m, nil)
		for range 2 {
			if shared := tokens(m, &kept); shared != alone || alone == 0 {
				t.Errorf("%d tokens, want %d", shared, alone)
			}
		}
	}
}
