package sim

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// leaseDefects are about who drives a run.
func leaseDefects() []defect {
	return []defect{
		{
			Defect: named("commit reported but lost", "what was reported as committed is there", "records"),
			appends: func(h *handle, e journal.Entry, pass func(journal.Entry) error) error {
				if e.Records[0].Seq > 1 && h.chance.IntN(50) == 0 {
					return nil
				}
				return pass(e)
			},
		},
		{
			Defect:  named("late owner's append accepted", "leases: a late owner cannot append", "lease"),
			appends: passEntry(forgeLease),
		},
		{
			Defect: named("late owner's effect", "leases: a process that was held up asks before it begins", "lease"),
			sleeps: func(p *process, d time.Duration) { p.back += d },
		},
		{
			Defect: named("lease taken early", "leases: nobody takes a run over whose lease holds", "lease"),
			takes:  func(now time.Time) time.Time { return now.Add(time.Hour) },
		},
		{
			Defect: named("second run of a session", "sessions: runs are serial", "session"),
			appends: passEntry(func(_ *handle, e *journal.Entry) {
				e.Head.Session += "/" + e.Head.Run
				e.Place = 0
				e.Asked = slices.Clone(e.Asked)
				for i := range e.Asked {
					a := &e.Asked[i]
					a.Session = e.Head.Session
					a.Hash = a.ContentHash()
				}
			}),
		},
	}
}

// forgeLease appends under the lease of whoever has it, behind what they wrote.
func forgeLease(h *handle, e *journal.Entry) {
	head, err := h.base.Head(background(), e.Head.Run)
	if err != nil || head.Lease.Owner == "" || head.Lease.Owner == h.name {
		return
	}
	e.Lease = &journal.Lease{Owner: head.Lease.Owner, Token: head.Lease.Token, Until: e.Lease.Until}
	e.Records = slices.Clone(e.Records)
	for i := range e.Records {
		e.Records[i].Seq = head.LastSeq + 1 + int64(i)
	}
}

// timeDefects are about clocks.
func timeDefects() []defect {
	return []defect{
		{
			Defect: named("deadline not counted while nobody drives", "I8: the time of a run counts from its start, whoever drives it", "I8"),
			boots:  func(p *process) { p.back = p.queue.now / 2 },
		},
		{
			Defect:  named("late reply runs", "I3, I8: nothing of a reply runs that comes behind the deadline", "I8"),
			waits:   func(p *process, took time.Duration) { p.back += took },
			forgets: func(d time.Duration) bool { return d > 4*time.Second },
		},
		{
			Defect:  named("timer lost", "liveness: a run that can go on goes on", "liveness"),
			forgets: func(d time.Duration) bool { return d < time.Second },
		},
	}
}

// chainDefects are about what lies in the journal.
func chainDefects() []defect {
	return []defect{
		{
			Defect: named("record altered", "the chain names the first altered record", "chain"),
			stores: func(s *simulation) journal.Reader { return &altering{s.base} },
		},
		{
			Defect: named("link skipped", "the chain names what is missing", "chain"),
			stores: func(s *simulation) journal.Reader { return &skipping{s.base} },
		},
		{
			Defect: named("run dropped", "the chain over all runs names a dropped run", "chain"),
			stores: func(s *simulation) journal.Reader { return &dropping{s.base} },
		},
	}
}

// altering shows a journal with one byte changed.
type altering struct{ journal.Reader }

// Read shows the first record with another byte in it.
func (a *altering) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	records, err := a.Reader.Read(ctx, run, after, limit)
	if len(records) > 0 {
		records[0].Payload = bytes.Replace(records[0].Payload, []byte(`"at":18`), []byte(`"at":17`), 1)
	}
	return records, err
}

// skipping shows a journal without the second record of each run.
type skipping struct{ journal.Reader }

// Read leaves a record out.
func (s *skipping) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	records, err := s.Reader.Read(ctx, run, after, limit)
	return slices.DeleteFunc(records, func(r journal.Record) bool { return r.Seq == 2 }), err
}

// dropping shows a journal without its last run.
type dropping struct{ journal.Reader }

// Heads leaves a run out.
func (d *dropping) Heads(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	heads, err := d.Reader.Heads(ctx, q)
	return heads[min(1, len(heads)):], err
}

// Head knows nothing of that run.
func (d *dropping) Head(ctx context.Context, run string) (journal.Head, error) {
	heads, err := d.Reader.Heads(ctx, journal.Query{})
	if err == nil && len(heads) > 0 && heads[0].Run == run {
		return journal.Head{}, journal.NotFound(run)
	}
	return d.Reader.Head(ctx, run)
}
