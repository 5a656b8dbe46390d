// Package journal is the append-only record of runs.
package journal

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Journal keeps runs. Implementations are safe for concurrent use, and give
// back exactly the bytes and instants that they were given.
type Journal interface {
	Reader
	// Append writes e in one transaction, durable when it returns nil. The
	// first record's Seq must follow the run's last one, from 1 and without a
	// gap: otherwise CONFLICT, and nothing is written. What Check refuses is
	// INVALID_ARGUMENT, as is a head whose Session, Tenant, User or StartedAt
	// differs from that of the run's first append. Any other failure is
	// LOCAL_STORAGE, or the context's error: after either all of e is there, or
	// nothing of it.
	//
	// The journal may keep the slices inside records: never change their bytes.
	// The list of records is the caller's again once Append returns nil.
	//
	// What an entry carries beside its records is part of the transaction, in
	// the order of Entry's fields: what comes later sees what came before. The
	// journal's own facts can stand against it, and then nothing is written:
	//
	//	LEASE_LOST   another one drives the run (Guard)
	//	CONFLICT     the sequence (Follow); a session whose last run has not
	//	             stopped (SessionBusy); an approval (Ask, End), a claim
	//	             (Settle) or a signal (Untaken) that somebody else was faster with
	//	RUN_STOPPED  nothing follows a stop
	//	*Refusal     the ledger does not give the claim (Rule), or the approval is
	//	             not there to be spent on the call (Spend)
	Append(ctx context.Context, e Entry) error
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
	// Close waits for appends under way and releases the journal. Appends and
	// reads after it fail with LOCAL_STORAGE. Closing twice is harmless.
	Close() error
}

// Reader reads runs. Any failure that a method does not name is LOCAL_STORAGE,
// or the context's error; a negative limit is INVALID_ARGUMENT.
type Reader interface {
	// Read returns the records of a run with Seq greater than after, in order,
	// at most limit (0: all). An unknown run is NOT_FOUND. The slice is the
	// caller's; the bytes inside it may be shared and are never changed.
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
	// Links returns the hashes of a run's records after the given one, in
	// order, at most limit (0: all); NOT_FOUND.
	Links(ctx context.Context, run string, after int64, limit int) ([]Hash, error)
	// Seals returns the chain over all runs behind seal number after, in order,
	// at most limit (0: all).
	Seals(ctx context.Context, after int64, limit int) ([]Seal, error)
	// Changes returns a number that differs after any commit, cheaply: whoever
	// polls looks further only then.
	Changes(ctx context.Context) (int64, error)
}

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

	Asked   []Approval   // new questions of this run, open: see Ask
	Closed  []Close      // of approvals of this run: see End
	Settled []Settlement // of claims of this run: see Settle
	Claim   *Claim       // see Rule
	Spent   string       // the approval that the call was granted: see Spend; empty: none
	Applied []int64      // numbers of the signals that the records took up, by the last record
}

// Record is one event of a run.
type Record struct {
	Seq     int64            // from 1
	At      time.Time        // UTC, to the nanosecond, from 1678 to 2262
	Kind    kernel.EventKind // of Payload; not empty
	Payload []byte           // the event, as kernel.EncodeEvent wrote it; not empty
	Content []byte           // what the event reports about; nil: nothing, which is not the same as empty
}

// State says where a run is, for lists.
type State string

// The states.
const (
	Running State = "running"
	Waiting State = "waiting" // for people; nobody needs to drive it
	Stopped State = "stopped"
)

// Head is the one-row summary of a run.
type Head struct {
	Run       string // not empty
	Session   string // its runs are serial: see SessionBusy; empty: of none
	Tenant    string
	User      string
	State     State
	Stop      kernel.Stop    // when stopped
	Verified  kernel.Verdict // when stopped
	Turns     int
	Question  string    // its first 200 bytes or less, on a rune boundary
	StartedAt time.Time // UTC, to the nanosecond, from 1678 to 2262
	UpdatedAt time.Time // likewise
	// WaitingFor and Approval say what a waiting run waits for: the first open
	// approval, where it is one. Due is when it goes on all the same; zero: never.
	WaitingFor string
	Approval   string
	Due        time.Time

	// Filled by the journal; ignored by Append.
	LastSeq int64
	Hash    Hash // of the last record
	Lease   Lease
	Pending int // signals not taken up
}

// Owner is the identity that runs belong to. Both names count, also when they
// are empty: the zero value owns the runs that were started without a tenant
// and without a user.
type Owner struct {
	Tenant string
	User   string
}

// Ready reports whether somebody can take the run up at now: it has not
// stopped, nobody holds its lease, and it is running, or has a signal that was
// not taken up, or is due.
func (h *Head) Ready(now time.Time) bool {
	if h.State == Stopped || h.Lease.Held(now) {
		return false
	}
	return h.State == Running || h.Pending > 0 || !h.Due.IsZero() && !now.Before(h.Due)
}

// Owner returns whose run it is.
func (h *Head) Owner() Owner { return Owner{h.Tenant, h.User} }

// Query selects heads: those of Owner that pass the filters. The zero value
// selects all.
type Query struct {
	// Owner is whose runs these are: no other's are selected, whatever the
	// filters say. nil: everyone's, for whoever operates the journal.
	Owner *Owner
	// Filters; an empty one matches everything.
	Tenant  string
	User    string
	Session string
	State   State
	Limit   int // 0: all
}

// ApprovalQuery selects approvals. The zero value selects all.
type ApprovalQuery struct {
	Owner *Owner // whose runs'; nil: everyone's
	Run   string
	State ApprovalState // empty: any
	Limit int           // 0: all
}

// EffectQuery selects effects. The zero value selects all.
type EffectQuery struct {
	Owner *Owner // whose runs'; nil: everyone's
	Run   string
	State EffectState // empty: any
	Limit int         // 0: all
}
