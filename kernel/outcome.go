package kernel

// Stop is the typed reason why a run ended. A run has exactly one.
type Stop string

// The stops. verified_success, fatal_error, the budgets and repeated_action
// are judged in this order when several hold at once.
const (
	StopVerified   Stop = "verified_success"
	StopFatal      Stop = "fatal_error"
	StopTurnLimit  Stop = "turn_limit"
	StopToolLimit  Stop = "tool_limit"
	StopTokenLimit Stop = "token_limit"
	StopCostLimit  Stop = "cost_limit"
	StopDeadline   Stop = "deadline"
	StopRepeated   Stop = "repeated_action"
	StopAnswered   Stop = "answered"
	StopClarify    Stop = "needs_clarification"
	StopTruncated  Stop = "output_truncated"
	StopFiltered   Stop = "content_filtered"
	StopRefused    Stop = "refused"
	StopProtocol   Stop = "protocol_error"
	StopModelError Stop = "model_error"
	StopContext    Stop = "context_error"
	StopHostError  Stop = "host_error"
	StopCancelled  Stop = "cancelled"
)

// Link is one link of the chain that a call passes, in order.
type Link string

// The links. The zero value means that the link is not known.
const (
	LinkHarness   Link = "harness"
	LinkNetwork   Link = "network"
	LinkProvider  Link = "provider"
	LinkModel     Link = "model"
	LinkAdmission Link = "admission"
	LinkPolicy    Link = "policy"
	LinkTool      Link = "tool"
)

// Outcome is what a run came to.
type Outcome struct {
	Stop     Stop     `json:"stop"`
	Detail   string   `json:"detail,omitempty"` // the exact cause
	Verified Verdict  `json:"verified"`
	Evidence []string `json:"evidence,omitempty"`
	// Finding is what the verifier said.
	Finding string `json:"finding,omitempty"`
	// Answered says that the last committed reply is the answer.
	Answered bool `json:"answered"`
	Turns    int  `json:"turns"`    // logical requests
	Calls    int  `json:"calls"`    // admitted calls, run or not
	Requests int  `json:"requests"` // attempts sent
	// Usage is the sum of what providers reported, in ReportedReplies of
	// Replies; HeldTokens is what is charged for the rest.
	Usage           Usage    `json:"usage"`
	Replies         int      `json:"replies"`
	ReportedReplies int      `json:"replies_with_usage"`
	HeldTokens      int64    `json:"held_tokens,omitempty"`
	CostMicros      int64    `json:"cost_micros,omitempty"` // with what is held; 0 without a price
	Warnings        []string `json:"warnings,omitempty"`
	LastGood        Link     `json:"last_good,omitempty"`
	FirstBad        Link     `json:"first_bad,omitempty"`
}
