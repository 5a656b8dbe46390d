package sqlite

import (
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// commit carries out a batch and gives each request its own outcome. One that
// the file refuses for its own sake takes only itself out of the transaction.
func (w *writer) commit(batch []*request) {
	for len(batch) > 0 {
		outcomes, failed, err := w.transact(batch)
		if err == nil {
			w.settle(batch, outcomes)
			return
		}
		err = w.file.fault(err)
		if failed < 0 {
			for _, r := range batch {
				r.done <- err
			}
			return
		}
		batch[failed].done <- err
		batch = slices.Delete(batch, failed, failed+1)
	}
}

// settle reports a committed batch: an outcome is nil for what was written.
func (w *writer) settle(batch []*request, outcomes []error) {
	var appends, records, done int64
	for i, r := range batch {
		if outcomes[i] != nil {
			continue
		}
		done++
		if a, ok := r.operation.(*appending); ok {
			appends++
			records += int64(len(a.Records))
		}
	}
	if done > 0 { // counted before anyone can look
		w.commits.Add(1)
		w.appends.Add(appends)
		w.records.Add(records)
	}
	for i, r := range batch {
		r.done <- outcomes[i]
	}
}

// transact carries a batch out in one transaction. The outcomes are those of
// the requests, in order: nil or a refusal. An error means that the transaction
// was rolled back; failed is then the index of the one request that caused it, or -1
// when it concerns them all.
func (w *writer) transact(batch []*request) (outcomes []error, failed int, err error) {
	if err := w.stillThere(); err != nil {
		return nil, -1, err
	}
	if err := w.tx.exec(`BEGIN IMMEDIATE`); err != nil {
		return nil, -1, err
	}
	w.tx.begin()
	outcomes = make([]error, len(batch))
	for i, r := range batch {
		outcomes[i] = r.apply(w.tx)
		if outcomes[i] == nil || refused(outcomes[i]) {
			continue
		}
		w.rollback()
		if ofOneAppend(outcomes[i]) {
			return nil, i, outcomes[i]
		}
		return nil, -1, outcomes[i]
	}
	if err := w.tx.exec(`COMMIT`); err != nil {
		w.rollback()
		return nil, -1, err
	}
	return outcomes, -1, nil
}

// rollback ends a failed transaction. After some failures SQLite has ended it
// already, and says so with an error that means nothing here.
func (w *writer) rollback() {
	_ = w.tx.exec(`ROLLBACK`)
}

// refused says that a request was turned down and has left nothing in the
// transaction.
func refused(err error) bool {
	return kernel.CodeOf(err) != ""
}
