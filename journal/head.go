package journal

import (
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

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
	// Signalled selects the runs that have not stopped and have signals which
	// were not taken up.
	Signalled bool
	Limit     int // 0: all
}
