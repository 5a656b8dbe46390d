package eval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
)

// Config is what an evaluation needs.
type Config struct {
	Suite *Suite // required
	// Model is the model that answers a task; it may be the same for all. Required.
	Model func(t *Task) (model.Model, error)
	// Open makes a desk with the fixtures in it and nothing else, for one trial. Required.
	Open func(ctx context.Context) (*Desk, error)
	// Runtime journals the runs. Required.
	Runtime  *holdfast.Runtime
	Mode     string        // for the report: ModeScript or another name
	Notice   string        // the same
	Versions any           // the same
	Trials   int           // of each task, 1 to MaxTrials; 0: 1
	Parallel int           // trials at once; 0: 4
	Timeout  time.Duration // of one request; 0: that of the engine
}

// ModeScript is the mode in which tasks play their scripts: see Scripted.
const ModeScript = "script"

// The bounds of an evaluation.
const (
	MaxTrials = 1000    // of each task
	MaxRuns   = 100_000 // of all tasks
)

// Run runs all trials and judges them. The end of ctx interrupts it: trials under
// way are cancelled, the report holds those that came to their end, and says that it is not
// complete. An error is CONFIGURATION or INVALID_ARGUMENT, before anything ran, or what kept a
// desk or a journal from being read; the report then holds what there was, or is nil.
func Run(ctx context.Context, c Config) (*Report, error) {
	c.Trials, c.Parallel = cmp.Or(c.Trials, 1), cmp.Or(c.Parallel, 4)
	if c.Trials < 1 || c.Trials > MaxTrials || c.Parallel < 1 {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "each task has from 1 to 1000 trials", Hint: "give another number"}
	}
	if n := c.Trials * len(c.Suite.Tasks); n > MaxRuns {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("%d tasks with %d trials each are more than %d runs", len(c.Suite.Tasks), c.Trials, MaxRuns), Hint: "split the file of tasks, or run fewer trials"}
	}
	r := &Report{Format: Format, Started: time.Now().UTC(), Mode: c.Mode, Notice: c.Notice}
	var err error
	if r.Setup, err = c.setup(); err != nil {
		return nil, err
	}
	trials, err := c.all(ctx)
	for _, t := range trials {
		if t != nil {
			r.Trials = append(r.Trials, *t)
		}
	}
	r.Complete = len(r.Trials) == len(trials)
	r.Finished = time.Now().UTC()
	r.count(c.Suite.Gate)
	return r, err
}

// setup describes what is evaluated, by the agent of the first task.
func (c *Config) setup() (s Setup, err error) {
	first := &c.Suite.Tasks[0]
	m, err := c.Model(first)
	if err != nil {
		return s, err
	}
	agent, err := desk.Agent(m, desk.Services{})
	if err != nil {
		return s, err
	}
	info := m.Info()
	sum := sha256.Sum256([]byte(agent.Instructions))
	s = Setup{
		Model:  ModelFacts{info.Provider, info.Name, info.Profile, info.MaxTokens, info.Scripted},
		Limits: c.limits(),
		Tasks:  TasksFacts{c.Suite.Name, c.Suite.Hash, len(c.Suite.Tasks)}, Trials: c.Trials, Versions: c.Versions,
		Instructions: hex.EncodeToString(sum[:]), Tools: agent.Tools.Digest(),
	}
	if h, ok := agent.Policy.(policy.Hashed); ok {
		s.Policy = h.Hash()
	}
	return s, nil
}

func (c *Config) limits() LimitsFacts {
	l := &c.Suite.Limits
	return LimitsFacts{l.Turns, l.Calls, l.Repeat, l.Deadline.Milliseconds(), cmp.Or(c.Timeout, engine.DefaultRequestTimeout).Milliseconds()}
}

// all runs the trials, so many at once. One that did not come to its end is nil.
// After an error nothing more begins.
func (c *Config) all(ctx context.Context) ([]*Trial, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	trials := make([]*Trial, len(c.Suite.Tasks)*c.Trials)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(c.Parallel, len(trials)) {
		workers.Go(func() {
			for i := range next {
				t, err := c.trial(ctx, &c.Suite.Tasks[i/c.Trials], i%c.Trials+1)
				if err != nil && ctx.Err() == nil {
					stop(err)
				}
				trials[i] = t
			}
		})
	}
	for i := range trials {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return trials, err
	}
	return trials, nil
}
