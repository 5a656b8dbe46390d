package local

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/leash"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// What is ended is over and not out any more; what is aborted is over, and out
// until it reports, but for a timer, which reports nothing then.
func TestOrders(t *testing.T) {
	runs, asks := new(leash.Leash), new(leash.Leash)
	timer := time.AfterFunc(time.Hour, func() {})
	o := orders{{cmd: 1, timer: timer}, {cmd: 2, leash: runs}, {cmd: 3, leash: asks}, {cmd: 4}}
	o.end(9)
	o.abort(9)
	if len(o) != 4 {
		t.Fatalf("%d are out", len(o))
	}
	o.abort(3)
	if asks.Err() == nil || o.of(3) == nil {
		t.Error("aborted: goes on, or is forgotten")
	}
	o.end(2)
	if runs.Err() == nil || o.of(2) != nil {
		t.Error("ended: goes on, or is still out")
	}
	o.abort(1)
	o.abort(4)
	if timer.Stop() || o.of(1) != nil || o.of(4) != nil || len(o) != 1 {
		t.Errorf("aborted timers run, or are out: %d", len(o))
	}
}

// refusing is a journal that gives no claim.
type refusing struct{ journal.Journal }

func (j refusing) Append(ctx context.Context, e journal.Entry) error {
	if e.Claim != nil {
		return &journal.Refusal{Why: kernel.ClaimUnknown}
	}
	return j.Journal.Append(ctx, e)
}

// looking is a caller that looks about at its second request.
type looking struct {
	caller
	first context.Context
	look  func(first context.Context)
}

func (l *looking) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	if l.first == nil {
		l.first = ctx
		return l.caller.Call(ctx, req, watch)
	}
	l.look(l.first)
	return &model.Reply{Stop: kernel.StopEnd, Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: "no"}}}}, nil
}

// A command that was reported is over for the code that carried it out. One that
// was prepared by a step which was taken back is not out: nobody would ever
// report it, and no run of which something is out is handed back.
func TestNothingIsLeftOut(t *testing.T) {
	ran := false
	agent := payer(t, kernel.Allow, &ran)
	e, err := New(Config{Journal: refusing{memory.New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	looked := false
	agent.Model = &looking{look: func(first context.Context) {
		looked = true
		if first.Err() == nil {
			t.Error("the first request is not over at the second")
		}
		r := e.live("r")
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.out) != 2 { // the deadline and this request
			t.Errorf("%d commands are out, want 2: %+v", len(r.out), r.out)
		}
	}}
	r, err := e.Run(t.Context(), engine.Start{Run: "r", Question: "q", Agent: agent})
	if err != nil || r.Outcome.Stop != kernel.StopAnswered || ran || !looked {
		t.Fatalf("%+v, %v; ran: %t, looked: %t", r, err, ran, looked)
	}
}
