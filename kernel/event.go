package kernel

import "time"

// Time is an instant in Unix nanoseconds, UTC. Instants enter inside events;
// one earlier than its predecessor counts as equal to it.
type Time int64

// Add returns t + d, saturated at the largest instant.
func (t Time) Add(d time.Duration) Time {
	if sum := t + Time(d); d < 0 || sum >= t {
		return sum
	}
	return 1<<63 - 1
}

// Seq numbers the commands of a run, from 1. A report carries the number of
// the command that it answers.
type Seq int64

// Event is a fact that enters the kernel. The set is closed. What decides
// something (call ids, names, arguments, keys, digests) is valid UTF-8, or Step
// refuses the event; texts that are only shown are repaired.
type Event interface {
	Kind() EventKind
	When() Time
	event() // closes the set
}

// EventKind is the journaled name of an event type.
type EventKind string

// The events.
const (
	KindRunStarted      EventKind = "run_started"
	KindContextPrepared EventKind = "context_prepared"
	KindContextFailed   EventKind = "context_failed"
	KindModelReplied    EventKind = "model_replied"
	KindModelFailed     EventKind = "model_failed"
	KindCallDecided     EventKind = "call_decided"
	KindApprovalDecided EventKind = "approval_decided"
	KindCallStarted     EventKind = "call_started"
	KindCallReturned    EventKind = "call_returned"
	KindVerified        EventKind = "verified"
	KindTimerFired      EventKind = "timer_fired"
	KindCancelled       EventKind = "cancelled"
	KindHostFailed      EventKind = "host_failed"
)

// RunStarted is the first event of every run. Its content is the question.
type RunStarted struct {
	At   Time `json:"at"`
	Spec Spec `json:"spec"`
}

// ContextPrepared answers PrepareContext: a request is ready to be sent.
type ContextPrepared struct {
	At          Time     `json:"at"`
	Cmd         Seq      `json:"cmd"`
	InputTokens int64    `json:"input_tokens"` // estimate for the whole request
	Messages    int      `json:"messages"`
	Tools       string   `json:"tools,omitempty"` // digest of the capability snapshot
	Warnings    []string `json:"warnings,omitempty"`
}

// ContextFault says why no request could be prepared.
type ContextFault string

// The faults of a preparation.
const (
	ContextTooLarge      ContextFault = "too_large"
	ContextClarification ContextFault = "clarification" // several tools fit equally well
	ContextBroken        ContextFault = "broken"
)

// ContextFailed answers PrepareContext: the history is as it was.
type ContextFailed struct {
	At     Time         `json:"at"`
	Cmd    Seq          `json:"cmd"`
	Fault  ContextFault `json:"fault"`
	Detail string       `json:"detail,omitempty"`
}

// StopReason is a provider's stop reason in neutral form.
type StopReason string

// The neutral stop reasons; any other goes as "other:NAME".
const (
	StopEnd     StopReason = "end"
	StopCalls   StopReason = "calls"
	StopLength  StopReason = "length"
	StopWindow  StopReason = "window" // cut at the end of the model's window: more output cannot help
	StopFilter  StopReason = "content_filter"
	StopRefusal StopReason = "refusal"
	StopAbsent  StopReason = "" // the provider gave none
)

// BlockFact is what the kernel knows of one block of a reply.
type BlockFact struct {
	Kind   BlockKind `json:"kind"`
	Size   int       `json:"size"`             // bytes
	Blank  bool      `json:"blank,omitempty"`  // text without a visible character
	Signed bool      `json:"signed,omitempty"` // thinking with a signature
}

// ReplyFacts describes a whole reply. Calls are in the order of the call
// blocks among Blocks.
type ReplyFacts struct {
	Stop   StopReason  `json:"stop"`
	Blocks []BlockFact `json:"blocks"`
	Calls  []Call      `json:"calls,omitempty"`
	Usage  *Usage      `json:"usage,omitempty"` // nil: the provider reported none
	Size   int         `json:"size"`            // bytes on the wire
	// Fault is the adapter's finding that the reply contradicts its wire: an
	// ambiguous fragment, an input that is no object. Empty: none.
	Fault string `json:"fault,omitempty"`
}

// ModelReplied answers CallModel: a reply arrived whole. Its content is the
// message.
type ModelReplied struct {
	At    Time       `json:"at"`
	Cmd   Seq        `json:"cmd"`
	Turn  int        `json:"turn"`
	Reply ReplyFacts `json:"reply"`
}

