package sqlite

import (
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	selectEffect      = `SELECT ` + effectColumns + ` FROM effects WHERE id = ?`
	selectResolutions = `SELECT ` + resolutionColumns + ` FROM resolutions WHERE effect = ? ORDER BY number`
	insertEffect      = `INSERT INTO effects (` + effectColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateClaim       = `UPDATE effects SET run = ?, call = ?, session = ?, user = ?, arguments = ?, class = ?, state = ?,
		attempts = ?, claimed_at = ?, settled_at = ?, result = ?, facts = ? WHERE id = ?`
	landEffect       = `UPDATE effects SET state = ?, settled_at = ?, result = ?, facts = ? WHERE id = ?`
	turnEffect       = `UPDATE effects SET state = ?, settled_at = ? WHERE id = ?` // what has not landed has no result
	insertResolution = `INSERT INTO resolutions (` + resolutionColumns + `, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// What can stand against a claim (see journal.Rule).
	selectEqual  = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND request = ? AND state IN ('running', 'unknown')`
	selectOpen   = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND state IN ('running', 'unknown')`
	selectLanded = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND request = ? AND state = 'landed'
		ORDER BY settled_at DESC LIMIT 1`

	// Short rows are quick to read: most keys are new and most requests have no
	// equal, and a settlement needs little.
	selectAny = `SELECT 1 FROM effects WHERE id = ? UNION ALL
		SELECT 1 FROM effects WHERE tenant = ? AND tool = ? AND request = ? AND state IN ('running', 'unknown') LIMIT 1`
	selectClaimed = `SELECT id, run, call, state, settled_at FROM effects WHERE id = ?`
)

// effect returns an effect as it stands within the entry, or nil. Its
// resolutions are read where someone needs them, and in an entry without a claim
// it is only what journal.Settle looks at.
func (p *plan) effect(id string) (*journal.Effect, error) {
	for i := range slices.Backward(p.effects) {
		if e := &p.effects[i].row; e.ID == id {
			return e, nil
		}
	}
	if p.entry.Claim == nil {
		return one(p.t, scanClaimed, selectClaimed, id)
	}
	return one(p.t, scanEffect, selectEffect, id)
}

func (p *plan) settle() error {
	for i := range p.entry.Settled {
		s := &p.entry.Settled[i]
		stored, err := p.effect(s.Effect)
		if err != nil {
			return err
		}
		settled, err := journal.Settle(stored, p.entry.Head.Run, s)
		if err != nil {
			return err
		}
		if settled.State != stored.State {
			p.effects = append(p.effects, changed[journal.Effect]{row: settled})
		}
	}
	return nil
}

// claim takes an effect, or returns the *journal.Refusal.
func (p *plan) claim() error {
	c, h := p.entry.Claim, &p.entry.Head
	if c == nil {
		return nil
	}
	own, others, err := p.rivals(c)
	if err != nil {
		return err
	}
	if refusal := journal.Rule(c, h.Run, own, others); refusal != nil {
		if refusal.Effect.Resolutions, err = all(p.t, scanResolution, selectResolutions, refusal.Effect.ID); err != nil {
			return err
		}
		return refusal
	}
	p.effects = append(p.effects, changed[journal.Effect]{c.Claimed(h, own), own == nil})
	return nil
}

// rivals returns what journal.Rule decides on: the effect of the claim's own
// key, and the others that can stand against it. What the entry has settled was
// open, so that the short look finds it.
func (p *plan) rivals(c *journal.Claim) (own *journal.Effect, others []journal.Effect, err error) {
	if !c.Exclusive && c.Window == 0 {
		some, err := one(p.t, scanInt, selectAny, c.ID, p.entry.Head.Tenant, c.Tool, c.Request)
		if err != nil || some == nil {
			return nil, nil, err
		}
	}
	if own, err = p.effect(c.ID); err != nil { // which stands for its key
		return nil, nil, err
	}
	others, err = p.others(c)
	return own, others, err
}

// others returns what can stand against a claim, as it stands within the entry.
func (p *plan) others(c *journal.Claim) ([]journal.Effect, error) {
	others, err := p.t.against(p.entry.Head.Tenant, c)
	for i := range p.effects { // what the entry has just settled
		e := &p.effects[i].row
		others = slices.DeleteFunc(others, func(o journal.Effect) bool { return o.ID == e.ID })
		if e.Tool == c.Tool {
			others = append(others, *e)
		}
	}
	return others, err
}

// against returns the effects of other keys that can stand against a claim.
func (t *tx) against(tenant string, c *journal.Claim) (others []journal.Effect, err error) {
	if c.Exclusive {
		others, err = all(t, scanEffect, selectOpen, tenant, c.Tool)
	} else {
		others, err = all(t, scanEffect, selectEqual, tenant, c.Tool, c.Request)
	}
	if err != nil || c.Window == 0 {
		return others, err
	}
	landed, err := all(t, scanEffect, selectLanded, tenant, c.Tool, c.Request)
	return append(others, landed...), err
}

func (t *tx) putEffect(c *changed[journal.Effect]) error {
	e := &c.row
	switch {
	case c.fresh:
		return t.exec(insertEffect, effectRow(e)...)
	case e.State == journal.EffectRunning: // claimed again
		return t.exec(updateClaim, e.Run, e.Call, e.Session, e.User, e.Arguments, string(e.Class), string(e.State),
			e.Attempts, e.ClaimedAt.UnixNano(), orNull(e.SettledAt), e.Result, e.Facts, e.ID)
	case e.State == journal.EffectLanded:
		return t.exec(landEffect, string(e.State), orNull(e.SettledAt), e.Result, e.Facts, e.ID)
	}
	return t.exec(turnEffect, string(e.State), orNull(e.SettledAt), e.ID)
}

// resolving is a resolution on its way.
type resolving struct {
	resolution journal.Resolution
	effect     journal.Effect // as it stands then
}

func (r *resolving) apply(t *tx) error {
	stored, err := one(t, scanEffect, selectEffect, r.resolution.Effect)
	if err != nil {
		return err
	}
	if stored == nil {
		return journal.NoEffect(r.resolution.Effect)
	}
	if stored.Resolutions, err = all(t, scanResolution, selectResolutions, stored.ID); err != nil {
		return err
	}
	var fresh bool
	if r.effect, fresh, err = journal.Find(stored, &r.resolution); err != nil || !fresh {
		return err
	}
	if err := t.exec(insertResolution, append(resolutionRow(&r.resolution), len(stored.Resolutions)+1)...); err != nil {
		return err
	}
	if err := t.putEffect(&changed[journal.Effect]{row: r.effect}); err != nil {
		return err
	}
	return t.tell(r.effect.Signal(&r.resolution))
}
