package eval

import (
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Format is the version of a report's form.
const Format = 1

// Report is what a suite came to. Its JSON names are an interface.
type Report struct {
	Format   int       `json:"format"`
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at"`
	// Complete says that every trial came to its end. What was interrupted is
	// left out of the trials, and the gate is then not met.
	Complete bool   `json:"complete"`
	Mode     string `json:"mode"`
	Notice   string `json:"notice,omitempty"`
	Setup    Setup  `json:"setup"`
	Overall  Rate   `json:"overall"`
	Totals   Totals `json:"totals"`

	Kinds   map[Kind]Rate `json:"kinds"`
	Classes map[Class]int `json:"classes"` // trials in which a class occurred; only those that did
	Gate    Verdict       `json:"gate"`
	Trials  []Trial       `json:"trials"` // by task as in the file, then by number

	// Compared is beside an earlier report; nil: there is none.
	Compared *Comparison `json:"comparison,omitempty"`
}

// Totals are what all trials took, as far as it was reported.
type Totals struct {
	Turns    int     `json:"turns"`
	Calls    int     `json:"calls"`
	Requests int     `json:"requests"`
	Input    int64   `json:"input_tokens"`
	Output   int64   `json:"output_tokens"`
	Reported int     `json:"replies_with_usage"`
	Median   float64 `json:"median_ms"` // of a trial
	Longest  float64 `json:"longest_ms"`
}

func totalsOf(trials []Trial) (sum Totals) {
	if len(trials) == 0 {
		return sum
	}
	times := make([]float64, len(trials))
	for i := range trials {
		t := &trials[i]
		sum.Turns += t.Turns
		sum.Calls += len(t.Calls)
		sum.Requests += t.Requests
		sum.Input += t.Input
		sum.Output += t.Output
		sum.Reported += t.Reported
		times[i] = t.Elapsed
	}
	slices.Sort(times)
	sum.Median, sum.Longest = times[len(times)/2], times[len(times)-1]
	return sum
}

// Verdict is what the gate says.
type Verdict struct {
	Gate
	Met    bool     `json:"met"`
	Misses []string `json:"misses"`
}

// Setup is what was evaluated: equal setups can be compared.
type Setup struct {
	Model    ModelFacts  `json:"model"`
	Limits   LimitsFacts `json:"limits"`
	Tasks    TasksFacts  `json:"tasks"`
	Trials   int         `json:"trials"` // of each task
	Versions any         `json:"versions"`
	// The hashes are SHA-256 in hex: of the instructions, of the tools with
	// their descriptions and schemas, and of the rules.
	Instructions string `json:"instructions_hash"`
	Tools        string `json:"tools_hash"`
	Policy       string `json:"policy_hash"`
}

// ModelFacts describe the model.
type ModelFacts struct {
	Provider  string         `json:"provider"`
	Name      string         `json:"name"`
	Profile   kernel.Profile `json:"profile"`
	MaxTokens int            `json:"max_tokens"`
	Scripted  bool           `json:"scripted"`
}

// LimitsFacts bound each run.
type LimitsFacts struct {
	Turns    int   `json:"turns"`
	Calls    int   `json:"calls"`
	Repeat   int   `json:"repeat"`
	Deadline int64 `json:"deadline_ms"`
	Timeout  int64 `json:"request_timeout_ms"`
}

// TasksFacts name the file of tasks.
type TasksFacts struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	N    int    `json:"count"`
}

// Trial is one run of a task, with the facts that it was judged by.
type Trial struct {
	Task     string         `json:"task"`
	Kind     Kind           `json:"kind"`
	Number   int            `json:"trial"` // from 1
	Script   string         `json:"script,omitempty"`
	Passed   bool           `json:"passed"`
	Failures []Failure      `json:"failures"`
	Run      string         `json:"run"`
	Tenant   string         `json:"tenant"`
	User     string         `json:"user"`
	Question string         `json:"question"`
	Stop     kernel.Stop    `json:"stop"`
	Detail   string         `json:"detail"`
	Status   desk.Status    `json:"status"`
	Verified kernel.Verdict `json:"verified"`
	Answer   string         `json:"answer"`
	Calls    []Call         `json:"calls"`
	Reads    []Read         `json:"reads"`
	Cited    []string       `json:"citations"`
	Drafts   []string       `json:"draft_ids"` // that came of the run
	State    State          `json:"state"`
	Turns    int            `json:"turns"`
	Requests int            `json:"requests"`
	Input    int64          `json:"input_tokens"`
	Output   int64          `json:"output_tokens"`
	Reported int            `json:"replies_with_usage"`
	Elapsed  float64        `json:"elapsed_ms"`
}

// State counts what everybody had before and after.
type State struct {
	TicketsBefore int `json:"tickets_before"`
	TicketsAfter  int `json:"tickets_after"`
	DraftsBefore  int `json:"drafts_before"`
	DraftsAfter   int `json:"drafts_after"`
}

// count fills in what follows from the trials.
func (r *Report) count(g Gate) {
	type tally struct{ passed, trials int }
	overall, kinds := tally{}, map[Kind]tally{}
	r.Kinds, r.Classes = map[Kind]Rate{}, map[Class]int{}
	for i := range r.Trials {
		t := &r.Trials[i]
		k := kinds[t.Kind]
		k.trials++
		overall.trials++
		if t.Passed {
			k.passed++
			overall.passed++
		}
		kinds[t.Kind] = k
		for _, f := range t.Failures {
			r.Classes[f.Class]++
		}
	}
	r.Totals = totalsOf(r.Trials)
	r.Overall = newRate(overall.passed, overall.trials)
	for kind, k := range kinds {
		r.Kinds[kind] = newRate(k.passed, k.trials)
	}
	misses := g.Misses(r)
	if !r.Complete {
		misses = append(misses, "the evaluation was interrupted")
	}
	r.Gate = Verdict{Gate: g, Met: len(misses) == 0, Misses: misses}
}
