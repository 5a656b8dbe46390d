// Package journal is the append-only record of runs, with the ledger of their
// effects, the approvals and signals of people, and the leases under which runs
// are driven.
//
// What may be written is decided by pure functions of what is stored (Follow,
// Rule, Settle, Find, Ask, End, Spend, Count, Take), which every implementation
// asks inside its transaction.
//
// # What verification proves
//
// Each record is hashed together with the record before it, the first one with
// whose run it is; each run that opens or stops is hashed into one chain over
// all runs. So nobody changes, drops, adds or moves a record or a run, or gives a
// run to another owner, and leaves the rest as it was, without Verify or
// VerifyAll naming the place.
//
// It proves nothing against someone who rewrites the journal from some place on
// together with all hashes that follow. Such a journal contradicts a head that was
// taken before (LastSeal) and kept where the writer of the journal cannot reach
// it, and only what lies before that head is held to it. The tail of a run that
// has not stopped is held by the run's own head alone, until its stop is sealed.
//
// The ledger, approvals, and what a head says of its run are not chained. They
// follow from the events, which are taken once more, and are held to what those
// come to: no row is gone, added or changed unseen, but for what only people said.
// That is the words of votes and findings, votes on what is still open, and what
// somebody found out after the run's stop. Signals, leases, a head's question, and
// how often a key was claimed by other runs are held to nothing, nor is what
// stands beside events that this program cannot take.
package journal

import (
	"context"
	"time"
)

// Journal keeps runs. Implementations are safe for concurrent use, and give
// back exactly the bytes and instants that they were given.
//
// Any failure that a method does not name is LOCAL_STORAGE, or the context's
// error.
type Journal interface {
	Reader
	Leases
	Inbox
	// Append writes e in one transaction, durable when it returns nil. The
	// first record's Seq must follow the run's last one, from 1 and without a
	// gap: otherwise CONFLICT, and nothing is written. What Check refuses is
	// INVALID_ARGUMENT, as is a head whose Session, Tenant, User or StartedAt
	// differs from that of the run's first append. Any other failure is
	// LOCAL_STORAGE, or the context's error: after either all of e is there, or
	// nothing of it.
	//
	// The journal may keep the slices inside records, and the caller goes on reading
	// them: nobody ever changes their bytes. The list of records is the caller's
	// again once Append returns nil.
	//
	// What an entry carries beside its records is part of the transaction, in
	// the order of Entry's fields: what comes later sees what came before. The
	// journal's own facts can stand against it, and then nothing is written:
	//
	//	LEASE_LOST   another one drives the run (Guard)
	//	CONFLICT     the sequence (Follow); a session whose last run has not
	//	             stopped (SessionBusy), or that has gone on (Overtaken); an
	//	             approval (Ask, End), a claim (Settle) or a signal (Untaken,
	//	             Unheard) that somebody else was faster with
	//	RUN_STOPPED  nothing follows a stop
	//	*Refusal     the ledger does not give the claim (Rule), or the approval is
	//	             not there to be spent on the call (Spend)
	Append(ctx context.Context, e Entry) error
	// Close waits for appends under way and releases the journal. Appends and
	// reads after it fail with LOCAL_STORAGE. Closing twice is harmless.
	Close() error
}

// Leases are the rights to drive runs.
type Leases interface {
	// Acquire takes the lease of a run that is not stopped, for owner, until
	// the given instant: see Take for who gets it. NOT_FOUND, CONFLICT when
	// someone else holds it at now, RUN_STOPPED when nothing is left to drive,
	// INVALID_ARGUMENT (CheckLease).
	Acquire(ctx context.Context, run, owner string, now, until time.Time) (Lease, error)
	// Renew moves the end of leases that are still the caller's. It returns the
	// runs whose lease is not, in the given order: LEASE_LOST for them. A lease
	// that has ended is still the caller's until someone else takes it.
	Renew(ctx context.Context, owner string, runs []string, until time.Time) (lost []string, err error)
	// Release gives a lease back, if it is still the one given; otherwise it
	// changes nothing. NOT_FOUND.
	Release(ctx context.Context, run string, l Lease) error
}

