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

// Since returns t - u, saturated at the longest spans.
func (t Time) Since(u Time) time.Duration {
	switch d := time.Duration(t - u); {
	case t >= u && d < 0:
		return 1<<63 - 1
	case t < u && d >= 0:
		return -1 << 63
	default:
		return d
	}
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
	KindResumed         EventKind = "resumed"
	KindClaimRefused    EventKind = "claim_refused"
	KindReconciled      EventKind = "reconciled"
	KindEffectResolved  EventKind = "effect_resolved"
	KindUserSaid        EventKind = "user_said"
	KindContextOver     EventKind = "context_over"
	KindSummarized      EventKind = "summarized"
	KindObserved        EventKind = "observed"
	KindNoticed         EventKind = "noticed"
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
	// Attached are the ids of the notices that go with the request: pending
	// ones, each once.
	Attached []string `json:"attached,omitempty"`
	// Compacted says that the history was made smaller for the request; nil: it
	// was not. The content then says how.
	Compacted *Compaction `json:"compacted,omitempty"`
}

// Compaction says how a history was made smaller.
type Compaction struct {
	Archive string    `json:"archive"`           // the id under which it can be found what was there before
	Removed int       `json:"removed,omitempty"` // messages that a summary stands for
	Spilled int       `json:"spilled,omitempty"` // results that were shortened
	Before  int64     `json:"before"`            // tokens, as estimated
	After   int64     `json:"after"`             // fewer
	Summary SummaryBy `json:"summary,omitempty"` // who wrote it
}

// SummaryBy says who wrote the summary of a compaction.
type SummaryBy string

// The authors. The zero value: there is no summary.
const (
	SummaryModel  SummaryBy = "model"
	SummaryDigest SummaryBy = "digest" // by rule
)

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

// ContextOver answers PrepareContext where Spec.SummaryTokens lets the model
// write summaries: the request is over the window, and a summary is needed that
// takes that much input. The history is as it was.
type ContextOver struct {
	At          Time   `json:"at"`
	Cmd         Seq    `json:"cmd"`
	InputTokens int64  `json:"input_tokens"`     // estimate for the request of the summary
	Detail      string `json:"detail,omitempty"` // the sizes, in words
}

// Summarized answers Summarize: either a reply arrived whole, or Failure says
// why none did. Its content is the text.
type Summarized struct {
	At      Time     `json:"at"`
	Cmd     Seq      `json:"cmd"`
	Usage   *Usage   `json:"usage,omitempty"`   // of a whole reply; nil: the provider reported none
	Failure *Failure `json:"failure,omitempty"` // nil: a whole reply
	Size    int      `json:"size,omitempty"`    // bytes of the text; 0: there is none of use
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
	FailTLS        FailureKind = "tls"              // no TLS connection that can be trusted; nothing was sent
	FailTimeout    FailureKind = "timeout"          // no whole answer within the request's time
	FailCut        FailureKind = "cut"              // the answer ended early
	FailStatus     FailureKind = "status"           // an error status, or an error event of that status
	FailQuota      FailureKind = "quota"            // the account is out of quota: waiting does not help
	FailContext    FailureKind = "context_too_long" // the request is over the model's window
	FailFilter     FailureKind = "content_filter"   // the provider filtered the request, or broke the answer off to filter it
	FailInvalid    FailureKind = "invalid_response" // not what the wire speaks
	FailTooLarge   FailureKind = "response_too_large"
	FailAborted    FailureKind = "aborted"     // ended by an Abort
	FailLost       FailureKind = "interrupted" // the process that had sent it is gone
	FailRequest    FailureKind = "request"     // the request could not be built or sent as it is
	FailInternal   FailureKind = "internal"    // a fault of the adapter
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
	// Asking says how a person is asked, where Answer is Ask. nil: without an
	// expiry, by anyone, for good.
	Asking *Asking `json:"asking,omitempty"`
	// The next three are for the record, and decide nothing here.
	Risk   Risk   `json:"risk,omitempty"`
	Policy string `json:"policy,omitempty"` // hash of the policy that answered
	// Changed says that the tool was described in another way than at first, so
	// that what the policy allows was asked about.
	Changed bool `json:"changed,omitempty"`
}

