package local_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// troubled is a journal in trouble: trouble looks at the n-th append, from 1,
// and at what came of it.
type troubled struct {
	journal.Journal
	mu      sync.Mutex
	n       int
	trouble func(n int, commit func() error) error
}

func (j *troubled) Append(ctx context.Context, e journal.Entry) error {
	j.mu.Lock()
	j.n++
	n := j.n
	j.mu.Unlock()
	return j.trouble(n, func() error { return j.Journal.Append(ctx, e) })
}

var errFull = &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the disk is full"}

// fullFrom fails every append from the n-th on.
func fullFrom(first int) func(int, func() error) error {
	return func(n int, commit func() error) error {
		if n >= first {
			return errFull
		}
		return commit()
	}
}

func twoLooks(t *testing.T, n *counter) engine.Start {
	t.Helper()
	m := &script{steps: []step{calls(call("a", "look", `{}`)), calls(call("b", "look", `{}`)), says("done")}}
	return engine.Start{Run: "r", Question: "q", Agent: &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}}}
}

// The appends of twoLooks: one begins the run; a turn takes three, the reply,
// the claim (the policy of these tests is asked outside the commit) and the
// result; the last one is the answer.
const appends = 8

// A journal that stays broken ends the run, whenever that begins; its caller
// and its watchers are told that the end is lost, and nothing runs whose claim
// is not stored.
func TestJournalStaysBroken(t *testing.T) {
	for first := 2; first <= appends; first++ {
		var n counter
		j := &troubled{Journal: memory.New(), trouble: fullFrom(first)}
		r, err := open(t, j).Run(t.Context(), twoLooks(t, &n))
		if r != nil || kernel.CodeOf(err) != kernel.CodeLocalStorage {
			t.Fatalf("full from append %d: %+v, %v", first, r, err)
		}
		if want := (first - 1) / 3; n.count() != want {
			t.Errorf("full from append %d: the tool ran %d times, want %d", first, n.count(), want)
		}
	}
	var n counter
	j := &troubled{Journal: memory.New(), trouble: fullFrom(1)}
	if _, err := open(t, j).Run(t.Context(), twoLooks(t, &n)); kernel.CodeOf(err) != kernel.CodeLocalStorage {
		t.Errorf("a run that cannot be journaled began: %v", err)
	}
}

func TestWatchOfALostEnd(t *testing.T) {
	for first := 2; first <= appends; first++ {
		var n counter
		begun := make(chan struct{})
		var watching sync.Once
		j := &troubled{Journal: memory.New(), trouble: func(n int, commit func() error) error {
			if n == 2 {
				<-begun // so that the watcher is there
			}
			return fullFrom(first)(n, commit)
		}}
		e := open(t, j)
		id, err := e.Start(t.Context(), twoLooks(t, &n))
		if err != nil {
			t.Fatal(err)
		}
		var last engine.Update
		var failed error
		for u, err := range e.Watch(t.Context(), id, 0) {
			watching.Do(func() { close(begun) })
			last, failed = u, err
		}
		if last.Outcome != nil || kernel.CodeOf(failed) != kernel.CodeLocalStorage {
			t.Errorf("full from append %d: watched to %+v, %v", first, last, failed)
		}
	}
}

// A journal that fails once gets the run's end, host_error, as the next thing.
func TestJournalFailsOnce(t *testing.T) {
	for bad := 2; bad <= appends; bad++ {
		var n counter
		j := &troubled{Journal: memory.New(), trouble: func(n int, commit func() error) error {
			if n == bad {
				return errFull
			}
			return commit()
		}}
		r, err := open(t, j).Run(t.Context(), twoLooks(t, &n))
		if err != nil {
			t.Fatalf("append %d fails: %v", bad, err)
		}
		if bad < appends {
			wantStop(t, r, kernel.StopHostError, "LOCAL_STORAGE: the disk is full")
		} else {
			wantStop(t, r, kernel.StopAnswered, "") // the answer was there already, and is journaled now
		}
		sameAsStored(t, j, r)
	}
}

// A commit that was done although its report was lost is done: the run goes on,
// and the journal and the caller say the same.
func TestCommitReportLost(t *testing.T) {
	for bad := 1; bad <= appends; bad++ {
		var n counter
		j := &troubled{Journal: memory.New(), trouble: func(n int, commit func() error) error {
			err := commit()
			if n == bad {
				return errFull
			}
			return err
		}}
		r, err := open(t, j).Run(t.Context(), twoLooks(t, &n))
		if err != nil {
			t.Fatalf("the report of append %d is lost: %v", bad, err)
		}
		wantStop(t, r, kernel.StopAnswered, "")
		if n.count() != 2 {
			t.Errorf("the tool ran %d times", n.count())
		}
		sameAsStored(t, j, r)
	}
}

// sameAsStored compares a run with what the journal has of it, but for what the
// journal alone keeps of its head.
func sameAsStored(t *testing.T, j journal.Reader, r *engine.Run) {
	t.Helper()
	stored, err := engine.Load(context.Background(), j, r.Head.Run)
	if err != nil {
		t.Fatalf("the run cannot be read back: %v", err)
	}
	if live, replayed := encode(t, r.State), encode(t, stored.State); live != replayed {
		t.Errorf("replay differs\nlive   %s\nstored %s", live, replayed)
	}
	stateless := cmpopts.IgnoreFields(engine.Run{}, "State") // compared by its encoding
	journals := cmpopts.IgnoreFields(journal.Head{}, "Hash", "Lease", "Pending")
	if diff := cmp.Diff(r, stored, stateless, journals, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-live +stored)\n%s", diff)
	}
}

