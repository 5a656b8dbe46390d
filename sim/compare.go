package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// compare holds a run to its forecast: exactly where nothing disturbed it, and
// in what it came to where only work was lost that can be done again.
func (w *watch) compare(r *shadow) {
	f := w.plan.foresee(r.plan)
	exact := !r.disturbed && (!f.asks || w.faults.left == w.faults.budget)
	if f.fuzzy != "" || !exact && (!r.plan.smooth || r.uncertain || r.sentInVain()) {
		return
	}
	w.compared++
	w.seen["compared, exactly: "+strconv.FormatBool(exact)]++
	got, want := r.outcome(), f.outcome()
	if exact {
		got, want = got+r.costs(), want+f.costs()
	}
	if got != want {
		w.failf("reference", "%s came to %s, and should come to %s", r.plan.id, got, want)
	}
	w.compareResults(r, f.results)
	w.compareEffects(r, f.landed)
}

// sentInVain reports that requests were lost until there were too many.
func (r *shadow) sentInVain() bool {
	return r.head.Stop == kernel.StopModelError || r.head.Stop == kernel.StopTruncated
}

func (r *shadow) outcome() string {
	o := r.replay.State.Outcome
	if o == nil {
		return fmt.Sprintf("%s for %s", r.head.State, r.head.WaitingFor)
	}
	return fmt.Sprintf("%s, verified %s, answered %t, %d turns, %d calls", o.Stop, o.Verified, o.Answered, o.Turns, o.Calls)
}

func (f *forecast) outcome() string {
	if f.waits {
		return fmt.Sprintf("%s for %s", journal.Waiting, kernel.WaitApproval)
	}
	return fmt.Sprintf("%s, verified %s, answered %t, %d turns, %d calls", f.stop, f.verified, f.answered, f.turns, f.called)
}

func (r *shadow) costs() string {
	o := r.replay.State.Outcome
	if o == nil {
		return ""
	}
	return fmt.Sprintf(", %d requests, %d replies, %d with usage %+v", o.Requests, o.Replies, o.ReportedReplies, o.Usage)
}

func (f *forecast) costs() string {
	if f.waits {
		return ""
	}
	return fmt.Sprintf(", %d requests, %d replies, %d with usage %+v", f.requests, f.replies, f.reported, f.usage)
}

// compareResults holds what the model was told to what it should be told.
func (w *watch) compareResults(r *shadow, want []told) {
	var got []told
	for _, m := range r.replay.History.Messages() {
		if m.Role == kernel.RoleTool {
			b := &m.Blocks[0]
			got = append(got, told{b.CallID, b.Text, !b.IsError})
		}
	}
	same := func(got, want told) bool {
		return got.call == want.call && got.ok == want.ok && strings.Contains(strings.ReplaceAll(got.words, `\"`, `"`), want.words)
	}
	if !slices.EqualFunc(got, want, same) {
		w.failf("reference", "%s is told %+v, and should be told %+v", r.plan.id, got, want)
	}
}

// compareEffects holds what happened outside to what should happen.
func (w *watch) compareEffects(r *shadow, landed map[string]int) {
	want := map[string]bool{}
	for name := range landed {
		key := "call " + r.plan.id + "/" + name
		tool, business, keyed := strings.Cut(name, " ")
		if keyed {
			key = "key " + business
		} else {
			tool = r.plan.call(name).tool
		}
		want[journal.EffectID(r.plan.tenant, tool, key)] = true
	}
	for _, id := range slices.Sorted(maps.Keys(w.world.effects)) {
		if o := w.world.effects[id]; o.run == r.plan.id && (o.landed > 0) != want[id] {
			w.failf("reference", "effect %s of %s took place: %t", id, r.plan.id, o.landed > 0)
		}
	}
}
