package holdfast_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// frozen refuses what would be written. What it lets pass still needs a rule.
type frozen struct{}

func (frozen) Before(_ context.Context, r policy.Request) (string, error) {
	if r.Effect != kernel.Read {
		return "files are frozen until Monday", nil
	}
	return "", nil
}

// audit sees every call once it is answered, those that were refused too.
type audit struct{}

func (audit) After(_ context.Context, r policy.Request, a policy.Answered) error {
	fmt.Printf("%s for %s: %s\n", r.Tool, r.User, a.Text)
	return nil
}

// plugins is a source of tools: others may be there at the next request. A run
// never sees a tool change under a call.
type plugins struct{ now atomic.Pointer[tool.Set] }

func (p *plugins) Snapshot(context.Context) (*tool.Set, []string) { return p.now.Load(), nil }

// Hooks in Go, a rule with a condition, and tools that come from a source. All
// calls take the same way.
func Example_hooks() {
	type in struct {
		Path string `json:"path"`
	}
	file := func(name string, effect kernel.EffectClass) tool.Tool {
		return must(tool.Func(tool.Spec{Name: name, Description: "Handles a file.", Effect: effect},
			func(_ context.Context, _ tool.Call, in in) (string, error) { return name + " of " + in.Path, nil }))
	}
	source := &plugins{}
	source.now.Store(must(tool.NewSet(file("peek", kernel.Read), file("store", kernel.Once))))

	agent := &holdfast.Agent{
		Model: must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{
			{Calls: []script.Call{{ID: "c1", Name: "peek", Args: `{"path":"pub/a.txt"}`}}},
			{Calls: []script.Call{{ID: "c2", Name: "peek", Args: `{"path":"key.pem"}`}}},
			{Calls: []script.Call{{ID: "c3", Name: "store", Args: `{"path":"pub/a.txt"}`}}},
			{Text: "Done."},
		}}})),
		Sources: []tool.Source{source},
		Hooks: policy.Hooks{
			Before: []policy.BeforeHook{{Name: "frozen", Tool: "*", Hook: frozen{}}},
			After:  []policy.AfterHook{{Name: "audit", Tool: "*", Hook: audit{}}},
		},
		Policy: must(policy.NewRules([]policy.Rule{
			{Answer: kernel.Allow, Tool: "*", When: `args.path.startsWith("pub/") && user == "ann"`},
		})),
	}
	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	run := must(rt.RunStart(ctx, holdfast.Start{Agent: agent, Question: "What is in a.txt?", User: "ann"}))
	fmt.Println(run.Outcome.Stop, run.Answer)
	// Output:
	// peek for ann: {"status":"completed","result":"peek of pub/a.txt"}
	// peek for ann: Not run: denied by policy: no policy rule allows this call of peek: the conditions of the rules about it do not hold
	// store for ann: Not run: denied by policy: the hook frozen refuses it: files are frozen until Monday
	// answered Done.
}
