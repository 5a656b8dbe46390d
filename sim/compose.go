package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// composer makes plans.
type composer struct {
	*rand.Rand

	plan    *plan
	next    int      // a number that no other call has
	common  []string // tools that runs which contend use most
	crowded bool     // all runs are of one tenant, and contend
}

// compose makes the plan of a seed; beside decides what goes beside the runs.
func compose(chance, beside *rand.Rand) *plan {
	all := profiles()
	c := &composer{Rand: chance, plan: &plan{
		profile: all[chance.IntN(len(all))],
		slots:   1 + chance.IntN(3),
		lease:   time.Duration(3+chance.IntN(20)) * time.Second,
		poll:    time.Duration(1+chance.IntN(8)) * time.Second,
		faulty:  10 * time.Minute,
	}}
	for range 3 {
		c.plan.once = append(c.plan.once, c.chanceOf(15))
	}
	for range 2 {
		c.common = append(c.common, pick(c, toolNames()...))
	}
	c.plan.relabels = c.chanceOf(10)
	c.crowded = c.chanceOf(20)
	if c.plan.profile.naps { // somebody has to take over
		c.plan.slots = max(2, c.plan.slots)
	}
	for i := range 1 + chance.IntN(6) {
		c.plan.runs = append(c.plan.runs, c.run(i))
	}
	attend(c.plan, beside)
	return c.plan
}

func (c *composer) chanceOf(percent int) bool { return c.IntN(100) < percent }

func (c *composer) upTo(d time.Duration) time.Duration {
	return time.Duration(c.Int64N(int64(d/time.Millisecond)+1)) * time.Millisecond
}

func pick[T any](c *composer, list ...T) T { return list[c.IntN(len(list))] }

func (c *composer) run(i int) *runPlan {
	tenant := pick(c, "red", "blue")
	r := &runPlan{
		id: fmt.Sprintf("run-%d", i), session: fmt.Sprintf("session-%d", i), tenant: tenant, user: pick(c, people()...),
		question: fmt.Sprintf("question of run-%d", i), begins: c.upTo(pick(c, time.Second, 8*time.Second)),
		limits: kernel.Limits{Turns: 12, Calls: 40, Deadline: 4 * time.Hour},
		retry:  kernel.Retry{Attempts: 5, PerRun: 60, Wait: time.Minute},
		pure:   c.chanceOf(60), contends: c.chanceOf(35),
		rules: map[string]rule{}, calls: map[string]*callPlan{},
	}
	if c.crowded {
		r.tenant, r.contends, r.begins = "red", true, c.upTo(time.Second)
	} else if i > 0 && c.chanceOf(40) { // a session of several runs, or one of the same name
		other := pick(c, c.plan.runs...)
		r.session = other.session
		if c.chanceOf(70) {
			r.tenant, r.user = other.tenant, other.user
		}
	}
	if !c.crowded && c.chanceOf(35) {
		r.smooth, r.contends = true, false
	}
	c.settings(r)
	c.policy(r)
	c.steps(r)
	if !r.smooth {
		c.wishes(r)
	}
	return r
}

func people() []string { return []string{"ann", "bob", "cyd", "dee"} }

func (c *composer) settings(r *runPlan) {
	if c.chanceOf(20) {
		r.profile = kernel.Tolerant
	}
	if c.chanceOf(25) {
		r.verify = kernel.VerifyAnswer
		r.goOn = c.chanceOf(50)
	} else if c.chanceOf(15) {
		r.verify = kernel.VerifyEachTurn
	}
	if c.chanceOf(30) {
		r.unknown = kernel.UnknownWait
	}
	if c.chanceOf(15) {
		r.limits.Turns = 1 + c.IntN(5)
		r.limits.LastTurn = pick(c, kernel.LastTurnRun, kernel.LastTurnReads)
	}
	if c.chanceOf(10) {
		r.limits.Calls = 1 + c.IntN(5)
	}
	if c.chanceOf(20) {
		r.limits.Repeat = 2 + c.IntN(3)
	}
	if r.smooth {
		return
	}
	if c.chanceOf(15) {
		r.limits.Deadline = time.Duration(5+c.IntN(60)) * time.Second
	}
	if c.chanceOf(15) {
		r.limits.Tokens = int64(2000 + c.IntN(8000))
	}
	if c.chanceOf(15) {
		r.retry = kernel.Retry{Attempts: 1 + c.IntN(4), PerRun: 4 + c.IntN(20), Wait: time.Duration(c.IntN(10)) * time.Second}
	}
}

