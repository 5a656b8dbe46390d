package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// keeper is all that an embedding program can be to a run, and keeps each context
// that it is given.
type keeper struct {
	model.Model
	tool.Tool

	mu   sync.Mutex
	kept []context.Context
}

func (k *keeper) keep(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, ctx, context.WithoutCancel(ctx))
}

func (k *keeper) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	k.keep(ctx)
	return k.Model.Call(ctx, req, watch)
}

func (k *keeper) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	k.keep(ctx)
	return k.Tool.Run(ctx, c)
}

func (k *keeper) Decide(ctx context.Context, _ policy.Request) (policy.Decision, error) {
	k.keep(ctx)
	return policy.Decision{Answer: kernel.Allow}, nil
}

func (k *keeper) Before(ctx context.Context, _ policy.Request) (string, error) {
	k.keep(ctx)
	return "", nil
}

func (k *keeper) After(ctx context.Context, _ policy.Request, _ policy.Answered) error {
	k.keep(ctx)
	return nil
}

func (k *keeper) Attach(ctx context.Context, _ prompt.AttachRequest) ([]prompt.Attachment, error) {
	k.keep(ctx)
	return nil, nil
}

func (k *keeper) Verify(ctx context.Context, f verify.Facts) (verify.Verdict, error) {
	k.keep(ctx)
	return verify.Verdict{Verified: true, Evidence: []string{f.AnswerEvidence}}, nil
}

// everywhere begins a run that meets k wherever it may meet foreign code.
func (k *keeper) everywhere(t *testing.T) *drive {
	t.Helper()
	a := agent(t, k, 1)
	look, _ := a.Tools.Lookup("look")
	k.Model, k.Tool = &fake{steps: steps{asks("c1"), answers("done")}}, look
	a.Policy, a.Verifier, a.Attach = k, k, []prompt.Attacher{k}
	a.Hooks.Before = []policy.BeforeHook{{Name: "b", Tool: "*", Hook: k}}
	a.Hooks.After = []policy.AfterHook{{Name: "a", Tool: "*", Hook: k}}
	var err error
	if a.Tools, err = tool.NewSet(k); err != nil {
		t.Fatal(err)
	}
	return begin(t, a, "run_1", "q", nil)
}

// through takes the run to its end, on which nothing is amiss.
func (k *keeper) through(t *testing.T, d *drive) {
	t.Helper()
	if o := d.run(); o == nil || o.Stop != kernel.StopVerified || len(k.kept) != 2*9 {
		t.Fatalf("%d contexts, stopped: %+v", len(k.kept), o)
	}
}

// The contexts that a program is given hold nothing of the run, which can be let
// go of however long they are kept.
func TestKeptContextsHoldNothing(t *testing.T) {
	k := &keeper{}
	run := func() weak.Pointer[engine.Execution] {
		d := k.everywhere(t)
		k.through(t, d)
		return weak.Make(d.x)
	}
	x := run()
	for range 100 { // its last goroutine may be about to end
		if runtime.GC(); x.Value() == nil {
			return
		}
		runtime.Gosched()
	}
	t.Error("the run is kept")
	runtime.KeepAlive(k)
}

// Code that has returned is not abandoned when its context ends after that.
func TestForeignCodeThatIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		k := &keeper{}
		d := k.everywhere(t)
		d.x.Log = slog.New(slog.NewTextHandler(&log, nil))
		k.through(t, d)
		time.Sleep(time.Hour)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("log %s", log.String())
		}
	})
}
