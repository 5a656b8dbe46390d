package local

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Signal delivers a wish: see engine.Engine.
func (e *Engine) Signal(ctx context.Context, id string, sig engine.Signal) error {
	if sig.ID == "" {
		sig.ID = "sig_" + ulid.Make().String()
	}
	switch sig.Kind {
	case engine.SignalCancel:
		return e.cancel(ctx, id, &sig)
	case engine.SignalApprove, engine.SignalRefuse:
		return e.decide(ctx, id, &sig)
	case engine.SignalResolve:
		return e.resolve(ctx, id, &sig)
	case engine.SignalSay:
		return e.say(ctx, id, &sig)
	case engine.SignalNotice:
		return e.notice(ctx, id, &sig)
	}
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "a signal is cancel, approve, refuse, resolve, say or notice"}
}

// decide counts a vote on a question of that run: whoever may speak to one run
// says nothing to another by that.
func (e *Engine) decide(ctx context.Context, id string, sig *engine.Signal) error {
	a, err := e.journal.Approval(ctx, sig.Approval)
	if err == nil && a.Run != id {
		err = journal.NoApproval(sig.Approval)
	}
	if err != nil {
		return err
	}
	_, err = e.journal.Decide(ctx, journal.Vote{
		ID: sig.ID, Approval: sig.Approval, By: sig.By, Approve: sig.Kind == engine.SignalApprove,
		Reason: kernel.Clip(sig.Reason, 2000), Hash: sig.Hash, At: e.clock.Now().UTC(),
	})
	if err == nil {
		e.wake(ctx, id)
	}
	return err
}

// resolve records what became of an effect of that run.
func (e *Engine) resolve(ctx context.Context, id string, sig *engine.Signal) error {
	row, err := e.journal.Effect(ctx, sig.Effect)
	if err == nil && row.Run != id {
		err = journal.NoEffect(sig.Effect)
	}
	if err != nil {
		return err
	}
	_, err = e.journal.Resolve(ctx, journal.Resolution{
		ID: sig.ID, Effect: sig.Effect, As: sig.As, By: sig.By, Note: sig.Reason,
		Evidence: sig.Evidence, Result: sig.Result, At: e.clock.Now().UTC(),
	})
	if err == nil {
		e.wake(ctx, id)
	}
	return err
}

// cancel ends a run that is driven here at once; its event is the record. Any
// other run is sent the wish.
func (e *Engine) cancel(ctx context.Context, id string, sig *engine.Signal) error {
	if r := e.live(id); r != nil {
		if err := r.signal(sig); kernel.CodeOf(err) != kernel.CodeRunStopped {
			return err
		}
	}
	payload, _ := json.Marshal(wish{Reason: kernel.Clip(sig.Reason, 2000)})
	return e.send(ctx, id, sig, payload)
}

// maxSaid bounds what is said, in bytes.
const maxSaid = 1 << 20

func (e *Engine) say(ctx context.Context, id string, sig *engine.Signal) error {
	if strings.TrimSpace(sig.Text) == "" || !utf8.ValidString(sig.Text) || len(sig.Text) > maxSaid {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "what is said is text of at most 1 MiB, and not blank"}
	}
	payload, err := json.Marshal(wish{Text: sig.Text})
	if err != nil {
		return err
	}
	return e.send(ctx, id, sig, payload)
}

// wish is the payload of a cancel or a say.
type wish struct {
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text,omitempty"`
}

func (e *Engine) send(ctx context.Context, id string, sig *engine.Signal, payload []byte) error {
	_, err := e.journal.Send(ctx, journal.Signal{
		ID: sig.ID, Run: id, Kind: journal.SignalKind(sig.Kind), By: kernel.Clip(sig.By, 200),
		At: e.clock.Now().UTC(), Payload: payload,
	})
	if err == nil {
		e.wake(ctx, id)
	}
	return err
}

// wake lets a run that is driven or parked here look at its signals. It was
// recorded before, so that whatever fails here delays it at most.
func (e *Engine) wake(ctx context.Context, id string) {
	if r := e.live(id); r != nil && r.poke() {
		return
	}
	if !e.mayTakeUp(id) {
		e.nudge()
		return
	}
	if err := e.takeUp(context.WithoutCancel(ctx), id); err != nil {
		e.log.Warn("run not taken up", "run", id, "error", err)
	}
}

// poke lets the run look at its signals. It reports whether the run is still
// driven.
func (r *run) poke() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.goOn(r.listen())
	return true
}

// nudge lets Work look for runs at once, if it is waiting.
func (e *Engine) nudge() {
	select {
	case e.nudged <- struct{}{}:
	default:
	}
}

// listen takes up the signals that wait for the run, and lets go of one that
// nobody can be asked about here any more. A journal that cannot be read is no
// failure of the run: it is looked at again.
func (r *run) listen() work {
	signals, err := r.signals()
	if err != nil {
		r.eng.log.Warn("signals not looked at", "run", r.id, "error", err)
		r.eng.rounds.saw(unseen)
		return work{}
	}
	if w := r.step(func() error { return r.heed(signals) }); w.task != nil || r.closed {
		return w
	}
	if r.mayPark(&r.head, r.eng.clock.Now()) {
		r.release()
	}
	return work{}
}

