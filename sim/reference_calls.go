package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// act takes the calls of a reply.
func (o *oracle) act(s *step) {
	suffix := ""
	if o.again > 0 {
		suffix = fmt.Sprintf("~%d", o.again)
	}
	if o.called+len(s.calls) > o.limits.Calls {
		for _, c := range s.calls {
			o.results = append(o.results, told{c.id + suffix, "Not run: the run stopped before this call", false})
		}
		o.end(kernel.StopToolLimit)
		return
	}
	o.called += len(s.calls)
	may := make([]string, len(s.calls)) // "": it may run
	for i, c := range s.calls {
		may[i] = o.decide(c, c.id+suffix)
	}
	doubt, fatal := false, false
	for i, c := range s.calls {
		id := c.id + suffix
		switch {
		case o.fuzzy != "" || o.waits:
			return
		case fatal && (o.asks || may[i] != ""):
			o.fuzzy = "policy and people may answer before or after the run is over"
		case fatal:
			o.results = append(o.results, told{id, "Not run: the run stopped before this call", false})
		case may[i] == waitsForEver:
			o.waits, o.over = true, true
			return
		case may[i] != "":
			o.tell(c, id, may[i], false)
		default:
			var unsure bool
			unsure, fatal = o.run(c, id)
			doubt = doubt || unsure
		}
	}
	o.afterCalls(s, doubt, fatal)
}

func (o *oracle) afterCalls(s *step, doubt, fatal bool) {
	if o.fuzzy != "" || o.waits {
		return
	}
	if o.verify == kernel.VerifyEachTurn {
		o.look()
	}
	stop := o.judge()
	if fatal && stop != kernel.StopVerified {
		stop = kernel.StopFatal
	}
	if stop != "" {
		o.end(stop)
		return
	}
	if doubt && s.insists && o.again < 2 {
		o.again++
	} else {
		o.again = 0
	}
}

// tell is what the model is told of a call.
func (o *oracle) tell(c *callPlan, id, words string, ok bool) {
	o.results = append(o.results, told{id, words, ok})
	o.note(c, words)
}

const waitsForEver = "waits for people who do not come"

// decide says what policy and people make of a call: "" if it may run.
func (o *oracle) decide(c *callPlan, id string) string {
	if !c.legal {
		return "Not run: "
	}
	rule := o.rules[c.tool]
	last := o.turns >= o.limits.Turns && o.limits.LastTurn == kernel.LastTurnReads
	switch {
	case rule.answer == kernel.Deny:
		return "Not run: denied by policy: says the plan"
	case last && c.traits().class != kernel.Read:
		return "Not run: this was the last turn"
	case rule.answer == kernel.Ask:
		return o.ask(c, id, rule.asking)
	}
	return ""
}

// ask lets the people of the plan decide.
func (o *oracle) ask(c *callPlan, id string, asking *kernel.Asking) string {
	o.asks = true
	if asking == nil {
		asking = &kernel.Asking{}
	}
	for escalated := false; ; escalated = true {
		votes := slices.Clone(c.answers[o.asked[id]%len(c.answers)])
		o.asked[id]++
		slices.SortStableFunc(votes, func(a, b vote) int { return cmp.Compare(a.after, b.after) })
		switch o.count(votes, asking, escalated) {
		case "yes":
			return ""
		case "no":
			return "Not run: not approved: not now"
		}
		switch {
		case asking.Expires == 0:
			return waitsForEver
		case asking.OnExpiry != kernel.ExpiryEscalate || escalated:
			return "Not run: nobody decided about this call in time"
		}
	}
}

// count says what votes come to: yes, no, or neither.
func (o *oracle) count(votes []vote, asking *kernel.Asking, escalated bool) string {
	from := asking.Approvers.From
	if escalated {
		from = asking.Approvers.Escalate
	}
	yes := 0
	for i, v := range votes {
		if i > 0 && v.after == votes[i-1].after {
			o.fuzzy = "two votes come at once"
		}
		late := asking.Expires > 0 && v.after >= asking.Expires
		if late || v.stale || asking.Approvers.NotAsker && v.by == o.user || len(from) > 0 && !slices.Contains(from, v.by) {
			continue
		}
		if !v.yes {
			return "no"
		}
		if yes++; yes >= max(1, asking.Approvers.Quorum) {
			return "yes"
		}
	}
	return ""
}

