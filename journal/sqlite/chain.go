package sqlite

import "github.com/holdfast-run/holdfast/journal"

const selectLastSeal = `SELECT ` + sealColumns + ` FROM seals ORDER BY seq DESC LIMIT 1`

// seal adds seals to the chain over all runs. The last one is read once in a
// transaction: other processes add to the chain as well.
func (t *tx) seal(seals []journal.Seal) error {
	if len(seals) > 0 && t.last == nil {
		last, err := one(t, scanSeal, selectLastSeal)
		if err != nil {
			return err
		}
		if last == nil {
			last = &journal.Seal{}
		}
		t.last = last
	}
	for i := range seals {
		s := &seals[i]
		s.Seq = t.last.Seq + 1
		s.Hash = s.Chain(t.last.Hash)
		if err := t.exec(insertSeal, sealRow(s)...); err != nil {
			return err
		}
		t.last = s
	}
	return nil
}