// FailureKind says what became of a request that brought no whole reply.
type FailureKind string

// The kinds of failure.
const (
	FailConnection FailureKind = "connection"       // no connection; nothing was sent
	FailTimeout    FailureKind = "timeout"          // no whole answer within the request's time
	FailCut        FailureKind = "cut"              // the answer ended early
	FailStatus     FailureKind = "status"           // an error status, or an error event of that status
	FailQuota      FailureKind = "quota"            // the account is out of quota: waiting does not help
	FailContext    FailureKind = "context_too_long" // the request is over the model's window
	FailFilter     FailureKind = "content_filter"   // the provider filtered the request, or broke the answer off to filter it
	FailInvalid    FailureKind = "invalid_response" // not what the wire speaks
	FailTooLarge   FailureKind = "response_too_large"
	FailAborted    FailureKind = "aborted"  // ended by an Abort
	FailRequest    FailureKind = "request"  // the request could not be built or sent as it is
	FailInternal   FailureKind = "internal" // a fault of the adapter
)

// Failure describes a request that failed. It holds nothing of the remote
// answer but its status.
type Failure struct {
	Kind   FailureKind `json:"kind"`
	Status int         `json:"status,omitempty"`
	// RetryAfter is what the provider asked for; nil when it asked for nothing
	// that can be understood.
	RetryAfter *time.Duration `json:"retry_after,omitempty"`
	// Jitter is the share of the largest jitter to add, in 1/10,000: 0–10,000.
	Jitter int `json:"jitter,omitempty"`
	// Usage is what the provider reported before the answer broke off: a lower
	// bound, which shows that it had begun. The reservation stays charged.
	Usage *Usage `json:"usage,omitempty"`
	// Detail says more, and is safe to show. It decides nothing.
	Detail string `json:"detail,omitempty"`
}

// ModelFailed answers CallModel: no whole reply.
type ModelFailed struct {
	At      Time    `json:"at"`
	Cmd     Seq     `json:"cmd"`
	Turn    int     `json:"turn"`
	Failure Failure `json:"failure"`
}

// Answer is what policy says about a call.
type Answer string

// The answers. Invalid means that policy was not asked, since the call itself
// is not acceptable.
const (
	Allow   Answer = "allow"
	Ask     Answer = "ask"
	Deny    Answer = "deny"
	Invalid Answer = "invalid"
)

// EffectClass says what a repeat of a tool's effect would mean.
type EffectClass string

// The effect classes. An undeclared class counts as Once.
const (
	Read         EffectClass = "read"
	Idempotent   EffectClass = "idempotent"
	Reconcilable EffectClass = "reconcilable"
	Once         EffectClass = "once"
)

// CallDecided answers DecideCall.
type CallDecided struct {
	At     Time   `json:"at"`
	Cmd    Seq    `json:"cmd"`
	Call   string `json:"call"`
	Answer Answer `json:"answer"`
	Code   Code   `json:"code,omitempty"`   // invalid: why
	Reason string `json:"reason,omitempty"` // deny, invalid: the model is told; ask: the person is
	Rule   string `json:"rule,omitempty"`   // the rule that answered
	// Effect and Attempts come from the tool in the request's snapshot.
	// Attempts is how often the tool may be tried, at least 1.
	Effect   EffectClass `json:"effect,omitempty"`
	Attempts int         `json:"attempts,omitempty"`
	// Keyed says that the tool declares a business key; an empty Key is then
	// refused.
	Keyed bool   `json:"keyed,omitempty"`
	Key   string `json:"key,omitempty"`
}

// ApprovalDecided answers AskHuman.
type ApprovalDecided struct {
	At       Time   `json:"at"`
	Cmd      Seq    `json:"cmd"`
	Call     string `json:"call"`
	Approved bool   `json:"approved"`
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Digest   string `json:"digest"` // of the content that was shown
}

// CallStarted says that the effect of RunTool is about to begin. It is
// committed before anything happens outside.
type CallStarted struct {
	At   Time   `json:"at"`
	Cmd  Seq    `json:"cmd"`
	Call string `json:"call"`
}

// Status is the outcome of a tool's run, as an observation of the loop.
type Status string

// The statuses. A fatal error ends the run.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"
	StatusRetryable Status = "retryable_error"
	StatusFatal     Status = "fatal_error"
)

// Disposition says what is known of an effect.
type Disposition string