// run runs a call as often as it may be tried. It reports whether the model is
// left in doubt, and whether the run is over.
func (o *oracle) run(c *callPlan, id string) (doubt, fatal bool) {
	t := c.traits()
	if words := o.claim(c, t); words != "" {
		stored := words != sameInDoubt && words != blockedByDoubt
		o.tell(c, id, words, stored)
		return words == sameInDoubt, false
	}
	landed, unsure := false, false
	var last behaviour
	for attempt := 0; ; attempt++ {
		last = c.does[min(attempt, len(c.does)-1)]
		if last.landing() && t.class != kernel.Read {
			landed = true
		}
		inDoubt := t.class != kernel.Read && last.doubtful()
		unsure = unsure || inDoubt
		again := last.how == hiccups || last.how == stumbles && (t.class == kernel.Read || t.class == kernel.Idempotent)
		if !again || attempt+1 >= t.attempts {
			break
		}
	}
	if last.how == succeeds {
		unsure = false
	}
	return o.came(c, id, &last, landed, unsure)
}

// doubtful reports whether a tool that ends like that leaves its effect in
// doubt.
func (b *behaviour) doubtful() bool {
	return b.how == stumbles || b.how == breaks || b.how == panics || b.how == doubts
}

// came takes what a call came to.
func (o *oracle) came(c *callPlan, id string, last *behaviour, landed, unsure bool) (doubt, fatal bool) {
	t := c.traits()
	if landed {
		o.landed[o.name(c, id)] = 1
	}
	words := o.words(c, last)
	ok := last.how == succeeds || last.how == doubts
	if t.class != kernel.Read {
		state := "none"
		switch {
		case last.how == succeeds:
			state = "landed"
		case unsure:
			state = "unknown"
		}
		o.effects[o.name(c, id)] = standing{c, state, words}
	}
	waits := unsure && o.unknown == kernel.UnknownWait && last.how != dooms
	if waits {
		o.resolve(c, id, landed)
		return false, false
	}
	if unsure && c.looked.after > 0 {
		o.fuzzy = "people may find out before or after it is asked for again"
	}
	o.goal = o.goal || last.how == succeeds && c.goal
	o.tell(c, id, words, ok)
	return last.doubtful() && t.class != kernel.Read, last.how == dooms // whether the model hears of a doubt
}

// name is the key of an effect within the run.
func (o *oracle) name(c *callPlan, id string) string {
	if c.traits().keyed {
		return c.tool + " " + c.key
	}
	return id
}

func (o *oracle) words(c *callPlan, b *behaviour) string {
	switch b.how {
	case succeeds:
		return "done: " + c.tool + " " + c.args + " for " + o.tenant
	case declines:
		return "declined"
	case hiccups:
		return "busy"
	case stumbles:
		return "connection lost"
	case breaks:
		return "broken pipe"
	case panics:
		return "the tool failed unexpectedly"
	case doubts:
		return "sent, no answer"
	}
	return "doomed"
}

// What the model is told of a call that the ledger refuses.
const (
	sameInDoubt    = "Not run: the same request may have taken effect before"
	blockedByDoubt = "Not run: the outcome of an earlier call of this tool is unknown"
)

// claim says what earlier calls of the run have against one: "" nothing.
func (o *oracle) claim(c *callPlan, t traits) string {
	if t.class == kernel.Read {
		return ""
	}
	if own, known := o.effects[o.name(c, "")]; t.keyed && known {
		switch {
		case own.state == "landed":
			return own.words
		case own.state == "unknown" && t.class != kernel.Idempotent:
			return sameInDoubt
		}
		return ""
	}
	blocked := false
	for _, e := range o.effects {
		equal := requestOf(e.call) == requestOf(c)
		switch {
		case e.call.tool != c.tool:
		case e.state == "unknown" && equal:
			return sameInDoubt
		case e.state == "unknown" && t.exclusive:
			blocked = true
		case e.state == "landed" && equal && t.window > 0:
			o.fuzzy = "the window may be over"
		}
	}
	if blocked {
		return blockedByDoubt
	}
	return ""
}

// resolve lets people find out about a call that waits.
func (o *oracle) resolve(c *callPlan, id string, landed bool) {
	name := o.name(c, id)
	e := o.effects[name]
	switch {
	case c.looked.vague > 0:
		o.tell(c, id, "It was looked into, and it is still not known", false)
		o.fuzzy = "people look again later"
	case landed:
		e.state = "landed"
		e.words = "took effect; what it returned is not known"
		if c.looked.result {
			e.words = "found: " + c.tool + " for " + o.tenant
		}
		o.tell(c, id, e.words, true)
	default:
		e.state = "none"
		o.tell(c, id, "It was looked into, and had no effect", false)
	}
	o.effects[name] = e
}
