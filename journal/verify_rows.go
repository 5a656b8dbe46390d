package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

const hintRow = "it was changed beside its run's events: compare with a backup; runs show tells what the events say"

// rows holds what stands beside the records to what they come to. Of a run that
// went on meanwhile it is ahead of them: see checkRun.
func (w *walk) rows(ctx context.Context) error {
	if w.facts.lost {
		return nil
	}
	if detail := w.facts.summaryDiffers(w.head); detail != "" {
		w.rowFlaw(FlawSummary, "", detail)
		return nil
	}
	if err := w.effects(ctx); err != nil || w.v.report.Flaw != nil {
		return err
	}
	if err := w.approvals(ctx); err != nil || w.v.report.Flaw != nil {
		return err
	}
	return w.notices(ctx)
}

func (w *walk) rowFlaw(what FlawKind, id, detail string) {
	w.v.report.Flaw = &Flaw{What: what, Run: w.head.Run, ID: id, Detail: detail, Hint: hintRow}
}

// unleased says that the run was begun by a version that had no leases. It kept
// no approvals, and its head did not say that it waits.
func unleased(h *Head) bool { return h.Lease.Token == 0 }

func (p *replay) summaryDiffers(h *Head) string {
	want := Head{Run: h.Run}
	want.Reach(&p.state, p.at)
	switch {
	case unleased(h) && h.State != Stopped && want.State != Stopped:
		return ""
	case h.State != want.State:
		return "has another state"
	case h.Stop != want.Stop:
		return "has another stop"
	case h.Verified != want.Verified:
		return "has another verdict"
	case h.Turns != want.Turns:
		return "has another number of turns"
	case h.WaitingFor != want.WaitingFor || h.Approval != want.Approval || !h.Due.Equal(want.Due):
		return "waits for something else"
	case !h.UpdatedAt.Equal(want.UpdatedAt):
		return "changed at another time"
	}
	return ""
}

// effects holds the ledger to the claims of the run, and each of its rows to a
// claim.
func (w *walk) effects(ctx context.Context) error {
	rows, err := w.v.r.Effects(ctx, EffectQuery{Run: w.head.Run})
	if err != nil {
		return err
	}
	stored := map[string]bool{}
	for i := range rows {
		e := &rows[i]
		stored[e.ID] = true
		if detail := w.facts.effectDiffers(e); detail != "" {
			w.rowFlaw(FlawEffect, e.ID, detail)
			return nil
		}
	}
	for _, id := range sortedKeys(w.facts.effects) {
		if stored[id] {
			continue
		}
		if detail, err := w.elsewhere(ctx, id); err != nil || detail != "" {
			w.rowFlawIf(err, FlawEffect, id, detail)
			return err
		}
	}
	return nil
}

func (w *walk) rowFlawIf(err error, what FlawKind, id, detail string) {
	if err == nil {
		w.rowFlaw(what, id, detail)
	}
}

// elsewhere looks at an effect that this run claimed and does not hold: another
// one has claimed it since.
func (w *walk) elsewhere(ctx context.Context, id string) (detail string, err error) {
	e, err := w.v.r.Effect(ctx, id)
	switch {
	case kernel.CodeOf(err) == kernel.CodeNotFound:
		return "is gone", nil
	case err != nil:
		return "", err
	case e.Run == w.head.Run: // since the list was read
		return w.facts.effectDiffers(&e), nil
	}
	if want := &w.facts.effects[id].row; e.Tenant != want.Tenant || e.Tool != want.Tool || e.Key != want.Key {
		return "is about something else", nil
	}
	if !w.facts.resolutionsHold(&e) {
		return "lacks a finding", nil
	}
	holds, err := w.v.claims(ctx, &e)
	if err == nil && !holds {
		detail = "is said to be a run's that did not claim it"
	}
	return detail, err
}

