package memory

import (
	"context"

	"github.com/holdfast-run/holdfast/journal"
)

// Append adds an entry to a run. See [journal.Journal].
func (j *Journal) Append(ctx context.Context, e journal.Entry) error {
	if err := journal.Check(&e); err != nil {
		return err
	}
	if err := j.lock(ctx); err != nil {
		return err
	}
	defer j.mu.Unlock()
	p := plan{j: j, run: j.run(e.Head.Run)}
	if err := p.decide(&e); err != nil {
		return err
	}
	p.commit(&e)
	j.changes++
	return nil
}

// run returns the run of that id; nil: there is none. Most that are asked for
// are open, and those are few.
func (j *Journal) run(id string) *run {
	if r := j.open[id]; r != nil {
		return r
	}
	return j.runs[id]
}

// plan is an entry on its way: decide finds out all that can stand against it
// and writes nothing, commit writes and cannot fail.
type plan struct {
	j     *Journal
	run   *run // nil: new
	lease journal.Lease

	approvals []*journal.Approval // as they stand then, a later one over an earlier
	effects   []*journal.Effect   // likewise
}

func (p *plan) decide(e *journal.Entry) error {
	var stored *journal.Head
	if p.run != nil {
		stored = &p.run.head
	}
	var err error
	if p.lease, err = journal.Follow(stored, e); err != nil {
		return err
	}
	if p.run == nil {
		if err := p.j.checkSession(e); err != nil {
			return err
		}
	}
	return p.facts(e)
}

// facts decides on what the entry says beside its records, step by step: the
// first one that something stands against is the last one. A list of the steps
// would put each plan, and its entry, into memory of their own.
func (p *plan) facts(e *journal.Entry) error {
	err := p.ask(e)
	if err == nil {
		err = p.end(e)
	}
	if err == nil {
		err = p.settle(e)
	}
	if err == nil {
		err = p.claim(e)
	}
	if err == nil {
		err = p.spend(e)
	}
	if err == nil {
		err = p.apply(e)
	}
	return err
}

// checkSession refuses a new run of a session whose last one has not stopped,
// and one that another run has overtaken.
func (j *Journal) checkSession(e *journal.Entry) error {
	h := &e.Head
	if h.Session == "" {
		return nil
	}
	last := j.sessions[sessionOf(h)]
	if last == nil {
		return journal.Overtaken(h, e.Place, 0)
	}
	if last.head.State != journal.Stopped {
		return journal.SessionBusy(h.Session, last.id)
	}
	return journal.Overtaken(h, e.Place, last.place)
}

func (p *plan) commit(e *journal.Entry) {
	r := p.run
	if r == nil {
		r = p.j.begin(&e.Head)
	}
	r.write(e.Records)
	p.j.seal(r, e)
	for _, a := range p.approvals {
		p.j.approvals[a.ID] = a
	}
	for _, effect := range p.effects {
		p.j.ledger.put(effect)
	}
	if p.run == nil && e.Place > 0 {
		p.j.sendLeft(r, e)
	}
	p.j.markSeen(e)
	pending := r.head.Pending - r.take(e.Applied)

	r.head = e.Head
	h := &r.head
	h.StartedAt, h.UpdatedAt, h.Due = instant(h.StartedAt), instant(h.UpdatedAt), instant(h.Due)
	h.LastSeq = int64(len(r.records))
	h.Lease, h.Pending = p.lease, pending
	if h.State == journal.Stopped {
		delete(p.j.open, h.Run)
	}
}

// begin adds a run.
func (j *Journal) begin(h *journal.Head) *run {
	r := &run{id: h.Run}
	r.records = r.first[:0]
	j.runs[h.Run], j.open[h.Run] = r, r
	if h.Session != "" {
		s := sessionOf(h)
		r.place = 1
		if r.before = j.sessions[s]; r.before != nil {
			r.place += r.before.place
		}
		j.sessions[s] = r
	}
	return r
}

// write adds records.
func (r *run) write(records []journal.Record) {
	n := len(r.records)
	r.records = append(r.records, records...)
	for i := n; i < len(r.records); i++ {
		r.records[i].At = instant(r.records[i].At)
	}
}
