package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// arguments are what the tools take.
type arguments struct {
	N   int    `json:"n"`
	Key string `json:"key,omitempty"`
}

// visitor is a tool over whatever world is simulated at the time.
type visitor struct {
	*rig

	name string
	traits
}

// Spec describes the tool.
func (t *visitor) Spec() tool.Spec {
	return tool.Spec{
		Name: t.name, Description: "A simulated tool.", Effect: t.class,
		Schema:       []byte(`{"type":"object","properties":{"n":{"type":"integer"},"key":{"type":"string"}},"required":["n"],"additionalProperties":false}`),
		RepeatWindow: t.window, Exclusive: t.exclusive,
		Limits: tool.Limits{Timeout: 24 * time.Hour, Attempts: t.attempts},
	}
}

// Run does it in the world.
func (t *visitor) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	return t.sim.defect.run(c, func(c tool.Call) (tool.Result, error) { return t.sim.world.run(ctx, t, c) })
}

// tool is the tool with what its traits ask for.
func (t *visitor) tool() tool.Tool {
	switch lookup := t.class == kernel.Reconcilable; {
	case lookup && t.keyed:
		return askableKeyed{keyed{t}, askable{t}}
	case lookup:
		return askable{t}
	case t.keyed:
		return keyed{t}
	case t.classifies:
		return classified{t}
	}
	return t
}

// keyed is a tool with a business key.
type keyed struct{ *visitor }

// Key is the key that the arguments name.
func (keyed) Key(c tool.Call) (string, error) {
	var a arguments
	err := json.Unmarshal(c.Arguments, &a)
	return a.Key, err
}

// classified is a tool whose class depends on its arguments.
type classified struct{ *visitor }

// Effect is the class of a call.
func (classified) Effect(args json.RawMessage) kernel.EffectClass {
	var a arguments
	if json.Unmarshal(args, &a) != nil {
		return kernel.Once
	}
	return classOf(a.N)
}

// askable is a tool that can be asked for its effects.
type askable struct{ *visitor }

// Lookup looks in the world.
func (t askable) Lookup(ctx context.Context, c tool.Call) (tool.Found, error) {
	found, err := t.sim.world.lookup(ctx, t.visitor, c)
	return t.sim.defect.look(found), err
}

type askableKeyed struct {
	keyed
	askable
}

// Spec is that of both.
func (t askableKeyed) Spec() tool.Spec { return t.keyed.Spec() }

// Run is that of both.
func (t askableKeyed) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	return t.keyed.Run(ctx, c)
}

// says is what a tool returns for a request: the same for equal ones.
func says(t *visitor, c *tool.Call, p *callPlan) string {
	text := fmt.Sprintf("done: %s %s for %s", t.name, p.args, c.Tenant)
	if p.goal {
		text += ", goal"
	}
	return text
}