// Asking says how a person is asked about a call.
type Asking struct {
	Expires   time.Duration `json:"expires,omitempty"`   // to decide in; 0: no end
	OnExpiry  OnExpiry      `json:"on_expiry,omitempty"` // what the end of that means
	Grant     time.Duration `json:"grant,omitempty"`     // how long a yes holds; 0: no end
	Approvers Approvers     `json:"approvers"`
}

// OnExpiry says what it means that nobody decided in time.
type OnExpiry string

// The choices. The zero value is ExpiryRefuse.
const (
	ExpiryRefuse   OnExpiry = "refuse"
	ExpiryEscalate OnExpiry = "escalate" // ask Approvers.Escalate once more, for as long
)

// Approvers says who may decide. The zero value is: anyone, alone. The kernel
// hands it on and decides nothing on it.
type Approvers struct {
	NotAsker bool     `json:"not_asker,omitempty"` // whoever asked is excluded
	Quorum   int      `json:"quorum,omitempty"`    // how many must agree; 0: 1. One refusal refuses
	From     []string `json:"from,omitempty"`      // names; nil: anyone
	Escalate []string `json:"escalate,omitempty"`  // names asked after the expiry; nil: From is over, anyone
}

// ApprovalDecided answers AskHuman. How long a yes holds counts from when it
// was given, however long nobody took it up.
type ApprovalDecided struct {
	At       Time   `json:"at"`
	Cmd      Seq    `json:"cmd"`
	Call     string `json:"call"`
	Approved bool   `json:"approved"`
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Digest   string `json:"digest"`             // of the content that was shown
	Approval string `json:"approval,omitempty"` // its id, for the record
	Given    Time   `json:"given,omitempty"`    // when people decided; 0: at At
}

// CallStarted says that the effect of RunTool is about to begin. It is
// committed, together with its claim in the ledger, before anything happens
// outside.
type CallStarted struct {
	At     Time   `json:"at"`
	Cmd    Seq    `json:"cmd"`
	Call   string `json:"call"`
	Effect string `json:"effect,omitempty"` // the id in the ledger; empty: it needs none
}

// ClaimWhy says why the ledger did not give a claim.
type ClaimWhy string

// The reasons.
const (
	ClaimStored   ClaimWhy = "stored"        // it landed before; its result stands
	ClaimOther    ClaimWhy = "other_request" // the key stands for something else
	ClaimUnknown  ClaimWhy = "unknown"       // the same may have taken effect before
	ClaimBusy     ClaimWhy = "busy"          // the same is under way, or was cut short
	ClaimWindow   ClaimWhy = "window"        // the same landed a short while ago
	ClaimBlocked  ClaimWhy = "blocked"       // another effect of the tool is unknown
	ClaimApproval ClaimWhy = "approval"      // its approval is not there to be spent
)

// ClaimRefused answers RunTool in the place of CallStarted: nothing begins. Its
// content is the stored result where Why is stored.
type ClaimRefused struct {
	At     Time         `json:"at"`
	Cmd    Seq          `json:"cmd"`
	Call   string       `json:"call"`
	Why    ClaimWhy     `json:"why"`
	Effect string       `json:"effect,omitempty"` // that stands against it
	Result *ResultFacts `json:"result,omitempty"` // stored
}

// Resumed says that a driver took the run over from its journal: whatever was
// carried out elsewhere is lost with its report.
type Resumed struct {
	At Time   `json:"at"`
	By string `json:"by,omitempty"`
}

// Presence is what a tool's lookup found of an effect.
type Presence string

