package sim

import (
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// forecast is what a run must come to when nothing disturbs it, worked out from
// the plan alone: no kernel, no engine, no journal. It follows the words of the
// design, in the simplest way.
type forecast struct {
	fuzzy string // why nothing can be said beforehand; empty: everything can

	waits    bool // for people who will not come
	asks     bool // people, whose answers take a process that is there
	stop     kernel.Stop
	verified kernel.Verdict
	answered bool
	turns    int
	called   int
	requests int
	replies  int
	reported int
	usage    kernel.Usage
	results  []told
	landed   map[string]int // by call
}

// told is what the model must be told of a call.
type told struct {
	call  string
	words string // that it holds
	ok    bool
}

// oracle is a forecast on its way.
type oracle struct {
	*runPlan
	forecast

	at, again int           // the latest step, and how often it was asked again
	waited    time.Duration // for requests, at most
	judged    bool
	verdict   bool
	seen      map[told]bool
	recent    map[told]int
	effects   map[string]standing // by key
	asked     map[string]int
	goal      bool
	over      bool
}

// standing is what is known of an effect.
type standing struct {
	call  *callPlan
	state string // landed, none, unknown
	words string // of its result, where it landed
}

// foresee makes the forecast of a run.
func (p *plan) foresee(r *runPlan) forecast {
	o := &oracle{
		runPlan: r, at: -1, forecast: forecast{landed: map[string]int{}, verified: kernel.Unchecked},
		seen: map[told]bool{}, recent: map[told]int{}, effects: map[string]standing{}, asked: map[string]int{},
	}
	o.fuzzy = p.unforeseen(r)
	for !o.over && o.fuzzy == "" {
		o.turn()
	}
	return o.forecast
}

// unforeseen says what makes a run depend on chance, on others, or on how
// tokens are counted.
func (p *plan) unforeseen(r *runPlan) string {
	switch {
	case p.relabels:
		return "its tools change"
	case r.contends:
		return "it may meet requests of others"
	case len(r.wishes) > 0:
		return "people interfere"
	case r.limits.Deadline < time.Hour:
		return "its time may end"
	case r.tight:
		return "its requests may be too long"
	case r.limits.Tokens > 0:
		return "its tokens may end"
	}
	for name, rule := range r.rules {
		if rule.denies > 0 || rule.asking != nil && rule.asking.Grant > 0 {
			return "the answers about " + name + " depend on time"
		}
	}
	for _, other := range p.runs {
		if other != r && other.tenant == r.tenant && other.uses("payx") && r.uses("payx") {
			return "others may block it"
		}
	}
	return ""
}

func (r *runPlan) uses(tool string) bool {
	for _, s := range r.steps {
		for _, c := range s.calls {
			if c.tool == tool {
				return true
			}
		}
	}
	return false
}

// turn is one request and what follows from its reply.
func (o *oracle) turn() {
	s := o.steps[min(o.at+1, len(o.steps)-1)]
	if o.again > 0 {
		s = o.steps[o.at]
	}
	if !o.request(s) {
		return
	}
	o.at = s.index
	o.judged = false
	switch s.kind {
	case saysNonsense:
		o.end(kernel.StopProtocol)
	case saysAnswer:
		o.answer(s)
	case saysCalls:
		o.act(s)
	}
}

// request sends a request until it is answered; false: it never is.
func (o *oracle) request(s *step) bool {
	fails := len(s.failures)
	for attempt := 1; ; attempt++ {
		if o.requests >= o.retry.PerRun {
			o.end(kernel.StopModelError)
			return false
		}
		if attempt == 1 {
			o.turns++
		}
		o.requests++
		if attempt > fails {
			o.reply(s)
			if !s.cut || attempt > fails+1 {
				return true
			}
			if attempt >= o.retry.Attempts || o.requests >= o.retry.PerRun {
				o.end(kernel.StopTruncated)
				return false
			}
			continue
		}
		if attempt >= o.retry.Attempts || o.requests >= o.retry.PerRun {
			o.end(kernel.StopModelError)
			return false
		}
		o.waited += 2500 * time.Millisecond // at most
		if o.waited > o.retry.Wait {
			o.fuzzy = "its waiting may end, as chance has it"
			return false
		}
	}
}

func (o *oracle) reply(s *step) {
	o.replies++
	if s.usage != nil {
		o.reported++
		o.usage.Input += s.usage.Input
		o.usage.Output += s.usage.Output
	}
}

// answer takes a final answer.
func (o *oracle) answer(s *step) {
	o.answered = true
	if o.verify == kernel.VerifyNever {
		o.finish(kernel.StopAnswered)
		return
	}
	o.judged, o.verdict = true, s.good
	o.verified = kernel.VerdictNot
	switch {
	case s.good:
		o.verified = kernel.VerdictTrue
		o.finish(kernel.StopVerified)
	case !o.goOn:
		o.finish(kernel.StopAnswered)
	default:
		if stop := o.judge(); stop != "" {
			o.finish(stop)
			return
		}
		o.answered = false
	}
}

// end is an end without an answer: the verifier, where there is one, looks at
// what is there.
func (o *oracle) end(stop kernel.Stop) {
	if o.verify != kernel.VerifyNever && !o.judged {
		o.look()
	}
	o.finish(stop)
}

func (o *oracle) look() {
	o.judged, o.verdict = true, o.goal
	o.verified = kernel.VerdictNot
	if o.goal {
		o.verified = kernel.VerdictTrue
	}
}

func (o *oracle) finish(stop kernel.Stop) {
	o.stop, o.over = stop, true
	if !o.judged {
		o.verified = kernel.Unchecked
	}
}

// judge names what ends the run between two turns.
func (o *oracle) judge() kernel.Stop {
	most := 0
	for _, n := range o.recent {
		most = max(most, n)
	}
	switch {
	case o.judged && o.verdict:
		return kernel.StopVerified
	case o.turns >= o.limits.Turns:
		return kernel.StopTurnLimit
	case o.limits.Repeat > 0 && most >= o.limits.Repeat:
		return kernel.StopRepeated
	}
	return ""
}

// note counts repeats of an action with the same result.
func (o *oracle) note(c *callPlan, words string) {
	t := told{call: requestOf(c), words: words}
	if !o.seen[t] {
		o.seen[t] = true
		clear(o.recent)
	}
	o.recent[t]++
}
