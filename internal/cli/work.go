package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func (a *app) workCommand() *cobra.Command {
	var flags journalFlags
	var once bool
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Drive every run that can go on",
		Long: "Work takes over runs whose process is gone, and goes on with those that waited and have been decided on or are due.\n" +
			"Each goes on with the configuration that it was started with, and keys from the environment. It ends when it is interrupted,\n" +
			"and hands back what it drives.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.work(cmd.Context(), flags, once)
		},
	}
	flags.add(cmd, "the configuration `FILE` that the journal stands beside, and that is compared with (default ./holdfast.yaml)",
		"only runs of the user `NAME`", "only runs of the tenant `NAME`", "one JSON object a line for each run that came to its stop, waits or was left")
	cmd.Flags().BoolVar(&once, "once", false, "end when nothing can go on any more")
	return cmd
}

func (a *app) work(ctx context.Context, flags journalFlags, once bool) error {
	path, err := flags.path(a)
	if err != nil {
		return err
	}
	j, err := a.openJournal(ctx, flags)
	if err != nil {
		return err
	}
	defer a.closer("the journal", j.Close)()
	now := a.present(flags)
	made := &agents{env: a.env, journal: path}
	defer made.release()
	ctx, stop := untilInterrupted(ctx, made.release)
	defer stop()

	w := &worker{app: a, flags: flags, now: now, journal: j, d: newDisplay(a.stdout), differ: map[string][]string{}, watched: map[string]context.CancelFunc{}}
	eng, err := local.New(local.Config{Journal: j, Lease: now.lease(), Agents: func(ctx context.Context, s *engine.Stored) (*engine.Agent, error) {
		agent, own, err := made.of(ctx, s)
		if err == nil && own != nil {
			w.compare(s.Head.Run, own)
		}
		return agent, err
	}})
	if err != nil {
		return err
	}
	defer a.closer("the engine", eng.Close)()
	w.eng = eng
	if !once && !flags.json {
		w.d.printf("work: drives what can go on of %s, until it is interrupted\n", safeLine(path))
	}
	err = w.drive(ctx, once)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return exitError(exitInterrupt)
	case once && !flags.json:
		return w.rest(ctx)
	}
	return nil
}

// present is the configuration as it is now, to compare with. A file that
// cannot be read stops no run: each has its own.
type present struct {
	config *config.Config
	broken error
}

func (a *app) present(flags journalFlags) present {
	c, err := a.readConfig(flags.config)
	if err != nil {
		return present{broken: err}
	}
	_ = c.Complete(a.env) // what is missing shows as a difference
	return present{config: c}
}

func (p *present) lease() time.Duration {
	if p.config == nil {
		return 0
	}
	return p.config.Engine.Lease
}

// worker shows what becomes of the runs that are taken over.
type worker struct {
	app     *app
	flags   journalFlags
	now     present
	journal journal.Reader
	eng     *local.Engine
	d       *display

	mu      sync.Mutex
	differ  map[string][]string           // by run
	watched map[string]context.CancelFunc // by run
	over    bool                          // nothing more is watched
	wg      sync.WaitGroup
}

// drive works until ctx ends or, once, until nothing can go on any more, and
// shows it to the end.
func (w *worker) drive(ctx context.Context, once bool) error {
	rest, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	err := w.eng.Work(ctx, local.Workload{
		Once:  once,
		Only:  func(h journal.Head) bool { return w.flags.who.sees(h.Owner()) },
		Taken: func(h journal.Head) { w.taken(rest, h) },
		Left:  func(h journal.Head, err error) { w.tell(&h, asError(err)) },
	})
	w.eng.Leave() // what has been decided since is taken up by the next one
	w.leaveRunning(rest)
	w.wg.Wait()
	return err
}

// compare notes how the present configuration differs from the run's own.
func (w *worker) compare(run string, own *config.Config) {
	var lines []string
	if w.now.broken != nil {
		lines = []string{"the present configuration cannot be read: " + asError(w.now.broken).Message}
	} else {
		lines = config.Diff(own, w.now.config)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.differ[run] = lines
}

func (w *worker) differences(run string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.differ[run]...)
}

// taken shows a run that is driven here from where it was.
func (w *worker) taken(ctx context.Context, h journal.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.watched[h.Run] != nil { // it waited, and goes on already
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	w.watched[h.Run] = cancel
	w.wg.Go(func() {
		defer cancel()
		w.show(ctx, h)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watched, h.Run)
	})
}

