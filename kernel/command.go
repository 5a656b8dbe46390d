package kernel

import "time"

// Command is an order that leaves the kernel. The set is closed.
type Command interface {
	command()
}

// PrepareContext asks for the next request. Report: ContextPrepared or
// ContextFailed.
type PrepareContext struct {
	Cmd  Seq `json:"cmd"`
	Turn int `json:"turn"`
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

// AskHuman asks a person about a call. Report: ApprovalDecided with the same
// digest.
type AskHuman struct {
	Cmd    Seq    `json:"cmd"`
	Call   Call   `json:"call"`
	Reason string `json:"reason,omitempty"`
	Digest string `json:"digest"` // of tool and exact arguments
}

// RunTool runs a call. Report: CallStarted, then CallReturned.
type RunTool struct {
	Cmd     Seq         `json:"cmd"`
	Turn    int         `json:"turn"`
	Call    Call        `json:"call"`
	Attempt int         `json:"attempt"`
	Effect  EffectClass `json:"effect"`
	// Key is the tool's business key, and empty where it declares none: the
	// host's own key is then the run and the call.
	Key string `json:"key,omitempty"`
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
)

// SetTimer asks for a TimerFired at an instant.
type SetTimer struct {
	Cmd   Seq           `json:"cmd"`
	Timer TimerKind     `json:"timer"`
	At    Time          `json:"at"`
	After time.Duration `json:"after"` // the same span, for display
}

// Abort ends an outstanding command early. A model request and a started tool
// still report; anything else is forgotten.
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
)

// Commit appends one message to the canonical history. It needs no report.
type Commit struct {
	What  CommitKind `json:"what"`
	Calls []Call     `json:"calls,omitempty"` // reply: in block order, arguments valid JSON objects
	Call  string     `json:"call,omitempty"`  // result: the call's id
	// Text is the message where the kernel wrote it: the answer to a call that
	// did not run, a finding. Empty for a result: the content of CallReturned.
	Text    string `json:"text,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
	// Stored names the call whose result answers this one too, since its key
	// and its request are the same.
	Stored string `json:"stored,omitempty"`
}

// Finish ends the run. Nothing follows it.
type Finish struct {
	Outcome Outcome `json:"outcome"`
}

func (PrepareContext) command() {}
func (CallModel) command()      {}
func (DecideCall) command()     {}
func (AskHuman) command()       {}
func (RunTool) command()        {}
func (Verify) command()         {}
func (SetTimer) command()       {}
func (Abort) command()          {}
func (Commit) command()         {}
func (Finish) command()         {}
