package eval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Gate is what a suite has to reach.
type Gate struct {
	PassRate *float64         `json:"pass_rate"`       // required: of all trials that came to their end, from 0 to 1
	Kinds    map[Kind]float64 `json:"kinds,omitempty"` // the same, of a kind
	Never    []Class          `json:"never,omitempty"` // classes that may not occur at all
}

// everything is the gate of a file that has none.
func everything() Gate { return Gate{PassRate: new(1.0)} }

func (g *Gate) check(tasks []Task) error {
	if g.PassRate == nil {
		return errors.New("gate.pass_rate is missing")
	}
	if *g.PassRate < 0 || *g.PassRate > 1 {
		return fmt.Errorf("gate.pass_rate: %v is not from 0 to 1", *g.PassRate)
	}
	for _, kind := range slices.Sorted(maps.Keys(g.Kinds)) {
		if rate := g.Kinds[kind]; rate < 0 || rate > 1 {
			return fmt.Errorf("gate.kinds.%s: %v is not from 0 to 1", kind, rate)
		}
		if !slices.ContainsFunc(tasks, func(t Task) bool { return t.Kind == kind }) {
			return fmt.Errorf("gate.kinds: there is no task of the kind %q", kind)
		}
	}
	for _, class := range g.Never {
		if !slices.Contains(Classes(), class) {
			return fmt.Errorf("gate.never: %q is no class of failures", class)
		}
	}
	return nil
}

// Misses says where a report stays below the gate; none: it is met. Without a
// trial nothing is met.
func (g *Gate) Misses(r *Report) []string {
	misses := []string{}
	below := func(what string, rate Rate, least float64) {
		if rate.Trials == 0 || rate.Rate < least {
			misses = append(misses, fmt.Sprintf("%s: %d of %d passed, and %.4g is the least", what, rate.Passed, rate.Trials, least))
		}
	}
	below("overall", r.Overall, *g.PassRate)
	for _, kind := range slices.Sorted(maps.Keys(g.Kinds)) {
		below(string(kind), r.Kinds[kind], g.Kinds[kind])
	}
	for _, class := range g.Never {
		if n := r.Classes[class]; n > 0 {
			misses = append(misses, fmt.Sprintf("%s: in %d trials, and it may not occur", class, n))
		}
	}
	return misses
}
