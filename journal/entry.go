package journal

import (
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Entry is one append to a run: all of it is committed, or nothing.
type Entry struct {
	Head    Head     // the run's head from now on
	Records []Record // at least one

	// Lease is what the run is driven under; it is renewed until Lease.Until.
	// The first entry of a run takes it, with the token 1. nil: see Guard.
	Lease *Lease
	// Now is the driver's clock, for the lease; needed with it. Without a lease
	// the zero value is before the end of every stored one.
	Now time.Time
	// Release gives the lease back with the entry. Needs one.
	Release bool

	// Place is the number of a new run among those of its session, from 1: it goes
	// on from what the runs before it said, so that none may have come in between
	// (see Overtaken). Of a first entry alone; 0: it does not matter.
	Place int

	Asked   []Approval   // new questions of this run, open: see Ask
	Closed  []Close      // of approvals of this run: see End
	Settled []Settlement // of claims of this run: see Settle
	Claim   *Claim       // see Rule
	Spent   string       // the approval that the call was granted: see Spend; empty: none
	Applied []int64      // numbers of the signals that the records took up, by the last record
	// Noticed are the ids of notices of the session that the first entry of a run
	// with a Place takes up. Of what else waits there then the run is sent signals.
	Noticed []string
	// Seen are the ids of notices of the session that a model has seen: they wait
	// no more. One that does not wait is none.
	Seen []string
	// Heard says that nothing that was sent to the run may be left over when the
	// entry stops it: see Unheard.
	Heard bool
}

// Record is one event of a run.
type Record struct {
	Seq     int64            // from 1
	At      time.Time        // UTC, to the nanosecond, from 1678 to 2262
	Kind    kernel.EventKind // of Payload; not empty
	Payload []byte           // the event, as kernel.EncodeEvent wrote it; not empty
	Content []byte           // what the event reports about; nil: nothing, which is not the same as empty
}
