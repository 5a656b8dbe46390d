package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// masking hides what is private in its own copy of a call, for a log that it
// keeps, and leaves the rest to rules.
type masking struct{ rules policy.Policy }

func mask(b []byte) {
	if i := bytes.Index(b, []byte("c1")); i >= 0 {
		copy(b[i:], "**")
	}
}

func (m masking) Decide(ctx context.Context, r policy.Request) (policy.Decision, error) {
	mask(r.Arguments)
	return m.rules.Decide(ctx, r)
}

func (m masking) Before(_ context.Context, r policy.Request) (string, error) {
	mask(r.Arguments)
	mask(r.Normal)
	for i := range r.Argv {
		r.Argv[i] = "*"
	}
	return "", nil
}

// spoken is a tool with a command line and a spelling of its own, both of which
// it keeps.
type spoken struct {
	tool.Tool
	normal []byte
	argv   []string
}

func (s spoken) Normal(json.RawMessage) json.RawMessage { return s.normal }
func (s spoken) Argv(json.RawMessage) []string          { return s.argv }

// Whoever looks at a call has a copy of each part of it: what one writes there
// changes nothing for the rules.
func TestRequestIsACopy(t *testing.T) {
	for name, tt := range map[string]struct {
		when string
		of   func(tool.Tool) tool.Tool
	}{
		"as the model wrote it": {`args.at == "c1"`, func(f tool.Tool) tool.Tool { return f }},
		"as the tool spells it": {`args.at == "./c1" && argv == ["look", "c1"]`, func(f tool.Tool) tool.Tool {
			return spoken{f, []byte(`{"at":"./c1"}`), []string{"look", "c1"}}
		}},
	} {
		rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Deny, Tool: "look", When: tt.when}, {Answer: kernel.Allow, Tool: "look"}})
		if err != nil {
			t.Fatal(err)
		}
		a := agent(t, &fake{steps: steps{asks("c1"), answers("done")}}, 1)
		look, _ := a.Tools.Lookup("look")
		if a.Tools, err = tool.NewSet(tt.of(look)); err != nil {
			t.Fatal(err)
		}
		m := masking{rules}
		a.Policy, a.Hooks.Before = m, []policy.BeforeHook{{Name: "log", Tool: "*", Hook: m}}
		d := begin(t, a, "run_1", "q", nil)
		d.run()
		if c := one[kernel.CallDecided](t, d.events); c.Answer != kernel.Deny {
			t.Errorf("%s: a call that rules deny was answered %s by %q", name, c.Answer, c.Rule)
		}
	}
}

type policyFunc func(context.Context, policy.Request) (policy.Decision, error)

func (f policyFunc) Decide(ctx context.Context, r policy.Request) (policy.Decision, error) {
	return f(ctx, r)
}

// A policy that does not return says no, when its context has ended for as long
// as the grace.
func TestPolicyBlocks(t *testing.T) {
	a := agent(t, &fake{}, 1)
	free, ended := make(chan struct{}), make(chan struct{})
	a.Policy = policyFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		<-free
		return policy.Decision{Answer: kernel.Allow}, nil
	})
	d := begin(t, a, "run_1", "q", nil)
	d.take(d.x.Begin())
	task := d.x.Task(kernel.DecideCall{Call: kernel.Call{ID: "c1", Name: "look", Arguments: `{"at":"c1"}`}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reports := make(chan kernel.Event, 1)
	go func() {
		defer close(ended)
		task.Do(ctx, func(e kernel.Event, _ engine.Content) { reports <- e })
	}()
	if e, is := (<-reports).(kernel.CallDecided); !is || e.Answer != kernel.Deny || e.Reason != "the policy could not be asked" {
		t.Errorf("%+v", e)
	}
	close(free)
	<-ended
}
