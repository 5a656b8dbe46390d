package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// end is what is there of a run, in the journal and outside.
type end struct {
	run       *engine.Run
	head      place
	ledger    []journal.Effect
	approvals []journal.Approval
	flaw      *journal.Flaw
	outside   map[string][]string // keys of the effects, by tool, and calls, by hook
	noticed   []string            // notices that were taken up, by id
	waiting   int                 // notices that no model has seen
}

// place is where a run's record ends.
type place struct {
	seq  int64
	hash journal.Hash
}

func open(t *testing.T, dir string) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(t.Context(), file(dir), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// read looks at a run; nil when there is none.
func read(t *testing.T, dir string) *end {
	t.Helper()
	j := open(t, dir)
	defer func() { _ = j.Close() }()
	r, err := engine.Load(context.Background(), j, run)
	if kernel.CodeOf(err) == kernel.CodeNotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	e := &end{run: r, head: place{r.Head.LastSeq, r.Head.Hash}, outside: map[string][]string{}}
	if e.ledger, err = j.Effects(t.Context(), journal.EffectQuery{}); err != nil {
		t.Fatal(err)
	}
	if e.approvals, err = j.Approvals(t.Context(), journal.ApprovalQuery{}); err != nil {
		t.Fatal(err)
	}
	report, err := journal.VerifyAll(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.flaw = report.Flaw
	records, err := j.Read(t.Context(), run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if event, err := kernel.DecodeEvent(records[i].Payload); err == nil && event.Kind() == kernel.KindNoticed {
			e.noticed = append(e.noticed, event.(kernel.Noticed).Notice)
		}
	}
	waiting, err := j.Notices(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	e.waiting = len(waiting)
	for _, name := range []string{look, put, move, charge, checked, seen} {
		e.outside[name] = happened(dir, name)
	}
	return e
}

// effects is what happened outside and is no read, in short.
func (e *end) effects() string {
	return fmt.Sprintf("put %q, move %q, charge %q", e.outside[put], e.outside[move], e.outside[charge])
}

// results are what the model was told of each call.
func (e *end) results() map[string]string {
	out := map[string]string{}
	for _, m := range e.run.History {
		for _, b := range m.Blocks {
			if b.Kind == kernel.BlockResult {
				out[b.CallID] = b.Text
			}
		}
	}
	return out
}

// wantSound holds for every run that has stopped, however often it was killed.
func (e *end) wantSound(t *testing.T) {
	t.Helper()
	if e.run.Outcome == nil || e.run.Head.State != journal.Stopped || e.run.Head.Lease.Owner != "" || e.run.Head.Pending != 0 {
		t.Fatalf("not over: %+v, %s", e.run.Head, kernel.DescribeState(e.run.State))
	}
	if e.flaw != nil {
		t.Errorf("the journal does not verify: %s", e.flaw)
	}
	messages := make([]model.Message, len(e.run.History))
	for i := range e.run.History {
		messages[i].Message = &e.run.History[i]
	}
	if _, err := accept(messages); err != nil {
		t.Errorf("a history that nobody accepts: %v", err)
	}
	e.wantOnce(t)
	e.wantLedger(t)
	e.wantLooks(t)
	e.wantNotices(t)
	for _, a := range e.approvals {
		if a.State == journal.ApprovalOpen || a.State == journal.ApprovalApproved || a.Hash != a.ContentHash() {
			t.Errorf("approval %+v", a)
		}
	}
	if n := len(e.outside[charge]); n > 0 && !slices.ContainsFunc(e.approvals, func(a journal.Approval) bool { return a.State == journal.ApprovalSpent }) {
		t.Errorf("charged %d times without an approval", n)
	}
}

// wantOnce holds the counters outside to what each class promises.
func (e *end) wantOnce(t *testing.T) {
	t.Helper()
	for _, name := range []string{move, charge} {
		if n := len(e.outside[name]); n > 1 {
			t.Errorf("%s happened %d times", name, n)
		}
	}
	if keys := slices.Compact(slices.Sorted(slices.Values(e.outside[put]))); len(keys) > 1 {
		t.Errorf("%s was done under the keys %q", put, keys)
	}
}

// wantLooks holds what hooks saw to what happened: nothing runs that no
// before-hook saw, and no answered run has a call that no after-hook saw.
func (e *end) wantLooks(t *testing.T) {
	t.Helper()
	for _, call := range []string{look, put, move, charge} {
		if len(e.outside[call]) > 0 && !slices.Contains(e.outside[checked], call) {
			t.Errorf("%s ran, and the hook before it did not see it", call)
		}
		if e.run.Outcome.Stop == kernel.StopAnswered && !slices.Contains(e.outside[seen], call) {
			t.Errorf("the hook behind %s did not see it", call)
		}
	}
}

// wantNotices holds notices to their promise: each is taken up once, and waits
// no more in the end, unless the run had no request left for it.
func (e *end) wantNotices(t *testing.T) {
	t.Helper()
	if ids := slices.Sorted(slices.Values(e.noticed)); !slices.Contains(ids, "before") || len(slices.Compact(ids)) != len(e.noticed) {
		t.Errorf("notices %q", e.noticed)
	}
	if e.run.Outcome.Stop == kernel.StopAnswered && e.waiting > 0 {
		t.Errorf("%d notices wait in the end", e.waiting)
	}
}

// wantLedger holds the ledger to what happened outside.
func (e *end) wantLedger(t *testing.T) {
	t.Helper()
	for _, row := range e.ledger {
		n := len(e.outside[row.Tool])
		switch {
		case row.State == journal.EffectRunning,
			row.State == journal.EffectLanded && n == 0,
			row.State == journal.EffectNone && n != 0:
			t.Errorf("%s happened %d times, and the ledger says %s", row.Tool, n, row.State)
		}
	}
	for name, keys := range e.outside {
		known := slices.ContainsFunc(e.ledger, func(row journal.Effect) bool { return row.Tool == name })
		if name != look && name != checked && name != seen && len(keys) > 0 && !known {
			t.Errorf("%s happened without a claim", name)
		}
	}
}

// wantAs compares a run that was recovered from cut with the undisturbed one:
// only a call of the class once that had begun may have come to something else.
func (e *end) wantAs(t *testing.T, base, cut *end) {
	t.Helper()
	lost := cut.running(charge)
	want, got := base.results(), e.results()
	for id, text := range want {
		if id == charge && lost {
			text = "Interrupted, may have taken effect"
		}
		if !strings.HasPrefix(got[id], text) {
			t.Errorf("%s came to %q, want %q", id, got[id], text)
		}
	}
	a, b := base.run.Outcome, e.run.Outcome
	if a.Stop != b.Stop || a.Turns != b.Turns || a.Calls != b.Calls || base.run.Answer != e.run.Answer {
		t.Errorf("outcome %+v, %q\nwant %+v, %q", b, e.run.Answer, a, base.run.Answer)
	}
	if more := b.Requests - a.Requests; more < 0 || more > 1 || more == 1 && cut.run.State.Phase != kernel.PhaseRequesting {
		t.Errorf("%d requests, want %d", b.Requests, a.Requests)
	}
	if len(e.approvals) != 1 {
		t.Errorf("%d approvals", len(e.approvals))
	}
	for _, row := range e.ledger {
		if unknown := row.State == journal.EffectUnknown; unknown != (row.Tool == charge && lost) {
			t.Errorf("%s: the ledger says %s", row.Tool, row.State)
		}
	}
	if !lost && len(e.outside[charge]) != 1 {
		t.Errorf("charged %d times", len(e.outside[charge]))
	}
}

// running reports whether a call had begun, and what became of it was not
// recorded.
func (e *end) running(name string) bool {
	return slices.ContainsFunc(e.run.State.Batch, func(c kernel.CallState) bool {
		return c.Call.Name == name && c.Stage == kernel.StageRunning
	})
}