// policy decides which tools are allowed, asked about and denied.
func (c *composer) policy(r *runPlan) {
	for _, name := range toolNames() {
		switch n := c.IntN(100); {
		case n < 6:
			r.rules[name] = rule{answer: kernel.Deny}
		case n < 30 && name != "look":
			r.rules[name] = rule{answer: kernel.Ask, asking: c.asking(r)}
		default:
			r.rules[name] = rule{answer: kernel.Allow}
		}
		if rule := r.rules[name]; rule.answer != kernel.Deny && !r.smooth && c.chanceOf(4) {
			rule.denies = c.upTo(2 * time.Minute)
			r.rules[name] = rule
		}
	}
}

func (c *composer) asking(r *runPlan) *kernel.Asking {
	if r.smooth || c.chanceOf(10) {
		return nil
	}
	a := &kernel.Asking{}
	if c.chanceOf(80) {
		a.Expires = 30*time.Second + c.upTo(4*time.Minute)
	}
	if c.chanceOf(30) {
		a.Grant = time.Second + c.upTo(2*time.Minute)
	}
	a.Approvers.NotAsker = c.chanceOf(30)
	if c.chanceOf(25) {
		a.Approvers.Quorum = 2
	}
	if c.chanceOf(25) {
		a.Approvers.From = slices.DeleteFunc(people(), func(who string) bool { return who == r.user && c.chanceOf(50) })
	}
	if a.Expires > 0 && c.chanceOf(30) {
		a.OnExpiry = kernel.ExpiryEscalate
		a.Approvers.Escalate = []string{"eve", "fay"}
	}
	return a
}

func (c *composer) steps(r *runPlan) {
	for range c.IntN(5) {
		c.callStep(r)
	}
	if c.chanceOf(4) {
		c.add(r, &step{kind: saysNonsense, calls: []*callPlan{c.call(r, "x", 0)}})
		return
	}
	answers := 1
	if r.goOn {
		answers += c.IntN(3)
	}
	for i := range answers {
		c.add(r, &step{kind: saysAnswer, good: i == answers-1 && c.chanceOf(70)})
	}
	for range 3 { // for what people say on top
		c.add(r, &step{kind: saysAnswer, good: true})
	}
}

// add completes a step.
func (c *composer) add(r *runPlan, s *step) {
	s.index = len(r.steps)
	s.took = c.took()
	s.deaf = c.chanceOf(30)
	if c.chanceOf(85) {
		s.usage = &kernel.Usage{Input: int64(10 + c.IntN(300)), Output: int64(1 + c.IntN(100))}
	}
	switch {
	case s.kind == saysNonsense:
	case c.chanceOf(6):
		s.cut = true
	case c.chanceOf(20):
		for range 1 + c.IntN(2) {
			s.failures = append(s.failures, pick(c, kernel.FailConnection, kernel.FailTimeout, kernel.FailCut, kernel.FailStatus))
		}
	}
	r.steps = append(r.steps, s)
}

func (c *composer) callStep(r *runPlan) {
	s := &step{kind: saysCalls, insists: c.chanceOf(50)}
	n := 1
	for n < 4 && c.chanceOf(40) {
		n++
	}
	for i := range n {
		s.calls = append(s.calls, c.call(r, fmt.Sprintf("s%dc%d", len(r.steps), i), i))
	}
	c.add(r, s)
}

