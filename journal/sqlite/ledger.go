package sqlite

import "github.com/holdfast-run/holdfast/journal"

const (
	selectEffect      = `SELECT ` + effectColumns + ` FROM effects WHERE id = ?`
	selectKey         = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND key = ?`
	selectResolutions = `SELECT ` + resolutionColumns + ` FROM resolutions WHERE effect = ? ORDER BY number`
	insertEffect      = `INSERT INTO effects (` + effectColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateClaim       = `UPDATE effects SET run = ?, call = ?, session = ?, user = ?, arguments = ?, class = ?, state = ?,
		attempts = ?, claimed_at = ?, settled_at = ?, result = ?, facts = ? WHERE id = ?`
	updateEffect     = `UPDATE effects SET state = ?, settled_at = ?, result = ?, facts = ? WHERE id = ?`
	insertResolution = `INSERT INTO resolutions (` + resolutionColumns + `, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// What can stand against a claim (see journal.Rule).
	selectEqual  = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND request = ? AND state IN ('running', 'unknown')`
	selectOpen   = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND state IN ('running', 'unknown')`
	selectLanded = `SELECT ` + effectColumns + ` FROM effects WHERE tenant = ? AND tool = ? AND request = ? AND state = 'landed'
		ORDER BY settled_at DESC LIMIT 1`
)

// effect returns an effect, or nil. Its resolutions are read where someone
// needs them.
func (t *tx) effect(id string) (*journal.Effect, error) { return one(t, scanEffect, selectEffect, id) }

// claim takes an effect for a call of the run at h, or returns the
// *journal.Refusal.
func (t *tx) claim(h *journal.Head, c *journal.Claim) error {
	own, err := one(t, scanEffect, selectKey, h.Tenant, c.Tool, c.Key)
	if err != nil {
		return err
	}
	var others []journal.Effect
	if own == nil || own.State == journal.EffectNone { // a key that is free
		if others, err = t.against(h.Tenant, c); err != nil {
			return err
		}
	}
	if refusal := journal.Rule(c, h.Run, own, others); refusal != nil {
		if refusal.Effect.Resolutions, err = all(t, scanResolution, selectResolutions, refusal.Effect.ID); err != nil {
			return err
		}
		return refusal
	}
	e := c.Claimed(h, own)
	if own == nil {
		return t.exec(insertEffect, effectRow(&e)...)
	}
	return t.exec(updateClaim, e.Run, e.Call, e.Session, e.User, e.Arguments, string(e.Class), string(e.State),
		e.Attempts, e.ClaimedAt.UnixNano(), orNull(e.SettledAt), e.Result, e.Facts, e.ID)
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

func (t *tx) settle(run string, s *journal.Settlement) error {
	stored, err := t.effect(s.Effect)
	if err != nil {
		return err
	}
	settled, err := journal.Settle(stored, run, s)
	if err != nil || settled.State == stored.State {
		return err
	}
	return t.moveEffect(&settled)
}

func (t *tx) moveEffect(e *journal.Effect) error {
	return t.exec(updateEffect, string(e.State), orNull(e.SettledAt), e.Result, e.Facts, e.ID)
}

// resolving is a resolution on its way.
type resolving struct {
	resolution journal.Resolution
	effect     journal.Effect // as it stands then
}

func (r *resolving) apply(t *tx) error {
	stored, err := t.effect(r.resolution.Effect)
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
	if err := t.moveEffect(&r.effect); err != nil {
		return err
	}
	return t.tell(r.effect.Signal(&r.resolution))
}
