package journal

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// replay takes the events of a run once more, and notes what has to stand
// beside them. It holds one state, and a summary of each claim and question.
type replay struct {
	head  *Head
	state kernel.State
	at    time.Time // of the latest record
	// lost says that an event cannot be taken here: a newer version's, or one
	// that this package's users wrote for themselves. Nothing is noted then.
	lost    bool
	effects map[string]*claimed
	asked   map[string]*question
	found   map[string][]kernel.EffectResolved
	noticed map[string]*noticed
}

func newReplay(h *Head) *replay {
	return &replay{head: h, effects: map[string]*claimed{}, asked: map[string]*question{}, found: map[string][]kernel.EffectResolved{}, noticed: map[string]*noticed{}}
}

func (p *replay) take(r *Record) {
	if p.lost {
		return
	}
	e, err := kernel.DecodeEvent(r.Payload)
	if err != nil {
		p.lost = true
		return
	}
	p.note(e)
	if n, ok := e.(kernel.Noticed); ok {
		p.noticed[n.Notice] = &noticed{by: n.By, size: n.Size, content: r.Content}
	}
	attached := p.state.Attached
	next, commands, err := kernel.Step(p.state, e)
	if err != nil {
		p.lost = true
		return
	}
	p.state, p.at = next, r.At
	p.seen(attached)
	for _, c := range commands {
		p.order(c, r)
	}
}

// note takes in what an event says of the rows, by the state that it comes to.
func (p *replay) note(e kernel.Event) {
	switch e := e.(type) {
	case kernel.CallStarted:
		if c := p.starting(e.Cmd); c != nil {
			p.start(c, &e)
		}
	case kernel.ClaimRefused:
		if c := p.starting(e.Cmd); c != nil && c.Approved && e.Why == kernel.ClaimApproval {
			p.question(c.Asked).gone = true
		}
	case kernel.ApprovalDecided:
		p.question(e.Cmd).decided = &e
	case kernel.EffectResolved:
		p.found[e.Effect] = append(p.found[e.Effect], e)
	}
}

// starting is the call that a RunTool is out for; nil: none.
func (p *replay) starting(cmd kernel.Seq) *kernel.CallState {
	for i := range p.state.Batch {
		if c := &p.state.Batch[i]; c.Stage == kernel.StageStarting && c.Cmd == cmd {
			return c
		}
	}
	return nil
}

func (p *replay) start(c *kernel.CallState, e *kernel.CallStarted) {
	if c.Approved {
		p.question(c.Asked).spent = true
	}
	if e.Effect == "" {
		return
	}
	claim := ClaimOf(p.head, &kernel.RunTool{Call: c.Call, Attempt: c.Attempt, Effect: c.Effect, Key: c.Key}, e.At)
	row := claim.Claimed(p.head, nil)
	row.ID, row.Arguments = e.Effect, nil
	next := &claimed{row: row, own: c.Key == "", content: kernel.CallDigest(c.Call), claims: 1}
	if before := p.effects[e.Effect]; before != nil {
		next.claims += before.claims
	}
	p.effects[e.Effect] = next
}

// order takes in what a command says of the rows.
func (p *replay) order(c kernel.Command, r *Record) {
	switch c := c.(type) {
	case kernel.AskHuman:
		q := p.question(c.Cmd)
		if q.row.ID == "" { // put for the first time
			q.row = Question(p.head, &c, p.state.Now)
			q.row.Arguments = nil // the hash knows them
		}
	case kernel.CloseApproval:
		q := p.question(c.Cmd)
		q.closed, q.closedAt = ApprovalState(c.As), timeOf(p.state.Now)
	case kernel.Settle:
		if e := p.effects[c.Effect]; e != nil {
			e.settle(&c, timeOf(p.state.Now), r.Content)
		}
	}
}

func (p *replay) question(cmd kernel.Seq) *question {
	id := ApprovalID(p.head.Run, cmd)
	q := p.asked[id]
	if q == nil {
		q = &question{}
		p.asked[id] = q
	}
	return q
}

// claimed is what the events say of an effect: the latest claim of this run,
// and what became of that.
type claimed struct {
	row     Effect // without its arguments and its result
	own     bool   // the key is the run's and the call's: nobody else claims it
	content string // kernel.CallDigest
	claims  int    // of this run, so far
	// doubted says that it has been unknown since its claim: people could say
	// then what became of it. maybe says the same of a claim without effect, where
	// an earlier one of another run may have been in doubt.
	doubted, maybe bool
	result         Hash // of what is stored as its result, where Facts are
}

// settle does what Settle does to the row.
func (c *claimed) settle(s *kernel.Settle, at time.Time, content []byte) {
	row, err := Settle(&c.row, c.row.Run, &Settlement{Effect: s.Effect, Call: s.Call, Disposition: s.Disposition, At: at})
	if err != nil || row.State == c.row.State {
		return // somebody was faster: what they did is in the row
	}
	c.row = row
	switch row.State {
	case EffectUnknown:
		c.doubted = true
	case EffectNone:
		c.maybe = true
	case EffectLanded:
		if s.Result != nil && len(content) > 0 {
			c.row.Facts, _ = json.Marshal(s.Result) // strings and numbers
			c.result = sha256.Sum256(content)
		}
	case EffectRunning:
	}
}

// question is what the events say of an approval.
type question struct {
	row      Approval // as it was asked, without its arguments
	decided  *kernel.ApprovalDecided
	closed   ApprovalState // empty: it was not
	closedAt time.Time
	spent    bool
	gone     bool // the journal did not give it for its call: what it is says nothing
}
