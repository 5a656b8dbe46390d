package cli

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/multiply"
)

// An interrupt that comes when a run is about to wait for people ends it all the
// same: it is not left waiting.
func TestFollowToTheStopAfterAnInterrupt(t *testing.T) {
	m, err := script.New(script.Config{Script: &script.Script{Steps: []script.Step{
		{Calls: []script.Call{{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewSet(multiply.New())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Ask, Tool: "multiply"}})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := holdfast.Open(t.Context(), holdfast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	start := engine.Start{Agent: &engine.Agent{Model: m, Tools: tools, Policy: rules}, Question: "What is 248 times 15?"}
	r, err := follow(ctx, rt, start, func(u engine.Update) {
		if _, asked := u.Event.(kernel.CallDecided); asked {
			interrupt()
		}
	})
	if err != nil || r.Outcome == nil || r.Outcome.Stop != kernel.StopCancelled {
		t.Errorf("%v: %+v", err, r)
	}
}

// taken is a journal in which somebody takes a run over after its first entry,
// and is gone at once.
type taken struct{ journal.Journal }

func (j taken) Append(ctx context.Context, e journal.Entry) error {
	if e.Records[0].Seq > 1 {
		late := e.Now.Add(time.Hour)
		l, err := j.Acquire(ctx, e.Head.Run, "another process", late, late.Add(time.Minute))
		if err == nil {
			err = j.Release(ctx, e.Head.Run, l)
		}
		if err != nil {
			return err
		}
	}
	return j.Journal.Append(ctx, e)
}

// A run that was taken over and that nobody drives any more is said to be just
// that, with what goes on with it.
func TestFollowOfARunThatNobodyDrives(t *testing.T) {
	m, err := script.New(script.Config{Script: &script.Script{Steps: []script.Step{{Text: "3720"}}}})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := holdfast.Open(t.Context(), holdfast.Options{Journal: taken{memory.New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	r, err := follow(t.Context(), rt, engine.Start{Agent: &engine.Agent{Model: m}, Question: "What is 248 times 15?"}, func(engine.Update) {})
	if kernel.CodeOf(err) != kernel.CodeLeaseLost || asError(err).Hint == "" || r.Outcome.Stop != kernel.StopHostError {
		t.Errorf("%v: %+v", err, r)
	}
}
