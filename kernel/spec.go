package kernel

import (
	"fmt"
	"time"
)

// Profile says how much a provider's replies are trusted to keep to their
// wire.
type Profile string

// The profiles. The zero value is Strict.
const (
	Strict   Profile = "strict"   // official endpoints
	Tolerant Profile = "tolerant" // compatible servers
)

// Spec is what a run is started with. It is journaled with RunStarted and
// holds no secret. A run keeps its Spec to the end.
type Spec struct {
	Profile Profile `json:"profile"`
	// MaxTokens is the output limit of a request, 1–1,000,000. After a
	// truncation one request is sent again with twice as much, at most
	// MaxTokensCap (0: no cap).
	MaxTokens    int       `json:"max_tokens"`
	MaxTokensCap int       `json:"max_tokens_cap,omitempty"`
	Limits       Limits    `json:"limits"`
	Retry        Retry     `json:"retry"`
	Price        *Price    `json:"price,omitempty"`
	Verify       VerifyFor `json:"verify,omitempty"`
	// Continue sends an unverified answer's finding back to the model, within
	// the limits. Otherwise the run stops as answered, not verified.
	Continue bool `json:"continue,omitempty"`
	// Unknown says what a call whose outcome is unknown does to its run.
	Unknown OnUnknown `json:"unknown,omitempty"`
	// Observe says that there are observers, who see each call once it is
	// answered, before anything else begins.
	Observe bool `json:"observe,omitempty"`
	// Shrink says that a request which the provider refuses as too long is
	// prepared once more, smaller, once a turn. Otherwise that ends the run.
	Shrink bool `json:"shrink,omitempty"`
	// SummaryTokens is the output limit of a request for a summary, up to
	// 1,000,000. 0: the model writes none.
	SummaryTokens int `json:"summary_tokens,omitempty"`
}

// OnUnknown says what a call whose outcome is unknown does to its run.
type OnUnknown string

// The choices. The zero value is UnknownTell.
const (
	UnknownTell OnUnknown = "tell" // the model is told, and the run goes on
	UnknownWait OnUnknown = "wait" // the run waits until someone resolves it
)

// Limits bound a run. Zero is off where a field says so and refused elsewhere.
type Limits struct {
	Turns    int           `json:"turns"`               // logical requests, at least 1
	Calls    int           `json:"calls"`               // admitted calls, at least 1
	Deadline time.Duration `json:"deadline"`            // from RunStarted; positive
	Repeat   int           `json:"repeat"`              // occurrences of one action that stop the run, at least 2; 0: off
	Tokens   int64         `json:"tokens,omitempty"`    // 0: off
	Cost     int64         `json:"cost,omitempty"`      // micro-units of the price's currency; 0: off
	LastTurn LastTurn      `json:"last_turn,omitempty"` // what the last turn's calls may do
}

// LastTurn says what the calls of the last allowed turn may do, whose results
// no model will see.
type LastTurn string

// The choices. The zero value is LastTurnRun.
const (
	LastTurnRun   LastTurn = "run"
	LastTurnReads LastTurn = "reads" // only tools of the class read run
)

// Retry bounds the recovery of model requests.
type Retry struct {
	Attempts int           `json:"attempts"` // of one turn, at least 1
	PerRun   int           `json:"per_run"`  // requests of the whole run, at least 1
	Wait     time.Duration `json:"wait"`     // planned waiting of the whole run
}

// Price turns usage into cost: micro-units of a currency for a million tokens,
// each from 0 to 10^13.
type Price struct {
	Input      int64 `json:"input"` // plain input, neither read from nor written to a cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// maxLimit is below what sums saturate at: a saturated sum is over any limit.
const maxLimit = 1 << 62

func (p *Price) inRange() bool {
	low := min(p.Input, p.Output, p.CacheRead, p.CacheWrite)
	high := max(p.Input, p.Output, p.CacheRead, p.CacheWrite)
	return low >= 0 && high <= 10_000_000_000_000
}

// VerifyFor says when the verifier is asked. The zero value is never.
type VerifyFor string

// The choices.
const (
	VerifyNever    VerifyFor = ""
	VerifyAnswer   VerifyFor = "answer"    // at the answer, and at a stop without one
	VerifyEachTurn VerifyFor = "each_turn" // also after each turn's results: true ends the run
)

// DefaultLimits are the bounds of an agent that sets none.
func DefaultLimits() Limits {
	return Limits{Turns: 8, Calls: 12, Deadline: 30 * time.Second, Repeat: 3}
}

// DefaultRetry is the recovery of an agent that sets none.
func DefaultRetry() Retry {
	return Retry{Attempts: 4, PerRun: 20, Wait: 3 * time.Second}
}

// Validate reports the first setting that is out of range, as CONFIGURATION.
func (s *Spec) Validate() error {
	l, r := &s.Limits, &s.Retry
	checks := []struct {
		ok   bool
		name string
		want string
	}{
		{s.Profile == "" || s.Profile == Strict || s.Profile == Tolerant, "profile", "strict or tolerant"},
		{s.MaxTokens >= 1 && s.MaxTokens <= 1_000_000, "max_tokens", "from 1 to 1,000,000"},
		{s.MaxTokensCap == 0 || s.MaxTokensCap >= s.MaxTokens, "max_tokens_cap", "at least max_tokens"},
		{l.Turns >= 1, "limits.turns", "at least 1"},
		{l.Calls >= 1, "limits.calls", "at least 1"},
		{l.Deadline > 0, "limits.deadline", "positive"},
		{l.Repeat == 0 || l.Repeat >= 2, "limits.repeat", "at least 2, or 0 for off"},
		{l.Tokens >= 0 && l.Tokens <= maxLimit, "limits.tokens", "from 0 to 2^62"},
		{l.Cost >= 0 && l.Cost <= maxLimit, "limits.cost", "from 0 to 2^62"},
		{l.Cost == 0 || s.Price != nil, "limits.cost", "given together with a price"},
		{s.Unknown == "" || s.Unknown == UnknownTell || s.Unknown == UnknownWait, "unknown", "tell or wait"},
		{l.LastTurn == "" || l.LastTurn == LastTurnRun || l.LastTurn == LastTurnReads, "limits.last_turn", "run or reads"},
		{r.Attempts >= 1, "limits.retry.attempts", "at least 1"},
		{r.PerRun >= 1, "limits.retry.per_run", "at least 1"},
		{r.Wait >= 0, "limits.retry.wait", "at least 0"},
		{s.Price == nil || s.Price.inRange(), "price", "from 0 to 10^13 micro-units"},
		{s.SummaryTokens >= 0 && s.SummaryTokens <= 1_000_000, "summary_tokens", "from 0 to 1,000,000"},
		{s.Verify == VerifyNever || s.Verify == VerifyAnswer || s.Verify == VerifyEachTurn, "verify", "answer or each_turn"},
	}
	for _, c := range checks {
		if !c.ok {
			return &Error{Code: CodeConfiguration, Message: fmt.Sprintf("%s must be %s", c.name, c.want)}
		}
	}
	return nil
}
