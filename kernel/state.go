package kernel

import "time"

// Phase says what a run is doing.
type Phase string

// The phases; docs/architecture.md draws them.
const (
	PhaseNew         Phase = ""            // before RunStarted
	PhasePreparing   Phase = "preparing"   // a PrepareContext is out
	PhaseSummarizing Phase = "summarizing" // a Summarize is out
	PhaseRequesting  Phase = "requesting"  // a CallModel is out
	PhaseBackingOff  Phase = "backing_off" // a retry timer is out
	PhaseActing      Phase = "acting"      // calls of the turn are decided, asked about and run
	PhaseVerifying   Phase = "verifying"   // a Verify is out
	PhaseDraining    Phase = "draining"    // the stop is known; an aborted command still has to report
	PhaseStopped     Phase = "stopped"     // nothing follows
)

// State is a run between two events. It is a value: Step returns a new one and
// never changes what an old one refers to. Fields are for reading; only Step
// makes states. The zero value is a run that has not started.
//
// Invariants: 0 <= Turn <= Spec.Limits.Turns; 0 <= Calls <= Spec.Limits.Calls;
// Attempt <= Spec.Retry.Attempts; Requests <= Spec.Retry.PerRun; Waited <=
// Spec.Retry.Wait; 0 <= Cursor <= len(Batch); every call before Cursor was
// answered with one Commit, and no call behind it was; Observing is 0 unless the
// call before Cursor was answered just now; Tries <= 2; Notices are at most
// MaxNotices different ids, and Attached are some of them.
type State struct {
	Phase    Phase `json:"phase"`
	Spec     Spec  `json:"spec"`
	Started  Time  `json:"started"`
	Deadline Time  `json:"deadline"`
	Now      Time  `json:"now"` // of the latest event
	LastCmd  Seq   `json:"last_cmd"`
	// Awaiting is the one command that the phase waits for: a preparation, a
	// model request, a retry timer or a verification. 0: none.
	Awaiting Seq `json:"awaiting,omitempty"`
	// Summarizing says that Awaiting is a Summarize.
	Summarizing   bool `json:"summarizing,omitempty"`
	Due           Time `json:"due,omitempty"`            // of the retry timer
	DeadlineTimer Seq  `json:"deadline_timer,omitempty"` // 0: it went off, or time stands still
	// Paused says that the run waits for people alone: since PausedAt its time
	// stands still, and Deadline moves on when it ends.
	Paused   bool `json:"paused,omitempty"`
	PausedAt Time `json:"paused_at,omitempty"`
	Resumes  int  `json:"resumes,omitempty"` // how often a driver took it over

	Turn  int `json:"turn"`  // logical requests sent
	Calls int `json:"calls"` // admitted calls

	// The request of the current turn, and what recovery has spent.
	InputTokens int64         `json:"input_tokens"`
	MaxTokens   int           `json:"max_tokens"`
	Attempt     int           `json:"attempt"`
	Expanded    bool          `json:"expanded,omitempty"`
	Requests    int           `json:"requests"`
	Waited      time.Duration `json:"waited"`
	Budget      Budget        `json:"budget"`
	Shrunk      bool          `json:"shrunk,omitempty"` // a smaller request was asked for in this turn
	Tries       int           `json:"tries,omitempty"`  // summaries asked for in this turn

	// The notices that no model has seen for sure, oldest first, and those of
	// them that go with the request of the current turn.
	Notices  []string `json:"notices,omitempty"`
	Attached []string `json:"attached,omitempty"`

	// The calls of the current turn, in order.
	Batch  []CallState `json:"batch,omitempty"`
	Cursor int         `json:"cursor,omitempty"` // first call that is not answered
	Fatal  string      `json:"fatal,omitempty"`  // the call that failed for good
	// Observing is the Observe that is out for the call before Cursor. 0: none.
	Observing Seq `json:"observing,omitempty"`

	Observations int             `json:"observations"` // tool results so far
	IDs          index[struct{}] `json:"ids"`          // call ids of the run
	Repeat       repeatWatch     `json:"repeat"`
	Said         int             `json:"said,omitempty"` // messages of the user that did not enter the history yet

	// Answering says that a final answer is committed and awaits its verdict.
	Answering bool `json:"answering,omitempty"`
	// Judged says that Verdict speaks of everything that was committed.
	Judged   bool     `json:"judged,omitempty"`
	Verdict  Verdict  `json:"verdict,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Finding  string   `json:"finding,omitempty"`

	Ending   Ending   `json:"ending"`
	Hurry    bool     `json:"hurry,omitempty"` // cancelled while it was ending: nothing is verified any more
	Warnings []string `json:"warnings,omitempty"`
	LastGood Link     `json:"last_good,omitempty"`
	FirstBad Link     `json:"first_bad,omitempty"`
	// The same two after the calls of the latest turn that had any.
	CallGood Link     `json:"call_good,omitempty"`
	CallBad  Link     `json:"call_bad,omitempty"`
	Outcome  *Outcome `json:"outcome,omitempty"` // when stopped
}

// Ending is a stop that was decided. The zero value is none.
type Ending struct {
	Stop   Stop   `json:"stop,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Stage says where a call is.
type Stage string

// The stages. A call leaves them in this order, some left out.
const (
	StageDeciding Stage = "deciding" // a DecideCall is out
	StageAsking   Stage = "asking"   // an AskHuman is out
	StageReady    Stage = "ready"    // may run when its turn comes
	StageStarting Stage = "starting" // a RunTool is out; nothing has begun
	StageRunning  Stage = "running"  // begun
	StageRetrying Stage = "retrying" // waits to be tried again
	// The next two: after a crash, or where the outcome is unknown.

	StageReconciling Stage = "reconciling" // a Reconcile is out
	StageUnresolved  Stage = "unresolved"  // waits until someone finds out what became of it
	StageAnswered    Stage = "answered"    // its answer is known
)

// CallState is an admitted call on its way.
type CallState struct {
	Call     Call        `json:"call"`
	Action   key128      `json:"action"` // of tool and canonical arguments
	Stage    Stage       `json:"stage"`
	Cmd      Seq         `json:"cmd,omitempty"` // the command that is out for it
	Effect   EffectClass `json:"effect,omitempty"`
	Attempts int         `json:"attempts,omitempty"` // allowed
	Attempt  int         `json:"attempt,omitempty"`  // begun
	Keyed    bool        `json:"keyed,omitempty"`
	Key      string      `json:"key,omitempty"`
	Decided  int         `json:"decided,omitempty"` // State.Resumes when policy last answered

	// How people are asked, and what they said. Asked is the AskHuman.
	Reason    string  `json:"reason,omitempty"`
	Asking    *Asking `json:"asking,omitempty"`
	Asked     Seq     `json:"asked,omitempty"`
	Expires   Time    `json:"expires,omitempty"` // 0: never
	Timer     Seq     `json:"timer,omitempty"`   // that fires then
	Escalated bool    `json:"escalated,omitempty"`
	Approved  bool    `json:"approved,omitempty"` // and not yet spent
	GrantedAt Time    `json:"granted_at,omitempty"`

	Ledger      string `json:"ledger,omitempty"`      // its latest claim; empty: none
	Interrupted int    `json:"interrupted,omitempty"` // how often its run was lost
	Due         Time   `json:"due,omitempty"`         // of its timer, while it retries

	// Tried is the gravest of what attempts left behind that failed or were cut
	// short; empty: there was none.
	Tried Disposition `json:"tried,omitempty"`
	// Text answers a call that gave no result.
	Text string `json:"text,omitempty"`
	Bad  Link   `json:"bad,omitempty"`  // the link that kept it from running
	Code Code   `json:"code,omitempty"` // what is wrong with the call itself
}

// begun reports whether something of the call is under way outside.
func (c *CallState) begun() bool { return c.Stage == StageRunning || c.Stage == StageReconciling }

// maxWarnings bounds the warnings of a run.
const maxWarnings = 32

func (m *machine) warn(texts ...string) {
	for _, t := range texts {
		if t == "" || len(m.Warnings) == maxWarnings {
			continue
		}
		m.Warnings = append(m.Warnings[:len(m.Warnings):len(m.Warnings)], Clip(t, 500))
	}
}
