package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

// headed is an encoder that makes each head once, as the wires do.
type headed struct {
	encoder
	name string
	mu   sync.Mutex
	head map[string][]byte
}

func keeping(name string) *headed {
	k := &headed{encoder: encoder{&fake{}}, name: name, head: map[string][]byte{}}
	for range 10 {
		k.steps = append(k.steps, answers("yes"))
	}
	return k
}

func (k *headed) EncodeHead(system string, tools []model.Tool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := fmt.Sprintf("%s %q %q", k.name, system, tools)
	if k.head[key] == nil {
		k.head[key] = []byte(key)
	}
	return k.head[key], nil
}

// What is made of tools and instructions is made again for whatever is not the
// same, and for nothing else.
func TestSnapshots(t *testing.T) {
	var kept engine.Snapshots
	one, other := keeping("one"), keeping("other")
	tools := look(t, 1)
	agent := &engine.Agent{Model: one, Instructions: "first", Tools: tools}
	begun := func(requires ...string) *engine.Execution {
		t.Helper()
		x, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil), Snapshots: &kept}, engine.Start{
			Agent: agent, Run: "r", Question: "what?", Requires: requires,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	request := func(m *headed, requires ...string) model.Request {
		t.Helper()
		d := &drive{t: t, x: begun(requires...)}
		if d.run() == nil {
			t.Fatal("no end")
		}
		return m.seen[len(m.seen)-1]
	}
	same := func(a, b model.Request) bool { return len(a.Tools) == len(b.Tools) && &a.Tools[0] == &b.Tools[0] }

	first := request(one)
	if again := request(one); !same(first, again) || again.System != first.System || !bytes.Equal(again.Head, first.Head) {
		t.Error("the same was made twice")
	}
	changes := map[string]func() *headed{
		"instructions": func() *headed { agent.Instructions = "second"; return one },
		"a model":      func() *headed { agent.Model = other; return other },
		"tools":        func() *headed { agent.Tools = look(t, 1); return one },
	}
	for name, change := range changes {
		agent.Model, agent.Instructions, agent.Tools = one, "first", tools
		before := request(one)
		m := change()
		after := request(m)
		if same(before, after) {
			t.Errorf("%s: what was made before was taken", name)
		}
		if !strings.Contains(after.System, agent.Instructions) || !strings.HasPrefix(string(after.Head), m.name) {
			t.Errorf("%s: system %q, head %q", name, after.System, after.Head)
		}
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
		for _, offered := range m.seen[len(m.seen)-1].Tools {
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
