package eval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// Repeated trials stand in the order of the file, each with a desk and a run of
// its own.
func TestTrials(t *testing.T) {
	s := only(t, nil, "draft-zh", "own-zh")
	r, err := eval.Run(t.Context(), eval.Config{Suite: s, Model: eval.Scripted, Open: opener(t, nil), Runtime: runtime(t), Trials: 5, Parallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for i, trial := range r.Trials {
		if trial.Task != s.Tasks[i/5].ID || trial.Number != i%5+1 || !trial.Passed || trial.State.DraftsBefore != 0 {
			t.Errorf("%d: %+v", i, trial)
		}
		runs = append(runs, trial.Run)
	}
	slices.Sort(runs)
	if len(slices.Compact(runs)) != 10 || r.Overall.Low >= r.Overall.Rate || r.Setup.Trials != 5 {
		t.Errorf("%d runs, %+v", len(runs), r.Overall)
	}
}

// gated is a model that says when it is first asked, and then waits for the end of its
// context.
type gated struct {
	model.Model
	asked chan struct{}
}

func (m gated) Call(ctx context.Context, _ *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	select {
	case m.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, &model.Error{Kind: kernel.FailAborted, Message: "interrupted"}
}

// What was interrupted is no trial, what was done before stays, and the gate is not met.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s := only(t, nil, "own-zh", "own-en", "own-bob", "draft-zh")
	asked := make(chan struct{}, 1)
	done := make(chan *eval.Report)
	go func() {
		r, err := eval.Run(ctx, eval.Config{Suite: s, Open: opener(t, nil), Runtime: runtime(t), Parallel: 1, Model: func(task *eval.Task) (model.Model, error) {
			m, err := eval.Scripted(task)
			if task.ID == "own-bob" {
				m = gated{m, asked}
			}
			return m, err
		}})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	<-asked
	interrupt()
	r := <-done
	if r.Complete || r.Gate.Met || len(r.Trials) != 2 || r.Overall.Passed != 2 || !slices.Contains(r.Gate.Misses, "the evaluation was interrupted") {
		t.Errorf("complete %v, %d trials, gate %+v", r.Complete, len(r.Trials), r.Gate)
	}
}

// A desk that cannot be opened ends the evaluation with its error; nothing more
// begins.
func TestDeskThatFails(t *testing.T) {
	broken := &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the disk is full"}
	var opened atomic.Int64
	good := opener(t, nil)
	r, err := eval.Run(t.Context(), eval.Config{Suite: builtin(t), Model: eval.Scripted, Runtime: runtime(t), Parallel: 1, Open: func(ctx context.Context) (*eval.Desk, error) {
		if opened.Add(1) > 3 {
			return nil, broken
		}
		return good(ctx)
	}})
	if !errors.Is(err, broken) || len(r.Trials) != 3 || opened.Load() != 4 || r.Gate.Met {
		t.Errorf("%v, %d trials, %d desks", err, len(r.Trials), opened.Load())
	}
}

// A row that is there already is told, by its id.
func TestRowThatIsThere(t *testing.T) {
	s := only(t, func(task *eval.Task) {
		task.Tickets = []eval.Ticket{{ID: "T1002", Subject: "s", Body: "b"}}
	}, "own-zh")
	_, err := eval.Run(t.Context(), eval.Config{Suite: s, Model: eval.Scripted, Open: opener(t, nil), Runtime: runtime(t)})
	if kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("%v", err)
	}
}

func TestConfig(t *testing.T) {
	for _, n := range []int{-1, eval.MaxTrials + 1} {
		if _, err := eval.Run(t.Context(), eval.Config{Suite: builtin(t), Model: eval.Scripted, Open: opener(t, nil), Runtime: runtime(t), Trials: n}); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%d trials: %v", n, err)
		}
	}
	lines := make([]string, eval.MaxRuns/eval.MaxTrials+1)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"%d","kind":"own_ticket","user":"alice","question":"q","steps":[{"text":"x"}],"expect":{}}`, i)
	}
	_, err := eval.Run(t.Context(), eval.Config{Suite: parse(t, strings.Join(lines, "\n")), Model: eval.Scripted, Open: opener(t, nil), Runtime: runtime(t), Trials: eval.MaxTrials})
	if kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("too many runs: %v", err)
	}
	if err := parse(t, `{"id":"a","kind":"own_ticket","user":"alice","question":"q","expect":{}}`).Scriptable(); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("without steps: %v", err)
	}
}
