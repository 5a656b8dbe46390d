package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// Agent is model, instructions, tools, policy, limits and verifier: a value.
// Do not change it while it is in use.
type Agent struct {
	Model        model.Model // required
	Instructions string
	Tools        *tool.Set       // nil: none
	Sources      []tool.Source   // tools beside Tools that may change between two requests
	Policy       policy.Policy   // nil: every call is denied
	Hooks        policy.Hooks    // look at every call, before the policy and after its answer
	Approver     policy.Approver // nil: what is asked waits for people elsewhere
	Verifier     verify.Verifier // nil: answers stay unchecked
	// VerifyEachTurn asks the verifier after each turn's results too; true
	// ends the run there.
	VerifyEachTurn bool
	// Continue sends an unverified answer's finding back to the model.
	Continue bool
	// Attach gives what goes with each request and into no history: memory,
	// skills.
	Attach []prompt.Attacher
	// Context bounds what a request holds. The zero value bounds nothing but the
	// notices.
	Context Context
	// Unknown says what a call whose outcome is unknown does to its run.
	Unknown kernel.OnUnknown
	// Limits bound a run. All zero is kernel.DefaultLimits; a partly filled
	// value is taken as it is, and refused where a field may not be zero.
	Limits kernel.Limits
	// Retry bounds the recovery of requests. All zero is kernel.DefaultRetry,
	// with PerRun raised to twice Limits.Turns where that is more.
	Retry kernel.Retry
	Price *kernel.Price // required with Limits.Cost
	// RequestTimeout bounds one request to the model; 0: 15 s.
	RequestTimeout time.Duration
}

// Context bounds what a request holds, in tokens as they are estimated.
type Context struct {
	// Window is what the model takes, input and output together. 0: not known,
	// and nothing is made smaller before a provider refuses a request as too long.
	Window int64
	// Reserve is kept free beside the output limit, for what the estimate misses.
	Reserve int64
	// Summarize lets the model itself summarize the turns that have to go, within
	// SummaryTokens of output (0: 1,024). Otherwise a digest by rule takes their place.
	Summarize     bool
	SummaryTokens int
	Notices       NoticeLimits
}

// NoticeLimits bound the notices of one request. Zero: 4, of 240 characters.
type NoticeLimits struct {
	Max   int
	Chars int // of each
}

// DefaultRequestTimeout bounds a model request of an agent that sets nothing.
const DefaultRequestTimeout = 15 * time.Second

// maxQuestion bounds a question, in bytes.
const maxQuestion = 1 << 20

// maxConfig bounds the configuration that is kept with a run, in bytes.
const maxConfig = 1 << 20

func isObject(b []byte) bool {
	return utf8.Valid(b) && json.Valid(b) && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

// spec is what a run of the agent is started with.
func (a *Agent) spec() (kernel.Spec, error) {
	if a == nil || a.Model == nil {
		return kernel.Spec{}, &kernel.Error{Code: kernel.CodeConfiguration, Message: "an agent needs a model"}
	}
	info := a.Model.Info()
	s := kernel.Spec{
		Profile:      info.Profile,
		MaxTokens:    info.MaxTokens,
		MaxTokensCap: info.MaxTokensCap,
		Limits:       a.Limits,
		Retry:        a.Retry,
		Price:        a.Price,
		Continue:     a.Continue,
		Unknown:      a.Unknown,
	}
	if s.Limits == (kernel.Limits{}) {
		s.Limits = kernel.DefaultLimits()
	}
	if s.Retry == (kernel.Retry{}) {
		s.Retry = kernel.DefaultRetry()
		s.Retry.PerRun = max(s.Retry.PerRun, 2*s.Limits.Turns)
	}
	switch {
	case a.Verifier == nil && (a.VerifyEachTurn || a.Continue):
		return s, &kernel.Error{Code: kernel.CodeConfiguration, Message: "verification at each turn, and going on unverified, need a verifier"}
	case a.Verifier != nil && a.VerifyEachTurn:
		s.Verify = kernel.VerifyEachTurn
	case a.Verifier != nil:
		s.Verify = kernel.VerifyAnswer
	}
	if err := a.Context.check(s.MaxTokens); err != nil {
		return s, err
	}
	s.Observe = len(a.Hooks.After) > 0
	s.Shrink, s.SummaryTokens = true, a.Context.summaryTokens()
	if a.RequestTimeout < 0 {
		return s, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the request timeout must be positive"}
	}
	return s, s.Validate()
}

func (a *Agent) requestTimeout() time.Duration {
	if a.RequestTimeout == 0 {
		return DefaultRequestTimeout
	}
	return a.RequestTimeout
}

// Check reports what is wrong with a start, apart from its agent, as
// INVALID_ARGUMENT.
func (s *Start) Check() error {
	bad := func(format string, args ...any) error {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case strings.TrimSpace(s.Question) == "":
		return bad("the question is empty")
	case !utf8.ValidString(s.Question):
		return bad("the question is not valid UTF-8")
	case len(s.Question) > maxQuestion:
		return bad("the question has %d bytes; at most %d are allowed", len(s.Question), maxQuestion)
	case len(s.Config) > maxConfig || s.Config != nil && !isObject(s.Config):
		return bad("the configuration to keep is not a JSON object of at most %d bytes", maxConfig)
	}
	for _, id := range []struct{ name, value string }{{"run", s.Run}, {"session", s.Session}, {"tenant", s.Tenant}, {"user", s.User}} {
		if len(id.value) > 200 || !utf8.ValidString(id.value) || strings.ContainsFunc(id.value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return bad("the %s id is not printable text of at most 200 bytes", id.name)
		}
	}
	for _, who := range []struct{ what, name string }{{"tenant", s.Tenant}, {"user", s.User}} {
		if who.name != "" && !kernel.IsName(who.name) {
			return bad("%.80q cannot name a %s: it has white space around it, or what does not show", who.name, who.what)
		}
	}
	return nil
}