// The dispositions.
const (
	Landed       Disposition = "landed"
	DidNotHappen Disposition = "did_not_happen"
	InDoubt      Disposition = "in_doubt"
)

// ResultFacts describes a tool's result.
type ResultFacts struct {
	Status      Status      `json:"status"`
	Disposition Disposition `json:"disposition"`
	Code        Code        `json:"code,omitempty"`
	Digest      string      `json:"digest"` // of the text for the model
	Size        int         `json:"size"`   // bytes of that text
	Omitted     int64       `json:"omitted,omitempty"`
}

// CallReturned answers RunTool, once it was started. Its content is the
// result.
type CallReturned struct {
	At       Time        `json:"at"`
	Cmd      Seq         `json:"cmd"`
	Call     string      `json:"call"`
	Result   ResultFacts `json:"result"`
	Jitter   int         `json:"jitter,omitempty"` // as in Failure
	Warnings []string    `json:"warnings,omitempty"`
}

// Verdict is what a verifier concluded.
type Verdict string

// The verdicts. The zero value is no verdict yet and reads as Unchecked.
const (
	Unchecked   Verdict = "unchecked"
	VerdictTrue Verdict = "true"
	VerdictNot  Verdict = "false"
)

// Verified answers Verify. Its content is empty: a verdict rests on evidence
// that is already stored.
type Verified struct {
	At       Time     `json:"at"`
	Cmd      Seq      `json:"cmd"`
	Verdict  Verdict  `json:"verdict"`
	Finding  string   `json:"finding,omitempty"` // at most 2,000 bytes; shown to the model when it goes on
	Evidence []string `json:"evidence,omitempty"`
	Warning  string   `json:"warning,omitempty"` // the verifier itself failed
}

// TimerFired answers SetTimer.
type TimerFired struct {
	At    Time      `json:"at"`
	Cmd   Seq       `json:"cmd"`
	Timer TimerKind `json:"timer,omitempty"` // for display; Cmd decides
}

// Cancelled ends the run at the wish of whoever drives it.
type Cancelled struct {
	At     Time   `json:"at"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// HostFailed ends the run because its host cannot go on.
type HostFailed struct {
	At     Time   `json:"at"`
	Code   Code   `json:"code"`
	Detail string `json:"detail,omitempty"`
}

func (e RunStarted) When() Time      { return e.At }
func (e ContextPrepared) When() Time { return e.At }
func (e ContextFailed) When() Time   { return e.At }
func (e ModelReplied) When() Time    { return e.At }
func (e ModelFailed) When() Time     { return e.At }
func (e CallDecided) When() Time     { return e.At }
func (e ApprovalDecided) When() Time { return e.At }
func (e CallStarted) When() Time     { return e.At }
func (e CallReturned) When() Time    { return e.At }
func (e Verified) When() Time        { return e.At }
func (e TimerFired) When() Time      { return e.At }
func (e Cancelled) When() Time       { return e.At }
func (e HostFailed) When() Time      { return e.At }

func (RunStarted) Kind() EventKind      { return KindRunStarted }
func (ContextPrepared) Kind() EventKind { return KindContextPrepared }
func (ContextFailed) Kind() EventKind   { return KindContextFailed }
func (ModelReplied) Kind() EventKind    { return KindModelReplied }
func (ModelFailed) Kind() EventKind     { return KindModelFailed }
func (CallDecided) Kind() EventKind     { return KindCallDecided }
func (ApprovalDecided) Kind() EventKind { return KindApprovalDecided }
func (CallStarted) Kind() EventKind     { return KindCallStarted }
func (CallReturned) Kind() EventKind    { return KindCallReturned }
func (Verified) Kind() EventKind        { return KindVerified }
func (TimerFired) Kind() EventKind      { return KindTimerFired }
func (Cancelled) Kind() EventKind       { return KindCancelled }
func (HostFailed) Kind() EventKind      { return KindHostFailed }

func (RunStarted) event()      {}
func (ContextPrepared) event() {}
func (ContextFailed) event()   {}
func (ModelReplied) event()    {}
func (ModelFailed) event()     {}
func (CallDecided) event()     {}
func (ApprovalDecided) event() {}
func (CallStarted) event()     {}
func (CallReturned) event()    {}
func (Verified) event()        {}
func (TimerFired) event()      {}
func (Cancelled) event()       {}
func (HostFailed) event()      {}