// hearAnd hears the signals and takes a step. A step that cancels comes before
// whatever others wished, but for what was said.
func (r *run) hearAnd(step func() error) error {
	signals, err := r.signals()
	if err != nil {
		return err
	}
	first := signals
	if r.wished != nil {
		first = said(signals)
	}
	for _, do := range []func() error{func() error { return r.heed(first) }, step, func() error { return r.heed(signals) }} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// heed applies signals that wait for the run. What was said comes first, since
// nothing begins by it, and then a cancel: nothing that others wished begins any
// more.
func (r *run) heed(signals []journal.Signal) error {
	slices.SortStableFunc(signals, func(a, b journal.Signal) int { return urgency(&a) - urgency(&b) })
	for i := range signals {
		if slices.Contains(r.batch.applied, signals[i].Number) {
			continue // earlier in this step
		}
		if err := r.obey(&signals[i]); err != nil {
			return err
		}
	}
	return nil
}

// said are the signals that say something, notices among them.
func said(signals []journal.Signal) []journal.Signal {
	return slices.DeleteFunc(slices.Clone(signals), func(s journal.Signal) bool { return urgency(&s) > 0 })
}

func urgency(s *journal.Signal) int {
	switch s.Kind {
	case journal.SignalSay, journal.SignalNotice:
		return 0
	case journal.SignalCancel:
		return 1
	}
	return 2
}

func (r *run) signals() (s []journal.Signal, err error) {
	defer r.eng.containJournal(&err)
	return r.eng.journal.Signals(context.Background(), r.id)
}

// obey applies one signal. One that says nothing any more, or cannot be read,
// is taken up all the same: nothing is gained by looking at it again.
func (r *run) obey(s *journal.Signal) error {
	event, content, err := r.eventOf(s)
	if err != nil {
		return err
	}
	if event != nil {
		err = r.take(event, content)
		if kernel.CodeOf(err) == kernel.CodeInvalidEvent {
			r.eng.log.Error("signal not usable", "run", r.id, "signal", s.ID, "error", err)
			err = r.distrust(event)
		}
	}
	r.batch.applied = append(r.batch.applied, s.Number)
	return err
}

func (r *run) eventOf(s *journal.Signal) (kernel.Event, engine.Content, error) {
	ctx := context.Background()
	switch s.Kind {
	case journal.SignalCancel:
		var w wish
		says(s, &w) // without a reason it is a cancel too
		return kernel.Cancelled{At: r.now(), By: s.By, Reason: w.Reason}, engine.Content{}, nil
	case journal.SignalSay:
		var w wish
		if !says(s, &w) || w.Text == "" {
			break
		}
		return kernel.UserSaid{At: r.now(), By: s.By, Signal: s.ID, Size: len(w.Text)}, engine.Content{Said: &engine.Said{Text: w.Text}}, nil
	case journal.SignalNotice:
		var n journal.Noticed
		if !says(s, &n) {
			break
		}
		event, content := noticed(r.now(), n.Notice, s.By, n.Text)
		return event, content, nil
	case journal.SignalApprove, journal.SignalRefuse:
		var d journal.Decision
		if !says(s, &d) {
			break
		}
		a, err := r.eng.journal.Approval(ctx, d.Approval)
		if err != nil {
			return nil, engine.Content{}, err
		}
		return engine.Decided(r.now(), &a, &d, s.Kind == journal.SignalApprove), engine.Content{}, nil
	case journal.SignalResolve:
		var d journal.Resolved
		if !says(s, &d) {
			break
		}
		f, err := r.eng.journal.Effect(ctx, d.Effect)
		if err != nil {
			return nil, engine.Content{}, err
		}
		if n := len(f.Resolutions); n > 0 && f.Resolutions[n-1].ID != d.Resolution {
			break // somebody has found out more since, and a later signal says so
		}
		event, content := engine.Resolved(r.now(), &f, &d, s.By)
		return event, content, nil
	}
	return nil, engine.Content{}, nil
}

// says reads what a signal says into v, where it can be read.
func says(s *journal.Signal, v any) bool { return json.Unmarshal(s.Payload, v) == nil }

// distrust refuses the call of an approval whose content is not the call's.
func (r *run) distrust(e kernel.Event) error {
	d, ok := e.(kernel.ApprovalDecided)
	if !ok {
		return nil
	}
	for i := range r.x.State.Batch {
		if c := &r.x.State.Batch[i]; c.Call.ID == d.Call {
			d.Approved, d.Reason, d.Digest = false, "what was approved is not this call", kernel.CallDigest(c.Call)
		}
	}
	return r.take(d, engine.Content{})
}

// askHere asks the agent's own approver. What it says is a vote like any other.
func (r *run) askHere(c kernel.AskHuman) engine.Task {
	return engine.TaskFunc(func(ctx context.Context, instead engine.Report) (kernel.Event, engine.Content) {
		vote, decided := r.x.Ask(ctx, &c, func() { instead(nil, engine.Content{}) })
		if decided {
			if _, err := r.eng.journal.Decide(context.WithoutCancel(ctx), vote); err != nil {
				r.eng.log.Warn("vote not counted", "run", r.id, "approval", vote.Approval, "error", err)
			}
		}
		return nil, engine.Content{}
	})
}

// asking reports whether somebody is being asked here.
func (r *run) asking() bool {
	return slices.ContainsFunc(r.out, func(o order) bool { return o.asks && r.asksAs(o.cmd) })
}

// asksAs reports whether a call waits for the answer to that question.
func (r *run) asksAs(cmd kernel.Seq) bool {
	for i := range r.x.State.Batch {
		if c := &r.x.State.Batch[i]; c.Stage == kernel.StageAsking && c.Cmd == cmd {
			return true
		}
	}
	return false
}
