package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// MaxReport bounds a report that is read, in bytes.
const MaxReport = 256 << 20

// Comparison sets a report beside an earlier one of the same tasks. Its JSON
// names are an interface. Of two values the earlier comes first.
type Comparison struct {
	Against time.Time        `json:"against"` // when the earlier evaluation began
	Changed []string         `json:"changed"` // fields of the setups that differ: what is compared is their effect
	Overall [2]Rate          `json:"overall"`
	Kinds   map[Kind][2]Rate `json:"kinds"`
	Classes map[Class][2]int `json:"classes"` // trials in which one occurred, of those that did in either
	Worse   []string         `json:"worse"`   // tasks of whose trials a smaller share passed than before
	Better  []string         `json:"better"`
	Totals  [2]Totals        `json:"totals"`
}

// ReadReport reads a report as JSON. What is none, or is of another format, is
// INVALID_ARGUMENT.
func ReadReport(in io.Reader) (*Report, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxReport+1))
	if err != nil || len(data) > MaxReport {
		return nil, noReport("cannot be read, or is too long", err)
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil || r.Format == 0 {
		return nil, noReport("is no result of an evaluation", err)
	}
	if r.Format != Format {
		return nil, noReport(fmt.Sprintf("has format %d, and %d is read here", r.Format, Format), nil)
	}
	return r, nil
}

func noReport(what string, err error) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the earlier report " + what, Hint: "name the results.json that --out wrote", Err: err}
}

// Fits refuses a report that results of s cannot be compared with, because it is
// of other tasks or was interrupted: INVALID_ARGUMENT.
func (r *Report) Fits(s *Suite) error {
	switch {
	case r.Setup.Tasks.Hash != s.Hash:
		return noReport("is of other tasks", nil)
	case !r.Complete:
		return noReport("was interrupted", nil)
	}
	return nil
}

// Against compares r, which is complete, with an earlier report of the same tasks.
func (r *Report) Against(earlier *Report) *Comparison {
	c := &Comparison{
		Against: earlier.Started, Changed: changed(&earlier.Setup, &r.Setup),
		Overall: [2]Rate{earlier.Overall, r.Overall}, Totals: [2]Totals{earlier.Totals, r.Totals},
		Kinds: map[Kind][2]Rate{}, Classes: map[Class][2]int{}, Worse: []string{}, Better: []string{},
	}
	for _, kind := range Kinds() {
		if before, ok := earlier.Kinds[kind]; ok {
			c.Kinds[kind] = [2]Rate{before, r.Kinds[kind]}
		}
	}
	for i, side := range []*Report{earlier, r} {
		for class, n := range side.Classes {
			pair := c.Classes[class]
			pair[i] = n
			c.Classes[class] = pair
		}
	}
	before, after := earlier.shares(), r.shares()
	for i := range r.Trials {
		task := r.Trials[i].Task
		switch was, is := before[task], after[task]; {
		case r.Trials[i].Number != 1 || was == is:
		case is < was:
			c.Worse = append(c.Worse, task)
		default:
			c.Better = append(c.Better, task)
		}
	}
	return c
}

// shares are what share of the trials of each task passed.
func (r *Report) shares() map[string]float64 {
	passed, trials := map[string]float64{}, map[string]float64{}
	for i := range r.Trials {
		t := &r.Trials[i]
		trials[t.Task]++
		if t.Passed {
			passed[t.Task]++
		}
	}
	for task, n := range trials {
		passed[task] /= n
	}
	return passed
}

// changed names the fields, as in JSON, in which two setups differ.
func changed(a, b *Setup) []string {
	fields := []string{}
	before, after := fieldsOf(a), fieldsOf(b)
	for name, value := range after {
		if before[name] != value {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// fieldsOf has the fields of a setup in one spelling: of what was read from a file
// the types are gone, and with them the order of names. What cannot be written has none.
func fieldsOf(s *Setup) map[string]string {
	var values map[string]any
	if b, err := json.Marshal(s); err != nil || json.Unmarshal(b, &values) != nil {
		return nil
	}
	fields := map[string]string{}
	for name, value := range values {
		if b, err := json.Marshal(value); err == nil {
			fields[name] = string(b)
		}
	}
	return fields
}

func (c *Comparison) write(w *tabwriter.Writer) {
	fmt.Fprintf(w, "\nagainst %s", c.Against.Format(time.RFC3339))
	if len(c.Changed) > 0 {
		fmt.Fprintf(w, " (changed: %s)", strings.Join(c.Changed, ", "))
	}
	was, is := &c.Totals[0], &c.Totals[1]
	fmt.Fprintf(w, "\nMEASURE\tBEFORE\tNOW\npassed\t%.1f %%\t%.1f %%\n", 100*c.Overall[0].Rate, 100*c.Overall[1].Rate)
	fmt.Fprintf(w, "median of a trial\t%.0f ms\t%.0f ms\n", was.Median, is.Median)
	fmt.Fprintf(w, "requests\t%d\t%d\n", was.Requests, is.Requests)
	fmt.Fprintf(w, "tokens in, out\t%d, %d\t%d, %d\n", was.Input, was.Output, is.Input, is.Output)
	for _, t := range []struct {
		name  string
		tasks []string
	}{{"worse", c.Worse}, {"better", c.Better}} {
		if len(t.tasks) > 0 {
			fmt.Fprintf(w, "%s: %s\n", t.name, plain(strings.Join(t.tasks, ", ")))
		}
	}
}
