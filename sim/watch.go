package sim

import (
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// watch knows what should be so, and looks at each step whether it is.
type watch struct {
	*simulation

	runs      map[string]*shadow
	begun     []*shadow // in order
	ledger    map[string]*row
	claimed   []string // its ids, in order
	questions map[string]*question
	asked     []string        // their ids, in order
	findings  map[string]bool // ids of resolutions
	shown     map[string]bool // notices that a model was shown
	read      map[string]bool // and those whose request was answered
	looked    map[string]bool // calls that an observer was shown, by run and call
	records   int
	compared  int
	stepsBack bool // the clock was set back: who is late cannot know it
	jumps     bool
}

// shadow is a run as its records make it.
type shadow struct {
	plan   *runPlan
	replay *engine.Replay
	head   journal.Head // as it was last appended
	lease  journal.Lease
	seq    int64
	hash   journal.Hash // of the last record
	prior  int          // runs of its session before it

	disturbed bool  // by more than time
	uncertain bool  // it lost what nobody can make up for
	resumed   int64 // the record of the latest take-over
	cancelled bool
	accepted  bool // by the verifier
	paused    time.Duration
	waits     time.Time // since then; zero: it does not
	requests  int
	attempts  map[int]int
	signals   map[string]bool // that became events
	consulted map[string]int  // answers of policy, by call
	said      map[string]kernel.Answer
	classes   map[string]kernel.EffectClass // of calls, as recorded: see record
	tries     map[string]tries              // what has begun of a call
	decided   map[string]*verdict
	account   account
	beside
}

// verdict is the standing of a call with policy and with people.
type verdict struct {
	record  int64 // of the latest CallDecided
	answer  kernel.Answer
	count   int   // of records that policy answered
	granted int64 // the record of the latest yes
	at      kernel.Time
	spent   bool // that yes was spent since policy last answered
}

func newWatch(s *simulation) *watch {
	return &watch{simulation: s, runs: map[string]*shadow{}, ledger: map[string]*row{}, questions: map[string]*question{}, findings: map[string]bool{},
		shown: map[string]bool{}, read: map[string]bool{}, looked: map[string]bool{}}
}

// disturbed takes note that runs of a process met a fault.
func (w *watch) disturbed(p *process) {
	for _, r := range w.begun {
		if r.lease.Owner == p.name {
			r.disturbed = true
		}
	}
}

func (w *watch) jumped(by time.Duration) {
	w.jumps = true
	w.stepsBack = w.stepsBack || by < 0
	for _, r := range w.begun {
		r.disturbed = r.disturbed || r.head.State != journal.Stopped
	}
}

// appended looks at an append, which was begun at that instant and came to err.
func (w *watch) appended(p *process, e *journal.Entry, begun time.Time, err error) {
	r := w.runs[e.Head.Run]
	if !w.planned(e) {
		return
	}
	w.checkClaim(e, err)
	if err != nil {
		w.tracef(p, "append to %s: %v", e.Head.Run, err)
		w.seen["append "+string(kernel.CodeOf(err))]++
		return
	}
	if r == nil {
		r = w.begin(e)
	}
	w.checkLease(p, r, e)
	w.passTime(r, e)
	w.takeQuestions(p, r, e)
	w.takeEffects(r, e)
	for i := range e.Records {
		w.takeRecord(p, r, e, i, begun)
	}
	w.checkNotices(r)
	w.checkHead(r, e)
	r.head = e.Head
}

// planned looks that an entry is about calls that were admitted.
func (w *watch) planned(e *journal.Entry) bool {
	calls := make([]string, 0, 4)
	for i := range e.Asked {
		calls = append(calls, e.Asked[i].Call)
	}
	if e.Claim != nil {
		calls = append(calls, e.Claim.Call)
	}
	for _, id := range calls {
		if w.plan.run(e.Head.Run).call(id) == nil {
			w.failf("I1", "%s begins call %s, which was not admitted", e.Head.Run, id)
			return false
		}
	}
	return true
}

func (w *watch) begin(e *journal.Entry) *shadow {
	plan := w.plan.run(e.Head.Run)
	r := &shadow{
		plan: plan, replay: engine.NewReplay(plan.id, nil), hash: journal.Origin(&e.Head),
		attempts: map[int]int{}, signals: map[string]bool{}, consulted: map[string]int{}, said: map[string]kernel.Answer{},
		decided: map[string]*verdict{}, classes: map[string]kernel.EffectClass{}, tries: map[string]tries{},
	}
	for _, other := range w.begun {
		if !other.sameSession(plan) {
			continue
		}
		r.prior++
		w.seen["run of an old session"]++
		if other.head.State != journal.Stopped {
			w.failf("session", "%s begins while %s of the same session is %s", plan.id, other.plan.id, other.head.State)
		}
	}
	if h := &e.Head; h.Tenant != plan.tenant || h.User != plan.user || h.Session != plan.session {
		w.failf("I15", "%s belongs to %s/%s/%s, not to %s/%s/%s", plan.id, h.Tenant, h.User, h.Session, plan.tenant, plan.user, plan.session)
	}
	w.runs[plan.id] = r
	w.begun = append(w.begun, r)
	return r
}

func (r *shadow) sameSession(plan *runPlan) bool {
	return r.plan != plan && r.plan.session == plan.session && r.plan.tenant == plan.tenant && r.plan.user == plan.user
}

// passTime counts how long the run has waited for people: from the event that
// made it wait to the next one.
func (w *watch) passTime(r *shadow, e *journal.Entry) {
	if !r.waits.IsZero() {
		r.paused += max(0, e.Records[0].At.Sub(r.waits))
		r.waits = time.Time{}
	}
	if e.Head.State == journal.Waiting {
		r.waits = e.Records[len(e.Records)-1].At
	}
}

// checkHead compares the head, which the driver made of its own state, with the
// state that the records give.
func (w *watch) checkHead(r *shadow, e *journal.Entry) {
	s, h := &r.replay.State, &e.Head
	wait, waits := s.Waiting()
	state := journal.Running
	switch {
	case s.Outcome != nil:
		state = journal.Stopped
	case waits:
		state = journal.Waiting
	}
	if due := w.due(r); waits && !due.IsZero() && (h.Due.IsZero() || h.Due.After(due)) {
		w.failf("I7", "%s waits until %s, and its questions expire at %s", r.plan.id, h.Due, due)
	}
	if h.State != state || h.Turns != s.Turn || h.WaitingFor != string(wait.For) {
		w.failf("replay", "%s is %s at turn %d (%s) for its driver, and %s at turn %d (%s) by its records", r.plan.id, h.State, h.Turns, h.WaitingFor, state, s.Turn, wait.For)
	}
	if state == journal.Stopped {
		w.stopped(r)
	}
	stored, err := w.base.Head(background(), r.plan.id)
	if err != nil || stored.LastSeq != r.seq || stored.State != h.State {
		w.failf("records", "%s has %d records and is %s, not %d and %s (%v)", r.plan.id, stored.LastSeq, stored.State, r.seq, h.State, err)
	}
}

// due is when the first open question of a run expires; zero: none does.
func (w *watch) due(r *shadow) (due time.Time) {
	for _, id := range w.asked {
		q := w.questions[id]
		if q.Run == r.plan.id && q.state == journal.ApprovalOpen && !q.Expires.IsZero() && (due.IsZero() || q.Expires.Before(due)) {
			due = q.Expires
		}
	}
	return due
}

// checkLease keeps the leases a second time.
func (w *watch) checkLease(p *process, r *shadow, e *journal.Entry) {
	given := e.Lease
	switch {
	case given == nil:
		w.failf("lease", "%s is driven without a lease", r.plan.id)
		return
	case r.seq == 0:
		r.lease = journal.Lease{Owner: p.name, Token: 1}
	case r.lease.Owner != p.name || r.lease.Token != given.Token:
		w.failf("lease", "%s appends to %s under token %d; %q holds it with token %d", p.name, r.plan.id, given.Token, r.lease.Owner, r.lease.Token)
	}
	r.lease.Until = given.Until
	if e.Release {
		r.lease = r.lease.Free()
	}
}

func (w *watch) acquired(p *process, run string, now time.Time, l journal.Lease, err error) {
	r := w.runs[run]
	if err != nil || r == nil {
		return
	}
	other := r.lease.Owner != "" && r.lease.Owner != p.name
	switch {
	case r.head.State == journal.Stopped:
		w.failf("I4", "%s takes %s over, which has stopped", p.name, run)
	case other && now.Before(r.lease.Until):
		w.failf("lease", "%s takes %s over at %s, which %s holds until %s", p.name, run, now, r.lease.Owner, r.lease.Until)
	case l.Token != r.lease.Token+1 && l.Token != r.lease.Token, l.Token == r.lease.Token && r.lease.Owner != p.name:
		w.failf("lease", "%s takes %s over from token %d with token %d", p.name, run, r.lease.Token, l.Token)
	}
	w.tracef(p, "takes up %s, token %d", run, l.Token)
	r.lease = l
}

func (w *watch) renewed(p *process, runs, lost []string, until time.Time) {
	for _, id := range runs {
		r := w.runs[id]
		if r == nil {
			continue
		}
		gone := false
		for _, l := range lost {
			gone = gone || l == id
		}
		if mine := r.lease.Owner == p.name; mine == gone {
			w.failf("lease", "%s renews %s, which %q holds: lost %t", p.name, id, r.lease.Owner, gone)
		} else if mine {
			r.lease.Until = until
		}
	}
}

func (w *watch) released(run string, l journal.Lease) {
	if r := w.runs[run]; r != nil && r.lease.Is(l) {
		r.lease = r.lease.Free()
	}
}

// policySaid takes note of a real answer of policy.
func (w *watch) policySaid(r *policy.Request, answer kernel.Answer) {
	if s := w.runs[r.Run]; s != nil {
		s.consulted[r.Call]++
		s.said[r.Call] = answer
	}
}

func (w *watch) accepted(r *runPlan) {
	if s := w.runs[r.id]; s != nil {
		s.accepted = true
	}
}
