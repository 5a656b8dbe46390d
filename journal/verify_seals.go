package journal

import (
	"context"
	"slices"
)

// readSeals follows the chain over all runs from where it was left to its end,
// and notes what it says of runs. done says that there is a flaw.
func (v *verifier) readSeals(ctx context.Context) (done bool, err error) {
	for {
		page, err := v.r.Seals(ctx, v.last.Seq, pageSize)
		if err != nil {
			return false, err
		}
		for i := range page {
			if v.checkSeal(page[i:]); v.report.Flaw != nil {
				return true, nil
			}
		}
		if len(page) == 0 {
			return v.checkEnd(), nil
		}
	}
}

// checkSeal checks the first seal of a page that goes on.
func (v *verifier) checkSeal(page []Seal) {
	s, want := &page[0], v.last.Seq+1
	switch {
	case s.Seq < want, s.Seq > want && slices.ContainsFunc(page, func(s Seal) bool { return s.Seq == want }):
		v.sealFlaw(FlawReordered, "", want, hintRestore)
		return
	case s.Seq > want:
		v.sealFlaw(FlawMissing, "", want, hintRestore)
		return
	case s.Hash != s.Chain(v.last.Hash):
		v.sealFlaw(FlawAltered, s.Run, s.Seq, hintRestore)
		return
	case (v.only == "" || v.only == s.Run) && !v.note(s):
		v.sealFlaw(FlawAdded, s.Run, s.Seq, hintEarlier)
		return
	}
	v.last = *s
	v.report.Seals++
	v.report.Head = SealedHead{s.Seq, s.Hash}
	if v.kept != nil && v.kept.Seq == s.Seq && v.kept.Hash != s.Hash {
		v.sealFlaw(FlawRewritten, "", s.Seq, hintKeptHead)
	}
}

// note takes in what a seal says, and reports whether a run can be sealed so:
// once with its first record, and once with its last.
func (v *verifier) note(s *Seal) bool {
	known := v.runs[s.Run]
	switch {
	case known == nil && s.Last == 1:
		v.runs[s.Run] = &sealedRun{order: s.Seq, opened: s.Head}
	case known != nil && !known.stopped && s.Last >= 1:
		known.stopped, known.last, known.head = true, s.Last, s.Head
	default:
		return false
	}
	return true
}

// checkEnd compares the end of the chain with the head that was kept.
func (v *verifier) checkEnd() (done bool) {
	if v.kept == nil || v.kept.Seq <= v.last.Seq {
		return false
	}
	v.sealFlaw(FlawCut, "", v.last.Seq+1, "the head that was kept is at seal "+v.kept.String())
	return true
}
