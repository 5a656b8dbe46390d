package kernel

import "time"

// Command is an order that leaves the kernel. The set is closed.
type Command interface {
	command()
}

// PrepareContext asks for the next request. Report: ContextPrepared,
// ContextFailed or ContextOver.
type PrepareContext struct {
	Cmd  Seq `json:"cmd"`
	Turn int `json:"turn"`
	// Shrink says that the provider refused the turn's request as too long: a
	// smaller one is wanted.
	Shrink bool `json:"shrink,omitempty"`
	// Tries is how many summaries were asked for in this turn. The text of the
	// latest is the content of its Summarized, unless that failed or was lost.
	Tries int `json:"tries,omitempty"`
}

// Summarize asks the model, in a request of its own, for a summary of the part
// of the history that the latest ContextOver is about. Report: Summarized.
type Summarize struct {
	Cmd       Seq `json:"cmd"`
	Turn      int `json:"turn"`       // that is prepared
	MaxTokens int `json:"max_tokens"` // of output
}

// CallModel sends the prepared request. Report: ModelReplied or ModelFailed.
type CallModel struct {
	Cmd       Seq `json:"cmd"`
	Turn      int `json:"turn"`
	Attempt   int `json:"attempt"` // 1 for the first
	MaxTokens int `json:"max_tokens"`
}

// DecideCall asks schema, hooks and policy about an admitted call. Report:
// CallDecided.
type DecideCall struct {
	Cmd  Seq  `json:"cmd"`
	Turn int  `json:"turn"`
	Call Call `json:"call"`
}

// AskHuman asks people about a call. The question is stored, in the
// transaction of the event that caused it, before anyone sees it. Report:
// ApprovalDecided with the same digest. Its end in time is a timer of its own.
type AskHuman struct {
	Cmd       Seq         `json:"cmd"`
	Call      Call        `json:"call"`
	Effect    EffectClass `json:"effect"`
	Reason    string      `json:"reason,omitempty"`
	Digest    string      `json:"digest"`            // of tool and exact arguments
	Expires   Time        `json:"expires,omitempty"` // 0: never
	Approvers Approvers   `json:"approvers"`
	Escalated bool        `json:"escalated,omitempty"` // Approvers.Escalate are asked
}

// CloseAs says why an approval is closed without a person's no.
type CloseAs string

// The reasons.
const (
	CloseExpired   CloseAs = "expired"   // nobody decided in time
	CloseWithdrawn CloseAs = "withdrawn" // the call is not wanted any more
	CloseLapsed    CloseAs = "lapsed"    // granted, and not used in time
)

// CloseApproval closes the question that an AskHuman asked, in the transaction
// of the event that caused it. It needs no report.
type CloseApproval struct {
	Cmd Seq     `json:"cmd"` // of the AskHuman
	As  CloseAs `json:"as"`
}

// Settle gives the ledger what became of a claim, in the transaction of the
// event that caused it, whose content is the result that is stored where the effect landed. It
// needs no report.
type Settle struct {
	Effect      string      `json:"effect"`
	Call        string      `json:"call"`
	Disposition Disposition `json:"disposition"`
	// Result describes what is stored where the effect landed.
	Result *ResultFacts `json:"result,omitempty"`
}

// Reconcile asks the tool whether an effect is there. Report: Reconciled.
type Reconcile struct {
	Cmd    Seq    `json:"cmd"`
	Turn   int    `json:"turn"`
	Call   Call   `json:"call"`
	Key    string `json:"key,omitempty"` // as in RunTool
	Effect string `json:"effect,omitempty"`
}

// AwaitResolution says that a call waits for somebody to find out what became of
// it. Report: EffectResolved.
type AwaitResolution struct {
	Cmd    Seq    `json:"cmd"`
	Call   Call   `json:"call"`
	Effect string `json:"effect,omitempty"`
}