// The answers.
const (
	Absent          Presence = "absent"
	Present         Presence = "present"
	PresenceUnknown Presence = "unknown"
)

// Reconciled answers Reconcile. Its content is the result where the effect is
// present.
type Reconciled struct {
	At     Time         `json:"at"`
	Cmd    Seq          `json:"cmd"`
	Call   string       `json:"call"`
	Found  Presence     `json:"found"`
	Result *ResultFacts `json:"result,omitempty"` // present
}

// Finding is what a resolution says of an effect that was in doubt.
type Finding string

// The findings.
const (
	FoundLanded   Finding = "landed"
	FoundNoEffect Finding = "no_effect"
	FoundUnknown  Finding = "still_unknown"
)

// EffectResolved says what a person, or a job, found out about an effect of
// the run that was in doubt. It may come at any time before the stop, and takes
// a call further when that waits for it. Its content is the result, where there
// is one.
type EffectResolved struct {
	At       Time         `json:"at"`
	Call     string       `json:"call"`
	Effect   string       `json:"effect"`
	As       Finding      `json:"as"`
	By       string       `json:"by,omitempty"`
	Note     string       `json:"note,omitempty"`
	Evidence string       `json:"evidence,omitempty"` // SHA-256 of it, in hex
	Result   *ResultFacts `json:"result,omitempty"`   // landed: what the call came to, if known
}

// UserSaid is a further message of whoever asked. It enters the history before
// the next request, or before the stop. Its content is the text.
type UserSaid struct {
	At     Time   `json:"at"`
	By     string `json:"by,omitempty"`
	Signal string `json:"signal,omitempty"` // its id, for the record
	Size   int    `json:"size"`             // bytes
}

// Observed answers Observe: the observers of the call have seen it. What they
// say are warnings, and change nothing.
type Observed struct {
	At       Time     `json:"at"`
	Cmd      Seq      `json:"cmd"`
	Call     string   `json:"call"`
	Warnings []string `json:"warnings,omitempty"`
}

// Noticed says that a notice for the run was taken up. It stays pending until
// the reply to a request that it went with has entered the history; what is
// pending at the stop, nobody has seen. At most MaxNotices are pending. Its
// content is the text.
type Noticed struct {
	At     Time   `json:"at"`
	Notice string `json:"notice"` // its id, as IsName has it
	By     string `json:"by,omitempty"`
	Size   int    `json:"size"` // bytes
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
func (e Resumed) When() Time         { return e.At }
func (e ClaimRefused) When() Time    { return e.At }
func (e Reconciled) When() Time      { return e.At }
func (e EffectResolved) When() Time  { return e.At }
func (e UserSaid) When() Time        { return e.At }
func (e ContextOver) When() Time     { return e.At }
func (e Summarized) When() Time      { return e.At }
func (e Observed) When() Time        { return e.At }
func (e Noticed) When() Time         { return e.At }
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
func (Resumed) Kind() EventKind         { return KindResumed }
func (ClaimRefused) Kind() EventKind    { return KindClaimRefused }
func (Reconciled) Kind() EventKind      { return KindReconciled }
func (EffectResolved) Kind() EventKind  { return KindEffectResolved }
func (UserSaid) Kind() EventKind        { return KindUserSaid }
func (ContextOver) Kind() EventKind     { return KindContextOver }
func (Summarized) Kind() EventKind      { return KindSummarized }
func (Observed) Kind() EventKind        { return KindObserved }
func (Noticed) Kind() EventKind         { return KindNoticed }
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
func (Resumed) event()         {}
func (ClaimRefused) event()    {}
func (Reconciled) event()      {}
func (EffectResolved) event()  {}
func (UserSaid) event()        {}
func (ContextOver) event()     {}
func (Summarized) event()      {}
func (Observed) event()        {}
func (Noticed) event()         {}
func (Cancelled) event()       {}
func (HostFailed) event()      {}