// claims says whether the run of a row has begun its call with that effect.
func (v *verifier) claims(ctx context.Context, e *Effect) (bool, error) {
	for after := int64(0); ; after += pageSize {
		page, err := v.r.Read(ctx, e.Run, after, pageSize)
		if kernel.CodeOf(err) == kernel.CodeNotFound || err == nil && len(page) == 0 {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for i := range page {
			if page[i].Kind == kernel.KindCallStarted && mayBegin(page[i].Payload, e) {
				return true, nil
			}
		}
	}
}

// mayBegin says whether a CallStarted takes the claim that the row is of. Of one
// that a newer version wrote it is not known.
func mayBegin(payload []byte, e *Effect) bool {
	event, err := kernel.DecodeEvent(payload)
	s, ok := event.(kernel.CallStarted)
	return err != nil || ok && s.Effect == e.ID && s.Call == e.Call && timeOf(s.At).Equal(e.ClaimedAt)
}

// effectDiffers says what of a row of this run is not what the events say.
func (p *replay) effectDiffers(e *Effect) string {
	c := p.effects[e.ID]
	if c == nil {
		return "was never claimed by the run"
	}
	want := &c.row
	call := kernel.Call{Name: e.Tool, Arguments: string(e.Arguments)}
	switch {
	case e.Call != want.Call || !e.ClaimedAt.Equal(want.ClaimedAt):
		return "is said to be another call's"
	case e.Session != want.Session || e.Tenant != want.Tenant || e.User != want.User:
		return "is said to be someone else's"
	case e.ID != EffectID(e.Tenant, e.Tool, e.Key) || e.Key != want.Key || kernel.CallDigest(call) != c.content ||
		e.Fingerprint != want.Fingerprint || e.Request != want.Request || e.Class != want.Class:
		return "is about something else"
	case e.Attempts < c.claims || c.own && e.Attempts != c.claims:
		return "has another number of claims"
	case !p.resolutionsHold(e):
		return "lacks a finding"
	case !c.explains(e):
		return "has another state or result"
	}
	return ""
}

// explains says whether the row is as it was settled, or as people found since.
func (c *claimed) explains(e *Effect) bool {
	again := !c.own && e.Attempts > c.claims || c.claims > 1 // what was before the claim counts too
	return c.settledSo(e, again) || (c.doubted || c.maybe && again) && foundSo(e)
}

func (c *claimed) settledSo(e *Effect, again bool) bool {
	bare := len(e.Result) == 0 && len(e.Facts) == 0
	switch {
	case e.State == EffectUnknown && c.maybe && again:
		return bare && !e.SettledAt.IsZero()
	case e.State != c.row.State, !e.SettledAt.Equal(c.row.SettledAt) && !(e.State == EffectRunning && again):
		return false
	case len(c.row.Facts) == 0:
		return bare
	}
	return bytes.Equal(e.Facts, c.row.Facts) && sha256.Sum256(e.Result) == c.result
}

// foundSo says whether the last resolution makes the row what it is.
func foundSo(e *Effect) bool {
	if len(e.Resolutions) == 0 || len(e.Facts) > 0 {
		return false
	}
	last := &e.Resolutions[len(e.Resolutions)-1]
	state := EffectUnknown
	switch last.As {
	case kernel.FoundLanded:
		state = EffectLanded
	case kernel.FoundNoEffect:
		state = EffectNone
	case kernel.FoundUnknown:
		return false // it changes nothing
	}
	return e.State == state && e.SettledAt.Equal(last.At) && bytes.Equal(e.Result, last.Result)
}

// resolutionsHold says whether each finding that the run was told of is there.
func (p *replay) resolutionsHold(e *Effect) bool {
	for i := range p.found[e.ID] {
		told, there := &p.found[e.ID][i], false
		for k := range e.Resolutions {
			r := &e.Resolutions[k]
			there = there || r.As == told.As && r.Evidence == told.Evidence && kernel.Clip(r.By, len(told.By)) == told.By
		}
		if !there {
			return false
		}
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
