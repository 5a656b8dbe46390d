package kernel

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// chooser makes the choices of a random walk. A walk is a function of them.
type chooser interface {
	pick(n int) int // 0 <= result < n
}

func oneOf[T any](c chooser, values ...T) T { return values[c.pick(len(values))] }

func pickInt(cond bool, yes, no int) int {
	if cond {
		return yes
	}
	return no
}

func chance(c chooser, percent int) bool { return c.pick(100) < percent }

// bytesChooser reads choices from a fuzzer's input; behind its end all are 0.
type bytesChooser struct{ data []byte }

func (b *bytesChooser) pick(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	v := int(b.data[0])
	b.data = b.data[1:]
	return v % n
}

// recorder notes the choices of another chooser, for a bytesChooser to make
// again.
type recorder struct {
	chooser
	data []byte
}

func (r *recorder) pick(n int) int {
	v := r.chooser.pick(min(n, 256))
	r.data = append(r.data, byte(v))
	return v
}

// walker drives one run by its commands alone: it knows what is out because it
// saw it leave, never from the state.
type walker struct {
	choose  chooser
	hostile bool // also duplicates, late reports, garbage, hostile values
	ids     int  // makes call ids

	now    Time
	spec   Spec
	out    []Command // still owed a report
	past   []Event   // accepted
	ever   []Command // every command
	begun  map[Seq]bool
	timer  Seq // the deadline's
	active bool
	cut    int                    // behind so many events the run is taken over; 0: not
	ledger map[string]Disposition // what the journal has of each effect that was settled
	wishes int                    // what came from outside so far

	notices, attached []string // pending, and those of the latest preparation
	noticed           int      // makes their ids
}

func newWalker(c chooser, hostile bool) *walker {
	w := &walker{choose: c, hostile: hostile, now: scenarioStart, begun: map[Seq]bool{}, ledger: map[string]Disposition{}}
	w.spec = randomSpec(c)
	return w
}

// randomSpec has limits so small that walks meet them.
func randomSpec(c chooser) Spec {
	s := Spec{
		Profile:      oneOf(c, Strict, Tolerant),
		MaxTokens:    oneOf(c, 50, 1, 1_000_000),
		MaxTokensCap: 0,
		Limits: Limits{
			Turns:    1 + c.pick(6),
			Calls:    1 + c.pick(10),
			Deadline: oneOf(c, time.Minute, 5*time.Second, time.Duration(math.MaxInt64)),
			Repeat:   oneOf(c, 0, 2, 3),
			LastTurn: oneOf(c, LastTurnRun, LastTurnReads),
		},
		Retry:    Retry{Attempts: 1 + c.pick(4), PerRun: 1 + c.pick(10), Wait: oneOf(c, 3*time.Second, 0, time.Hour)},
		Verify:   oneOf(c, VerifyNever, VerifyAnswer, VerifyEachTurn),
		Continue: chance(c, 50),
		Unknown:  oneOf(c, UnknownTell, UnknownWait),
	}
	if chance(c, 30) {
		s.MaxTokensCap = s.MaxTokens + c.pick(s.MaxTokens+1)
	}
	s.Observe, s.Shrink = chance(c, 40), chance(c, 70)
	s.SummaryTokens = oneOf(c, 0, 10, 1_000_000)
	if chance(c, 15) {
		s.Limits.Tokens = oneOf[int64](c, 500, 2000, maxLimit)
	}
	if chance(c, 50) {
		s.Price = &Price{oneOf[int64](c, 3, 1_000_000, 1e13), oneOf[int64](c, 7, 5_000_000, 1e13), int64(c.pick(5)), int64(c.pick(2_000_000))}
		s.Limits.Cost = oneOf[int64](c, 0, 0, 3000, maxLimit)
	}
	return s
}

// next is the walk's next event, and false when a fair walk has nothing left
// to report.
func (w *walker) next() (Event, bool) {
	if !w.active {
		return RunStarted{At: w.now, Spec: w.spec}, true
	}
	if len(w.past) == w.cut {
		return Resumed{At: w.now}, true
	}
	if chance(w.choose, 10) {
		w.now += Time(oneOf(w.choose, time.Millisecond, time.Second, time.Second, 10*time.Second))
	}
	if w.hostile && chance(w.choose, pickInt(w.rare(), 20, pickInt(w.delicate(), 4, 1))) {
		return w.interrupt(), true
	}
	if w.hostile && chance(w.choose, 25) {
		return w.garbage(), true
	}
	if (w.hostile || w.wishes < maxWishes) && chance(w.choose, pickInt(w.delicate(), 40, 3)) {
		return w.wish(), true
	}
	if len(w.out) == 0 {
		return nil, false
	}
	return w.report(w.due(), w.hostile), true
}

// due is a command to report about: rarely the deadline's timer, as long as
// there is another, and seldom the end of a question.
func (w *walker) due() Command {
	c := w.out[w.choose.pick(len(w.out))]
	t, ok := c.(SetTimer)
	if ok && (t.Timer == TimerDeadline && chance(w.choose, 95) || t.Timer == TimerApproval && chance(w.choose, 70)) {
		return w.out[len(w.out)-1]
	}
	return c
}