// Inbox takes what people wish of runs.
type Inbox interface {
	// Send records a signal, once for each id: whether it is new. One that is
	// there already is no error, whatever became of the run. RUN_STOPPED,
	// NOT_FOUND, INVALID_ARGUMENT (CheckSignal).
	Send(ctx context.Context, s Signal) (fresh bool, err error)
	// Decide takes a vote (see Count for its errors) and, when it decides the
	// approval, records Approval.Signal for the run in the same transaction, if
	// that has not stopped. The same id again changes nothing. NOT_FOUND,
	// INVALID_ARGUMENT (CheckVote).
	Decide(ctx context.Context, v Vote) (Approval, error)
	// Resolve appends a resolution (see Find for its errors) and records
	// Effect.Signal for the run, if that has not stopped. The same id again
	// changes nothing. NOT_FOUND.
	Resolve(ctx context.Context, r Resolution) (Effect, error)
	// Notify records a notice for a session, once for each id: whether it is new.
	// The session's run that has not stopped is sent Notice.Signal in the same
	// transaction. The same id again changes nothing. CONFLICT (TooManyNotices),
	// INVALID_ARGUMENT (CheckNotice).
	Notify(ctx context.Context, n Notice) (fresh bool, err error)
}

// Reader reads a journal. It needs no lease, and never holds up a writer. Any
// failure that a method does not name is LOCAL_STORAGE, or the context's error;
// a negative limit is INVALID_ARGUMENT. Slices are the caller's; the bytes
// inside them may be shared and are never changed.
type Reader interface {
	RunReader
	FactReader
	ChainReader
	// Changes returns a number that differs after any commit, cheaply: whoever
	// polls looks further only then.
	Changes(ctx context.Context) (int64, error)
}

// RunReader reads runs.
type RunReader interface {
	// Read returns the records of a run with Seq greater than after, in order,
	// at most limit (0: all). An unknown run is NOT_FOUND.
	Read(ctx context.Context, run string, after int64, limit int) ([]Record, error)
	// Head returns a run's head, or NOT_FOUND.
	Head(ctx context.Context, run string) (Head, error)
	// Heads returns the heads that match q, latest started first; of those that
	// started at the same instant, the greater run id first.
	Heads(ctx context.Context, q Query) ([]Head, error)
	// Ready returns the runs that Head.Ready says somebody can take up at now,
	// at most limit (0: all), longest waiting first: the earliest UpdatedAt; of
	// equal ones the smaller run id.
	Ready(ctx context.Context, now time.Time, limit int) ([]Head, error)
	// Signals returns the signals of a run that were not taken up, by number;
	// NOT_FOUND.
	Signals(ctx context.Context, run string) ([]Signal, error)
}

// FactReader reads what the journal keeps of approvals, effects and notices.
type FactReader interface {
	// Approval returns one approval, or NOT_FOUND.
	Approval(ctx context.Context, id string) (Approval, error)
	// Approvals returns those that match, latest asked first; of those asked at
	// the same instant, the greater id first.
	Approvals(ctx context.Context, q ApprovalQuery) ([]Approval, error)
	// Effect returns a row of the ledger, or NOT_FOUND.
	Effect(ctx context.Context, id string) (Effect, error)
	// Effects returns those that match, latest claimed first; of those claimed
	// at the same instant, the greater id first.
	Effects(ctx context.Context, q EffectQuery) ([]Effect, error)
	// Notices returns the notices of a session that no model has seen, by number.
	Notices(ctx context.Context, s SessionID) ([]Notice, error)
}

// ChainReader reads what Verify checks.
type ChainReader interface {
	// AllNotices returns the notices of a session, those that were seen included,
	// by number.
	AllNotices(ctx context.Context, s SessionID) ([]Notice, error)
	// Links returns the hashes of a run's records after the given one, in
	// order, at most limit (0: all); NOT_FOUND.
	Links(ctx context.Context, run string, after int64, limit int) ([]Hash, error)
	// Seals returns the chain over all runs behind seal number after, in order,
	// at most limit (0: all).
	Seals(ctx context.Context, after int64, limit int) ([]Seal, error)
}
