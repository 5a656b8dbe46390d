package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// plan is all that a seed decides beforehand: who asks for what, what the model
// will say, what the tools will do, and what people will do about it.
type plan struct {
	profile     profile
	slots       int // of processes
	lease, poll time.Duration
	relabels    bool   // a process may know the tools under other classes than the one before
	once        []bool // by slot: its processes end when there is nothing to do
	runs        []*runPlan
	faulty      time.Duration // faults end then
}

// restart is how long after its end a process is started again.
func (p *plan) restart(chance *rand.Rand) time.Duration {
	return time.Duration(chance.IntN(20_000)) * time.Millisecond
}

// runPlan is one run.
type runPlan struct {
	id, session, tenant, user string
	question                  string
	begins                    time.Duration

	profile  kernel.Profile
	limits   kernel.Limits
	retry    kernel.Retry
	verify   kernel.VerifyFor
	goOn     bool // an answer that is not verified is sent back
	unknown  kernel.OnUnknown
	pure     bool // its policy only computes
	rules    map[string]rule
	steps    []*step
	wishes   []wish
	contends bool // its calls may meet equal ones of others
	smooth   bool // nothing goes wrong in it of itself

	observed   bool // observers look at its calls
	grumbles   bool // they find fault at times
	tight      bool // requests of it are refused as too long
	summarizes bool // the model itself summarizes it
	notices    []wish

	calls map[string]*callPlan
}

// rule is what policy says of a tool.
type rule struct {
	answer kernel.Answer
	asking *kernel.Asking
	denies time.Duration // from then on it denies; 0: never
}

// stepKind says what the model says at a step.
type stepKind int

const (
	saysCalls stepKind = iota
	saysAnswer
	saysNonsense // a reply that must not be admitted
)

// step is one reply of the model.
type step struct {
	index    int
	kind     stepKind
	calls    []*callPlan
	good     bool                 // an answer that the verifier accepts
	insists  bool                 // it asks again when it hears that something is in doubt
	cut      bool                 // the first reply is truncated
	failures []kernel.FailureKind // of the attempts before
	usage    *kernel.Usage
	took     time.Duration
	deaf     bool // it ignores the end of its context
}

// callPlan is one call.
type callPlan struct {
	run     *runPlan
	id      string
	tool    string
	args    string
	n       int
	key     string
	legal   bool // the tool exists and takes the arguments
	does    []behaviour
	vague   bool // a lookup cannot tell
	goal    bool // its result is what an early verifier looks for
	answers [][]vote
	looked  lookedInto
}

// how says how a tool ends.
type how int

const (
	succeeds how = iota
	declines     // a business error, without effect
	hiccups      // a transient failure, without effect
	stumbles     // a transient failure, in doubt
	breaks       // an error that says nothing
	panics
	doubts // a result in doubt
	dooms  // a fatal failure, without effect
)

// behaviour is what a tool does at one run of a call.
type behaviour struct {
	how           how
	lands         bool // where how leaves it open
	before, after time.Duration
	deaf          bool
}

// vote is what a person will say to a question.
type vote struct {
	by    string
	yes   bool
	after time.Duration
	twice bool // it is delivered twice
	stale bool // under a hash of something else
}

// lookedInto is what people do about an effect in doubt.
type lookedInto struct {
	after  time.Duration // 0: nobody looks
	result bool          // they say what it returned
	vague  int           // how often they cannot tell, before
}

// wishKind is what else people wish.
type wishKind int

const (
	wishCancel wishKind = iota
	wishSay
	wishNotice
)

type wish struct {
	kind  wishKind
	id    string
	after time.Duration
	twice bool
}

// traits are what a tool is, beside its name.
type traits struct {
	class      kernel.EffectClass
	keyed      bool
	window     time.Duration
	exclusive  bool
	classifies bool // its class depends on the arguments
	attempts   int
}

// toolNames are the tools that there are.
func toolNames() []string {
	return []string{"look", "pay", "payk", "payw", "payx", "prog", "put", "putk", "ship", "shipk"}
}

// traitsOf are the traits of a tool; zero for one that there is not.
func traitsOf(name string) traits {
	switch name {
	case "look":
		return traits{class: kernel.Read, attempts: 3}
	case "prog": // with an even number it only reads
		return traits{class: kernel.Once, classifies: true, attempts: 2}
	case "put":
		return traits{class: kernel.Idempotent, attempts: 3}
	case "putk":
		return traits{class: kernel.Idempotent, keyed: true, attempts: 2}
	case "ship":
		return traits{class: kernel.Reconcilable, attempts: 2}
	case "shipk":
		return traits{class: kernel.Reconcilable, keyed: true, attempts: 1}
	case "pay":
		return traits{class: kernel.Once, attempts: 3}
	case "payk":
		return traits{class: kernel.Once, keyed: true, attempts: 2}
	case "payw":
		return traits{class: kernel.Once, window: time.Minute, attempts: 1}
	case "payx":
		return traits{class: kernel.Once, exclusive: true, attempts: 1}
	}
	return traits{}
}

// traits are those of the tool for this call.
func (c *callPlan) traits() traits {
	t := traitsOf(c.tool)
	if t.classifies {
		t.class = classOf(c.n)
	}
	return t
}

func classOf(n int) kernel.EffectClass {
	if n%2 == 0 {
		return kernel.Read
	}
	return kernel.Once
}

// relabelled are the traits of a tool as another version of it has them.
func relabelled(name string) traits {
	t := traitsOf(name)
	switch name {
	case "pay":
		t.class = kernel.Idempotent
	case "put", "putk", "ship":
		t.class = kernel.Once
	}
	return t
}

// call returns the plan of a call that was admitted under that id.
func (r *runPlan) call(id string) *callPlan {
	id, _, _ = strings.Cut(id, "~")
	return r.calls[id]
}

func (p *plan) run(id string) *runPlan {
	for _, r := range p.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// argsOf are the arguments of a call.
func argsOf(n int, key string) string {
	if key == "" {
		return fmt.Sprintf(`{"n":%d}`, n)
	}
	return fmt.Sprintf(`{"n":%d,"key":%q}`, n, key)
}
