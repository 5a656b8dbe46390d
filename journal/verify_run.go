package journal

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// checkRun checks a run against its head and what the seals say of it. Its head
// is read after its seals, and so is no older than they are.
func (v *verifier) checkRun(ctx context.Context, run string) error {
	head, err := v.r.Head(ctx, run)
	known := v.runs[run]
	switch {
	case kernel.CodeOf(err) == kernel.CodeNotFound && known != nil:
		v.flaw(FlawDropped, run, 0, hintRestore)
		return nil
	case err != nil:
		return err
	case known == nil || head.State == Stopped && !known.stopped: // since its seals were read
		if done, err := v.readSeals(ctx); done || err != nil {
			return err
		}
	}
	v.report.Runs++
	if known = v.runs[run]; known == nil {
		v.flaw(FlawUnsealed, run, 0, hintRestore)
		return nil
	}
	w := walk{v: v, head: &head, known: known, link: Origin(&head), facts: newReplay(&head)}
	for {
		if again, err := w.once(ctx); !again || err != nil {
			return err
		}
	}
}

// walk follows the records of one run.
type walk struct {
	v     *verifier
	head  *Head
	known *sealedRun
	seq   int64 // of the last record that holds
	link  Hash  // its hash
	facts *replay
}

// once checks what is there, and says whether it is to be looked at again: the
// run went on while its rows were read.
func (w *walk) once(ctx context.Context) (again bool, err error) {
	if err := w.records(ctx); err != nil || w.v.report.Flaw != nil {
		return false, err
	}
	if w.end(); w.v.report.Flaw != nil {
		return false, nil
	}
	if err := w.beyond(ctx); err != nil || w.v.report.Flaw != nil {
		return false, err
	}
	if err := w.rows(ctx); err != nil || w.v.report.Flaw == nil {
		return false, err
	}
	return w.wentOn(ctx)
}

// wentOn reports whether the run has gone on, and takes its new head; what was
// found wrong with its rows is nothing then.
func (w *walk) wentOn(ctx context.Context) (bool, error) {
	now, err := w.v.r.Head(ctx, w.head.Run)
	if err != nil || now.LastSeq <= w.seq {
		return false, err
	}
	w.v.report.Flaw = nil
	*w.head = now
	if now.State != Stopped || w.known.stopped {
		return true, nil
	}
	done, err := w.v.readSeals(ctx)
	return !done, err
}

// records reads what the head says there is, a page at a time.
func (w *walk) records(ctx context.Context) error {
	for w.seq < w.head.LastSeq {
		limit := int(min(pageSize, w.head.LastSeq-w.seq))
		records, err := w.v.r.Read(ctx, w.head.Run, w.seq, limit)
		if err != nil {
			return err
		}
		links, err := w.v.r.Links(ctx, w.head.Run, w.seq, limit)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			w.flaw(FlawCut, w.seq+1, hintRestore)
			return nil
		}
		for i := range records {
			if w.record(records[i:], links, i); w.v.report.Flaw != nil {
				return nil
			}
		}
	}
	return nil
}

// record checks the first record of a page that goes on; its hash is the i-th
// of links.
func (w *walk) record(page []Record, links []Hash, i int) {
	r, want := &page[0], w.seq+1
	switch {
	case r.Seq < want, r.Seq > want && slices.ContainsFunc(page, func(r Record) bool { return r.Seq == want }):
		w.flaw(FlawReordered, want, hintRestore)
		return
	case r.Seq > want:
		w.flaw(FlawMissing, want, hintRestore)
		return
	}
	link := Link(w.link, w.head.Run, r)
	switch {
	case i >= len(links) || links[i] != link:
		w.flaw(FlawAltered, want, hintRestore)
	case want == 1 && link != w.known.opened, w.known.stopped && want == w.known.last && link != w.known.head:
		w.flaw(FlawAltered, want, hintEarlier)
	}
	w.seq, w.link = want, link
	w.facts.take(r)
	w.v.report.Records++
}

// end compares the last record with the head and with the seal of the stop.
func (w *walk) end() {
	stopped := w.head.State == Stopped
	switch {
	case w.known.stopped && w.known.last > w.seq:
		w.flaw(FlawCut, w.seq+1, hintRestore)
	case w.known.stopped && w.known.last < w.seq:
		w.flaw(FlawAdded, w.known.last+1, hintEarlier)
	case w.link != w.head.Hash, w.known.stopped && !stopped:
		w.flaw(FlawHead, 0, hintRestore)
	case stopped && !w.known.stopped:
		w.flaw(FlawUnsealed, 0, hintRestore)
	}
}

// beyond looks for records that the head does not know. A run that went on
// meanwhile has another head by now.
func (w *walk) beyond(ctx context.Context) error {
	more, err := w.v.r.Read(ctx, w.head.Run, w.seq, 1)
	if err != nil || len(more) == 0 {
		return err
	}
	now, err := w.v.r.Head(ctx, w.head.Run)
	if err == nil && now.LastSeq == w.seq {
		w.flaw(FlawAdded, w.seq+1, hintRestore)
	}
	return err
}

func (w *walk) flaw(what FlawKind, seq int64, hint string) { w.v.flaw(what, w.head.Run, seq, hint) }