// A journal that was tampered with does not read back.
func TestDamagedJournal(t *testing.T) {
	var n counter
	good := memory.New()
	r, err := open(t, good).Run(t.Context(), twoLooks(t, &n))
	if err != nil {
		t.Fatal(err)
	}
	records, err := good.Read(t.Context(), r.Head.Run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]journal.Record) []journal.Record{
		"one missing":    func(r []journal.Record) []journal.Record { return append(r[:3:3], r[4:]...) },
		"two swapped":    func(r []journal.Record) []journal.Record { r[2], r[3] = r[3], r[2]; return r },
		"another kind":   func(r []journal.Record) []journal.Record { r[1].Kind = kernel.KindCancelled; return r },
		"no event":       func(r []journal.Record) []journal.Record { r[1].Payload = []byte("{"); return r },
		"a wrong number": func(r []journal.Record) []journal.Record { r[3].Seq = 9; return r },
		"no content":     func(r []journal.Record) []journal.Record { r[0].Content = nil; return r },
		"broken content": func(r []journal.Record) []journal.Record { r[2].Content = []byte("{"); return r },
		"one twice":      func(r []journal.Record) []journal.Record { return append(r[:4:4], r[3:]...) },
		"another's event": func(r []journal.Record) []journal.Record {
			r[3].Payload = r[1].Payload
			r[3].Kind = r[1].Kind
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			replay := engine.NewReplay(r.Head.Run, nil)
			if err := replay.Fold(damage(append([]journal.Record(nil), records...))); kernel.CodeOf(err) != kernel.CodeLocalStorage {
				t.Errorf("read back: %v", err)
			}
		})
	}
}

// An append that failed is not taken for one that landed because another process
// wrote as much in the meantime.
func TestFailedAppendOfALostRun(t *testing.T) {
	var n counter
	under := memory.New()
	j := &troubled{Journal: under}
	j.trouble = func(n int, commit func() error) error {
		if n != 3 { // a decision and the claim
			return commit()
		}
		head, err := under.Head(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().Add(time.Minute)
		lease, err := under.Acquire(t.Context(), "r", "other", now, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := kernel.EncodeEvent(kernel.Resumed{At: kernel.Time(now.UnixNano())})
		if err != nil {
			t.Fatal(err)
		}
		two := []journal.Record{
			{Seq: head.LastSeq + 1, At: now, Kind: kernel.KindResumed, Payload: payload},
			{Seq: head.LastSeq + 2, At: now, Kind: kernel.KindResumed, Payload: payload},
		}
		head.UpdatedAt = now
		if err := under.Append(t.Context(), journal.Entry{Head: head, Records: two, Lease: &lease, Now: now}); err != nil {
			t.Fatal(err)
		}
		return errFull
	}
	if _, err := open(t, j).Run(t.Context(), twoLooks(t, &n)); kernel.CodeOf(err) != kernel.CodeLeaseLost {
		t.Errorf("the run that was lost: %v", err)
	}
	if got := kinds(t, under, "r"); got[len(got)-1] != kernel.KindResumed || n.count() != 0 {
		t.Errorf("recorded %q, ran %d times", got, n.count())
	}
}

// Whenever the journal fails, once or for good, the ledger says of an effect
// what is known of it: nothing that did not begin is in doubt, and what happened
// is not denied.
func TestTroubleAndTheLedger(t *testing.T) {
	for bad := 2; bad <= appends; bad++ {
		for _, mode := range []string{"once", "for good", "report lost"} {
			ran := 0
			pay := probe{name: "pay", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
				ran++
				return tool.Result{Text: "paid"}, nil
			}}
			under := memory.New()
			j := &troubled{Journal: under, trouble: func(n int, commit func() error) error {
				switch {
				case mode == "report lost" && n == bad:
					_ = commit()
					return errFull
				case n == bad, mode == "for good" && n > bad:
					return errFull
				}
				return commit()
			}}
			m := &script{steps: []step{calls(call("a", "pay", `{"n":1}`)), calls(call("b", "pay", `{"n":2}`)), says("done")}}
			agent := &engine.Agent{Model: m, Tools: tools(t, pay), Policy: allowAll{}, Limits: limits(func(*kernel.Limits) {})}
			_, _ = open(t, j).Run(t.Context(), engine.Start{Run: "r", Question: "q", Agent: agent})
			before := ran
			worker := open(t, under, later(11*time.Second), knows(agent))
			work(t, worker)
			r := get(t, worker, "r")
			if r.Outcome == nil {
				t.Fatalf("append %d fails %s: not over", bad, mode)
			}
			sameAsStored(t, under, r)
			states := map[journal.EffectState]int{}
			for _, row := range effects(t, under, journal.EffectQuery{}) {
				states[row.State]++
			}
			if known := states[journal.EffectLanded]; states[journal.EffectRunning] != 0 || states[journal.EffectNone] != 0 ||
				known+states[journal.EffectUnknown] != ran || mode != "for good" && (states[journal.EffectUnknown] != 0 || before != ran) {
				t.Errorf("append %d fails %s: ran %d times, then %d; effects %v; %q", bad, mode, before, ran, states, results(r))
			}
		}
	}
}