func (c *composer) call(r *runPlan, id string, _ int) *callPlan {
	p := &callPlan{run: r, id: id, tool: pick(c, toolNames()...), legal: true}
	c.next++
	p.n = 1000*c.next + c.IntN(1000)
	kind := traitsOf(p.tool)
	if kind.keyed {
		p.key = fmt.Sprintf("key-%d", p.n)
	}
	if r.contends {
		if c.chanceOf(60) {
			p.tool = pick(c, c.common...)
			kind = traitsOf(p.tool)
		}
		p.n = c.IntN(2)
		if kind.keyed {
			p.key = fmt.Sprintf("key-%d", c.IntN(3))
		}
	}
	p.args = argsOf(p.n, p.key)
	if c.chanceOf(3) {
		p.legal = false
		p.args = pick(c, `{"n":"one"}`, `{"n":1,"who":"me"}`, `{}`)
	} else if c.chanceOf(2) {
		p.legal = false
		p.tool = "fly"
	}
	for range 6 {
		b := c.behaviour(p.traits().class)
		if r.smooth {
			b.how = succeeds
		}
		if r.contends {
			b.before += c.upTo(3 * time.Second)
		}
		p.does = append(p.does, b)
	}
	p.vague = !r.smooth && c.chanceOf(15)
	p.goal = c.chanceOf(20)
	c.decisions(r, p)
	if r.unknown == kernel.UnknownWait || c.chanceOf(40) {
		p.looked = lookedInto{after: time.Second + c.upTo(2*time.Minute), result: c.chanceOf(50), vague: c.IntN(3) / 2}
	}
	r.calls[id] = p
	return p
}

func (c *composer) behaviour(class kernel.EffectClass) behaviour {
	b := behaviour{lands: c.chanceOf(50), deaf: c.chanceOf(30), before: c.took(), after: c.took()}
	switch n := c.IntN(100); {
	case n < 70:
	case n < 75:
		b.how = declines
	case n < 82:
		b.how = hiccups
	case n < 87:
		b.how = stumbles
	case n < 91:
		b.how = breaks
	case n < 94:
		b.how = panics
	case n < 98:
		b.how = doubts
	case n < 99:
		b.how = dooms
	}
	if class == kernel.Read && b.how == doubts {
		b.how = succeeds
	}
	return b
}

// took is how long something takes: mostly not long, at times longer than
// leases.
func (c *composer) took() time.Duration {
	switch n := c.IntN(20); {
	case n < 12:
		return 0
	case n < 18:
		return c.upTo(time.Second)
	case n < 19:
		return c.upTo(10 * time.Second)
	}
	return c.upTo(40 * time.Second)
}

// decisions are what people say to the questions about a call, one list for
// each time that it is asked.
func (c *composer) decisions(r *runPlan, p *callPlan) {
	for range 4 {
		yes := c.chanceOf(70)
		var votes []vote
		who := people()
		if r.rules[p.tool].asking != nil && r.rules[p.tool].asking.OnExpiry == kernel.ExpiryEscalate {
			who = append(who, "eve", "fay")
		}
		c.Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
		if c.chanceOf(10) {
			who = who[:1] // it may not be enough, nor allowed
		}
		for _, by := range who {
			v := vote{by: by, yes: yes, after: c.upTo(40 * time.Second), twice: c.chanceOf(20), stale: c.chanceOf(5)}
			if r.smooth {
				v.yes, v.stale = true, false
			} else if c.chanceOf(10) {
				v.yes = !v.yes
			}
			if asking := r.rules[p.tool].asking; asking != nil && asking.Expires > 0 && c.chanceOf(20) { // a race with the expiry
				v.after = asking.Expires - 2*time.Second + c.upTo(6*time.Second)
			} else if c.chanceOf(15) {
				v.after += c.upTo(5 * time.Minute)
			}
			votes = append(votes, v)
		}
		p.answers = append(p.answers, votes)
	}
}

func (c *composer) wishes(r *runPlan) {
	if c.chanceOf(12) {
		r.wishes = append(r.wishes, wish{kind: wishCancel, id: "cancel-" + r.id, after: c.upTo(90 * time.Second), twice: c.chanceOf(40)})
	}
	for i := range max(0, c.IntN(6)-3) {
		r.wishes = append(r.wishes, wish{kind: wishSay, id: fmt.Sprintf("say-%d-%s", i, r.id), after: c.upTo(60 * time.Second), twice: c.chanceOf(40)})
	}
}