// RunTool runs a call. Report: CallStarted, then CallReturned; or ClaimRefused
// alone, when the ledger does not give the claim.
type RunTool struct {
	Cmd     Seq         `json:"cmd"`
	Turn    int         `json:"turn"`
	Call    Call        `json:"call"`
	Attempt int         `json:"attempt"`
	Effect  EffectClass `json:"effect"`
	// Key is the tool's business key, and empty where it declares none: the
	// host's own key is then the run and the call.
	Key string `json:"key,omitempty"`
	// Approval is the AskHuman whose yes lets it run; it is spent with the
	// start. 0: nobody had to be asked, or it is spent by an earlier attempt.
	Approval Seq `json:"approval,omitempty"`
}

// Observe shows a call to the observers, once its answer, the latest message of
// the history, is committed. Report: Observed.
type Observe struct {
	Cmd  Seq  `json:"cmd"`
	Turn int  `json:"turn"`
	Call Call `json:"call"`
}

// Verify asks the verifier. Report: Verified.
type Verify struct {
	Cmd Seq `json:"cmd"`
	// Final is false for the look after each turn's results.
	Final bool `json:"final"`
}

// TimerKind says what a timer is for.
type TimerKind string

// The timers.
const (
	TimerDeadline TimerKind = "deadline"
	TimerRetry    TimerKind = "retry"
	TimerTool     TimerKind = "tool_retry"
	TimerApproval TimerKind = "approval" // an approval expires
)

// SetTimer asks for a TimerFired at an instant.
type SetTimer struct {
	Cmd   Seq           `json:"cmd"`
	Timer TimerKind     `json:"timer"`
	At    Time          `json:"at"`
	After time.Duration `json:"after"` // the same span, for display
}

// Abort ends an outstanding command early. A model request (CallModel or
// Summarize), a started tool and a lookup still report; anything else is
// forgotten.
type Abort struct {
	Cmd Seq `json:"cmd"`
}

// CommitKind says what enters the canonical history.
type CommitKind string

// The commits.
const (
	CommitQuestion CommitKind = "question" // the content of RunStarted
	CommitReply    CommitKind = "reply"    // the content of ModelReplied, with Calls as admitted
	CommitResult   CommitKind = "result"   // the answer to Call
	CommitFinding  CommitKind = "finding"  // a verifier's finding, as the host's message
	CommitSaid     CommitKind = "said"     // the content of the oldest UserSaid that has not entered yet
	// CommitCompaction replaces a part of the history by what the content of
	// ContextPrepared says.
	CommitCompaction CommitKind = "compaction"
)

// Commit changes the canonical history: by one message more, or by a
// compaction. It needs no report.
type Commit struct {
	What  CommitKind `json:"what"`
	Calls []Call     `json:"calls,omitempty"` // reply: in block order, arguments valid JSON objects
	Call  string     `json:"call,omitempty"`  // result: the call's id
	// Text is the message where the kernel wrote it: the answer to a call that
	// did not run, a finding. Empty for a result: the content of the event,
	// which is a CallReturned, a ClaimRefused with a stored result, a Reconciled
	// or an EffectResolved.
	Text    string `json:"text,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
	Code    Code   `json:"code,omitempty"` // result: of a call that did not run for what is wrong with it
}

// Finish ends the run. Nothing follows it.
type Finish struct {
	Outcome Outcome `json:"outcome"`
}

func (PrepareContext) command()  {}
func (Summarize) command()       {}
func (Observe) command()         {}
func (CallModel) command()       {}
func (DecideCall) command()      {}
func (AskHuman) command()        {}
func (CloseApproval) command()   {}
func (Settle) command()          {}
func (Reconcile) command()       {}
func (AwaitResolution) command() {}
func (RunTool) command()         {}
func (Verify) command()          {}
func (SetTimer) command()        {}
func (Abort) command()           {}
func (Commit) command()          {}
func (Finish) command()          {}