// accepted takes note of an event that the kernel took.
func (w *walker) accepted(e Event, commands []Command) {
	w.active = true
	w.past = append(w.past, e)
	if cmd, reports := reportedCommand(e); reports {
		if _, ok := e.(CallStarted); ok {
			w.begun[cmd] = true
		} else {
			w.drop(cmd)
		}
	}
	w.wished(e)
	for _, c := range commands {
		w.ever = append(w.ever, c)
		switch c := c.(type) {
		case Abort:
			w.abort(c.Cmd)
		case Finish:
			w.out = nil
		case Settle:
			w.ledger[c.Effect] = c.Disposition
		case Commit:
			w.committed(c)
		case CloseApproval:
		case SetTimer:
			if c.Timer == TimerDeadline {
				w.timer = c.Cmd
			}
			w.out = append(w.out, c)
		default:
			w.out = append(w.out, c)
		}
	}
}

// abort forgets what need not report: see the driver's duty 7.
func (w *walker) abort(cmd Seq) {
	for _, c := range w.out {
		if n, _ := commandKey(c); n != cmd {
			continue
		}
		switch c.(type) {
		case CallModel, Summarize, Reconcile:
		default:
			if !w.begun[cmd] {
				w.drop(cmd)
			}
		}
		return
	}
}

func (w *walker) drop(cmd Seq) {
	w.out = slices.DeleteFunc(w.out, func(c Command) bool { n, _ := commandKey(c); return n == cmd })
}

// refused takes note of an event that the kernel did not take. A fair driver
// drops a start that is no longer wanted.
func (w *walker) refused(e Event) {
	if s, ok := e.(CallStarted); ok && !w.begun[s.Cmd] {
		w.drop(s.Cmd)
	}
}

// reportedCommand is the command that an event reports about.
func reportedCommand(e Event) (Seq, bool) {
	switch e := e.(type) {
	case ContextPrepared:
		return e.Cmd, true
	case ContextFailed:
		return e.Cmd, true
	case ContextOver:
		return e.Cmd, true
	case Summarized:
		return e.Cmd, true
	case Observed:
		return e.Cmd, true
	case ModelReplied:
		return e.Cmd, true
	case ModelFailed:
		return e.Cmd, true
	case CallDecided:
		return e.Cmd, true
	case ApprovalDecided:
		return e.Cmd, true
	case CallStarted:
		return e.Cmd, true
	case ClaimRefused:
		return e.Cmd, true
	case CallReturned:
		return e.Cmd, true
	case Reconciled:
		return e.Cmd, true
	case Verified:
		return e.Cmd, true
	case TimerFired:
		return e.Cmd, true
	}
	return 0, false
}

// rare reports whether the run is where walks seldom are: waiting to try a
// request again, or for an aborted command.
func (w *walker) rare() bool {
	return slices.ContainsFunc(w.out, func(c Command) bool { t, ok := c.(SetTimer); return ok && t.Timer == TimerRetry }) ||
		slices.ContainsFunc(w.ever, func(c Command) bool { _, ok := c.(Abort); return ok })
}

// interrupt is what can end a run at any time.
func (w *walker) interrupt() Event {
	deadline := TimerFired{At: w.now, Cmd: w.timer}
	return oneOf[Event](w.choose, Cancelled{At: w.now, By: w.text(), Reason: w.text()}, deadline, HostFailed{At: w.now, Code: CodeInternal, Detail: w.text()})
}

// garbage is what a broken driver, a slow network or an enemy might deliver.
func (w *walker) garbage() Event {
	c := w.choose
	switch c.pick(5) {
	case 0:
		return oneOf[Event](c, RunStarted{At: w.now, Spec: w.spec}, nil)
	case 1: // again
		return w.past[c.pick(len(w.past))]
	case 2: // late, or out of order
		return w.late()
	case 3: // for another command
		e := w.late()
		return withCommand(e, oneOf(c, 0, -1, 1, Seq(1+c.pick(20)), math.MaxInt64))
	}
	now := w.now // by a clock that stepped back
	w.now = oneOf(c, now-Time(time.Hour), Time(math.MinInt64))
	e := w.late()
	w.now = now
	return e
}

// late reports about any command that ever was. The deadline is mostly spared:
// a run that is over has nothing more to show.
func (w *walker) late() Event {
	c := w.ever[w.choose.pick(len(w.ever))]
	if t, ok := c.(SetTimer); ok {
		if t.Timer == TimerDeadline && chance(w.choose, 95) {
			return TimerFired{At: w.now, Cmd: -1}
		}
		return TimerFired{At: w.now, Cmd: t.Cmd}
	}
	return w.report(c, true)
}

// withCommand is e as a report about another command.
func withCommand(e Event, cmd Seq) Event {
	switch e := e.(type) {
	case ContextPrepared:
		e.Cmd = cmd
		return e
	case ContextOver:
		e.Cmd = cmd
		return e
	case Summarized:
		e.Cmd = cmd
		return e
	case Observed:
		e.Cmd = cmd
		return e
	case ModelReplied:
		e.Cmd = cmd
		return e
	case ModelFailed:
		e.Cmd = cmd
		return e
	case CallDecided:
		e.Cmd = cmd
		return e
	case CallStarted:
		e.Cmd = cmd
		return e
	case ClaimRefused:
		e.Cmd = cmd
		return e
	case CallReturned:
		e.Cmd = cmd
		return e
	case Reconciled:
		e.Cmd = cmd
		return e
	case TimerFired:
		e.Cmd = cmd
		return e
	}
	return e
}

func (w *walker) text() string {
	if !w.hostile {
		return "text"
	}
	return oneOf(w.choose, "", "text", "\xff\xfe", "a\nb\x1b[31m\u202e", "汉", fmt.Sprintf("%0600d", 1))
}

func (w *walker) count() int64 {
	if !w.hostile {
		return int64(w.choose.pick(200))
	}
	return oneOf[int64](w.choose, 10, 0, 100, -1, 1<<32, 1<<32+1, math.MaxInt64, math.MinInt64)
}