// show prints a run's timeline, each line behind its id, until it stops, waits
// or is let go, and what it came to.
func (w *worker) show(ctx context.Context, h journal.Head) {
	if !w.flags.json {
		run := safeLine(h.Run)
		w.d.printf("%s: taken up: %s\n", run, previewIn(h.Question, maxListed))
		for _, line := range w.differences(h.Run) {
			w.d.printf("%s: goes on with its own configuration; now: %s\n", run, safeLine(line))
		}
	}
	t := watcher{eng: w.eng, run: h.Run, seen: h.LastSeq, see: w.lines(h.Run)}
	for {
		waits, err := t.watch(ctx)
		now, headErr := w.journal.Head(context.WithoutCancel(ctx), h.Run)
		switch {
		case err != nil && ctx.Err() != nil && headErr == nil: // nobody looks any more
			w.tell(&now, nil)
			return
		case waits && headErr == nil && now.State == journal.Running: // decided already
			continue
		case cmp.Or(err, headErr) != nil:
			w.tell(&h, asError(cmp.Or(err, headErr)))
			return
		}
		w.tell(&now, nil)
		return
	}
}

// lines shows the updates of a run, each line behind its id.
func (w *worker) lines(run string) func(engine.Update) {
	d := newDisplay(io.Discard) // for what a timeline remembers of its run
	return func(u engine.Update) {
		if w.flags.json || u.Event == nil {
			return
		}
		for _, line := range d.lines(u) {
			w.d.printf("%s: %s\n", safeLine(run), line)
		}
	}
}

// worked is what work --json prints of a run.
type worked struct {
	head
	Differences []string      `json:"differences"`     // of the present configuration from the run's own
	Error       *kernel.Error `json:"error,omitempty"` // why it was left as it is
}

// tell says where a run is now, and why where it is left.
func (w *worker) tell(h *journal.Head, left *kernel.Error) {
	now := time.Now()
	if w.flags.json {
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = writeJSON(w.app.stdout, worked{newHead(*h, now), append([]string{}, w.differ[h.Run]...), left}) // see output
		return
	}
	run := safeLine(h.Run)
	switch {
	case left != nil:
		w.d.printf("%s: left as it is: %s: %s\n", run, left.Code, safeLine(left.Message))
		if left.Hint != "" {
			w.d.printf("%s:   %s\n", run, safeLine(left.Hint))
		}
	case h.State == journal.Stopped:
		w.d.printf("%s: stop: %s, verified: %s; `holdfast runs show%s %s` shows it\n", run, h.Stop, newHead(*h, now).Verified, w.flags.again(), run)
		w.loose(h)
	case h.State == journal.Waiting:
		w.d.printf("%s: %s; `%s` shows it\n", run, standingOf(h, now), waitShown(h, w.flags.again()))
	case driven(h, now):
		w.d.printf("%s: %s\n", run, standingOf(h, now))
	default:
		w.d.printf("%s: %s; `holdfast work --once%s` goes on with it\n", run, standingOf(h, now), w.flags.again())
	}
}

// loose names the effects of a run that has stopped whose outcome nobody
// knows.
func (w *worker) loose(h *journal.Head) {
	unknown, err := w.journal.Effects(context.Background(), journal.EffectQuery{Run: h.Run, State: journal.EffectUnknown})
	if err != nil {
		return // the run has stopped all the same, and runs show names them
	}
	for i := range unknown {
		id := quoteArgument(unknown[i].ID)
		w.d.printf("%s: effect %s is unknown; `holdfast effects show%s %s` shows it\n", safeLine(h.Run), id, w.flags.again(), id)
	}
}

// rest says what is left when nothing can go on any more.
func (w *worker) rest(ctx context.Context) error {
	line := "work: nothing can go on any more"
	for _, l := range []struct {
		state     journal.State
		one, many string
	}{
		{journal.Waiting, "waits for people, or was left", "wait for people, or were left"},
		{journal.Running, "is driven elsewhere, or was left", "are driven elsewhere, or were left"},
	} {
		heads, err := w.journal.Heads(ctx, journal.Query{State: l.state, User: w.flags.who.user, Tenant: w.flags.who.tenant})
		if err != nil {
			return err
		}
		if n := len(heads); n > 0 {
			line += fmt.Sprintf("; %s %s: holdfast runs ls --state %s%s", counted(int64(n), "run"), pick(n == 1, l.one, l.many), l.state, w.flags.again())
		}
	}
	w.d.printf("%s\n", line)
	return nil
}

// leaveRunning ends the watching of runs that somebody else drives now: they
// may run for long.
func (w *worker) leaveRunning(ctx context.Context) {
	w.mu.Lock()
	w.over = true
	watched := maps.Clone(w.watched)
	w.mu.Unlock()
	for run, cancel := range watched {
		if h, err := w.journal.Head(ctx, run); err != nil || h.State == journal.Running {
			cancel()
		}
	}
}
