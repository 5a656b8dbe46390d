package tool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// The end of the run's time ends a call, and says so: unlike the tool's own
// time, and unlike an interruption.
func TestExecuteUntil(t *testing.T) {
	ran := false
	wait := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		ran = true
		<-ctx.Done()
		return tool.Result{Text: "too late"}, ctx.Err()
	}
	execute := func(ctx context.Context, until time.Time, timeout time.Duration) tool.Outcome {
		ran = false
		tl := ofEffect(kernel.Once, wait)
		tl.spec.Limits.Timeout = timeout
		return tool.Border{Until: until}.Execute(ctx, bind(t, tl, `{}`), tool.Call{})
	}
	expect := func(o tool.Outcome, began bool, code kernel.Code, disp kernel.Disposition, text string) {
		t.Helper()
		if ran != began || o.Facts.Code != code || o.Facts.Disposition != disp || !strings.Contains(o.Text, text) {
			t.Errorf("ran %v, %+v, want %s: %s", ran, o, code, text)
		}
	}

	o := execute(t.Context(), time.Now().Add(-time.Second), time.Hour)
	expect(o, false, tool.CodeTimeout, kernel.DidNotHappen, "not run: the run's time was over")

	for lead := time.Millisecond; !ran; lead *= 2 { // until it comes to run at all
		o = execute(t.Context(), time.Now().Add(lead), time.Hour)
	}
	expect(o, true, tool.CodeTimeout, kernel.InDoubt, "stopped: the run's time is over")

	o = execute(t.Context(), time.Now().Add(time.Hour), time.Millisecond)
	expect(o, true, tool.CodeTimeout, kernel.InDoubt, "timed out after 1ms")

	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(time.Millisecond, cancel).Stop()
	o = execute(ctx, time.Now().Add(time.Hour), time.Hour)
	expect(o, ran, kernel.CodeCancelled, o.Facts.Disposition, "interrupted")

	cancel()
	o = execute(ctx, time.Now().Add(-time.Second), time.Hour)
	expect(o, false, kernel.CodeCancelled, kernel.DidNotHappen, "not run: interrupted before it began")
}
