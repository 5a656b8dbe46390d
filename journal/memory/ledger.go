package memory

import (
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

// ledger is the effects, and the ways to those that stand against a claim
// without looking at all. Rows are replaced, never changed.
type ledger struct {
	rows    map[string]*journal.Effect // by id
	equal   map[request]*equals
	unknown map[toolOf][]*journal.Effect
}

type request struct{ tenant, tool, request string }

type toolOf struct{ tenant, tool string }

// equals is what counts of the effects with one request.
type equals struct {
	open   []*journal.Effect // running or unknown
	landed *journal.Effect   // the last one; nil: none
}

func newLedger() ledger {
	return ledger{
		rows:    make(map[string]*journal.Effect),
		equal:   make(map[request]*equals),
		unknown: make(map[toolOf][]*journal.Effect),
	}
}

// put makes e the row of its id.
func (l *ledger) put(e *journal.Effect) {
	if old := l.rows[e.ID]; old != nil {
		l.unlink(old)
	}
	l.rows[e.ID] = e
	same := l.equal[requestOf(e)]
	if same == nil {
		same = &equals{}
		l.equal[requestOf(e)] = same
	}
	switch e.State {
	case journal.EffectUnknown:
		t := toolOf{e.Tenant, e.Tool}
		l.unknown[t] = append(l.unknown[t], e)
		same.open = append(same.open, e)
	case journal.EffectRunning:
		same.open = append(same.open, e)
	case journal.EffectLanded:
		if same.landed == nil || !e.SettledAt.Before(same.landed.SettledAt) {
			same.landed = e
		}
	case journal.EffectNone:
	}
}

// unlink takes a row that is replaced out of the indexes. What has landed stays
// landed.
func (l *ledger) unlink(e *journal.Effect) {
	same := l.equal[requestOf(e)]
	same.open = without(same.open, e)
	t := toolOf{e.Tenant, e.Tool}
	if l.unknown[t] = without(l.unknown[t], e); len(l.unknown[t]) == 0 {
		delete(l.unknown, t)
	}
}

func requestOf(e *journal.Effect) request { return request{e.Tenant, e.Tool, e.Request} }

func without(list []*journal.Effect, e *journal.Effect) []*journal.Effect {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// against yields what may stand against a claim.
func (l *ledger) against(tenant string, c *journal.Claim, yield func(*journal.Effect)) {
	if same := l.equal[request{tenant, c.Tool, c.Request}]; same != nil {
		for _, e := range same.open {
			yield(e)
		}
		if same.landed != nil {
			yield(same.landed)
		}
	}
	if c.Exclusive {
		for _, e := range l.unknown[toolOf{tenant, c.Tool}] {
			yield(e)
		}
	}
}
