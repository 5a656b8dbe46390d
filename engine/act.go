package engine

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// toolCall is a call as a tool sees it.
func (x *Execution) toolCall(call kernel.Call, turn, attempt int, key string) tool.Call {
	if key == "" {
		key = x.Run + "/" + call.ID
	}
	return tool.Call{
		ID: call.ID, Run: x.Run, Session: x.start.Session, Tenant: x.start.Tenant, User: x.start.User,
		Turn: turn, Attempt: attempt, Key: key, Arguments: []byte(call.Arguments),
	}
}

// toolRun is one run of a call.
type toolRun struct {
	x        *Execution
	c        kernel.RunTool
	tool     tool.Binding
	narrower tool.Narrower
	border   tool.Border
	begun    time.Time
	instead  Report
}

// runTool runs a call. The end of the run's time ends the tool's context too,
// so that the tool knows which it was.
func (x *Execution) runTool(c kernel.RunTool) Task {
	r := &toolRun{x: x, c: c, narrower: x.tools().Narrower(c.Call.Name), border: x.border}
	r.tool, _ = x.tools().Bind(c.Call.Name, c.Effect) // its decision found it in the same set
	if _, own := x.Clock.(SystemClock); own {         // contexts know no other time: elsewhere the deadline's timer ends the call
		r.border.Until = time.Now().Add(instant(x.State.Deadline).Sub(x.Clock.Now()))
	}
	return r
}

// Do runs it.
func (r *toolRun) Do(ctx context.Context, instead Report) (kernel.Event, Content) {
	r.begun, r.instead = r.x.Clock.Now(), instead
	call := r.x.toolCall(r.c.Call, r.c.Turn, r.c.Attempt, r.c.Key)
	return r.returned(r.border.ExecuteInPlace(ctx, r.tool, call, r.lost))
}

func (r *toolRun) lost(out tool.Outcome) { r.instead(r.returned(out)) }

func (r *toolRun) returned(out tool.Outcome) (kernel.Event, Content) {
	x, ended := r.x, r.x.Clock.Now()
	result := &Result{Text: out.Text, IsError: out.IsError, Data: out.Data, Narrows: x.narrows(r.narrower, &out), Elapsed: ended.Sub(r.begun)}
	result.write()
	return kernel.CallReturned{At: kernel.Time(ended.UnixNano()), Cmd: r.c.Cmd, Call: r.c.Call.ID, Result: out.Facts, Jitter: x.Jitter(), Warnings: out.Warnings},
		Content{Result: result}
}

// reconcile asks a tool whether the effect of a call that was cut short is
// there.
func (x *Execution) reconcile(c kernel.Reconcile) Task {
	snap := x.present()
	call := x.toolCall(c.Call, c.Turn, 1, c.Key)
	return TaskFunc(func(ctx context.Context, instead Report) (kernel.Event, Content) {
		if snap == nil { // taken over
			snap, _ = x.sources.take(ctx, 0)
		}
		t, _ := snap.tools.Bind(c.Call.Name, kernel.Reconcilable)
		found := func(p kernel.Presence, out tool.Outcome) (kernel.Event, Content) {
			for _, w := range out.Warnings {
				x.Log.Warn("lookup", "run", x.Run, "call", c.Call.ID, "warning", w)
			}
			e := kernel.Reconciled{At: x.at(), Cmd: c.Cmd, Call: c.Call.ID, Found: p}
			if p != kernel.Present {
				return e, Content{}
			}
			e.Result = &out.Facts
			return e, Content{Result: &Result{Text: out.Text, IsError: out.IsError, Data: out.Data, Narrows: x.narrows(snap.tools.Narrower(c.Call.Name), &out)}}
		}
		return found(x.border.LookupInPlace(ctx, t, call, func(p kernel.Presence, out tool.Outcome) { instead(found(p, out)) }))
	})
}
