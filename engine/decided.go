package engine

import (
	"strings"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Decided is the event of a decided approval. Its digest is of what was shown:
// the kernel compares it with the call.
func Decided(at kernel.Time, a *journal.Approval, d *journal.Decision, approved bool) kernel.Event {
	shown := kernel.Call{Name: a.Tool, Arguments: string(a.Arguments)}
	e := kernel.ApprovalDecided{
		At: at, Cmd: d.Cmd, Call: d.Call, Approved: approved,
		By: kernel.Clip(strings.Join(d.By, ", "), 500), Reason: kernel.Clip(tool.Clean(d.Reason), maxWords),
		Digest: kernel.CallDigest(shown), Approval: a.ID,
	}
	if !a.Decided.IsZero() {
		e.Given = kernel.Time(a.Decided.UnixNano())
	}
	if a.Hash != a.ContentHash() {
		e.Digest = "" // someone has changed it
	}
	return e
}

// Resolved is the event of a resolved effect.
func Resolved(at kernel.Time, f *journal.Effect, d *journal.Resolved, by string) (kernel.Event, Content) {
	e := kernel.EffectResolved{
		At: at, Call: d.Call, Effect: d.Effect, As: d.As, By: kernel.Clip(by, 200),
		Note: kernel.Clip(tool.Clean(d.Note), maxWords), Evidence: d.Evidence,
	}
	if d.As != kernel.FoundLanded || len(f.Result) == 0 {
		return e, Content{}
	}
	result, facts := storedResult(f)
	e.Result = &facts
	return e, Content{Result: &result}
}
