// Package engine drives runs: it executes the kernel's commands and journals
// its events. It holds the contract and the executor that every engine shares.
package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/verify"
)

// Engine drives runs. Implementations are safe for concurrent use. A journal
// that fails is LOCAL_STORAGE from any method.
type Engine interface {
	// Start begins a run and returns its id, once the run is journaled. What
	// is wrong with s is CONFIGURATION or INVALID_ARGUMENT, that no tool has
	// what it requires NOT_FOUND, that its id or its session is in use CONFLICT
	// (the run of that id can be read then, unless it failed to begin), and that
	// the engine is closed CANCELLED; nothing has started then. After
	// LOCAL_STORAGE a run may be there that nobody drives.
	Start(ctx context.Context, s Start) (string, error)
	// Signal delivers a wish to a run, or, with an empty run, a notice to a session. It is recorded, once for each id, and
	// taken up by whoever drives the run, now or later; a run that waits here
	// goes on with it. INVALID_ARGUMENT for one that is not complete, NOT_FOUND
	// for a run, or an approval or an effect of it, that is not there, RUN_STOPPED when
	// the run has ended, and the errors of journal.Count, Journal.Resolve and
	// Journal.Notify.
	Signal(ctx context.Context, run string, sig Signal) error
	// Watch yields what happens in a run after the record number after, whoever
	// drives it, and ends with the run's stop, or with an error when the journal
	// does not hold it. A watcher never holds up a run: deltas that it is too
	// slow for are dropped, records never. Breaking off is free.
	Watch(ctx context.Context, run string, after int64) iter.Seq2[Update, error]
	// Get returns a run: NOT_FOUND when there is none.
	Get(ctx context.Context, run string) (*Run, error)
	// List returns the runs that match q, latest started first.
	List(ctx context.Context, q journal.Query) ([]journal.Head, error)
}

// Start is a run to begin.
type Start struct {
	Agent    *Agent
	Question string // not blank, valid UTF-8, at most 1 MiB
	Run      string // empty: a new id
	Session  string // empty: a new session of this run alone
	Tenant   string
	User     string
	// Config is kept with the run: a JSON object, without secrets, at most 1 MiB,
	// from which whoever takes the run over makes its agent again. nil: none.
	Config json.RawMessage
	// Requires names the capabilities that this question needs: the one tool
	// that covers them with the fewest others is offered alone.
	Requires []string
}

// Signal is a wish from outside.
type Signal struct {
	// ID makes it the same wish however often it is delivered; empty: a new one.
	ID     string
	Kind   SignalKind
	By     string // who wishes it; for an approval, whose vote it is
	Reason string // for a resolution: the note, which it must have

	Approval string // approve, refuse
	Hash     string // of what was seen; empty: not compared

	Effect   string         // resolve
	As       kernel.Finding // the same
	Result   []byte         // the same: what the call returned, valid UTF-8; nil: not known
	Evidence string         // the same: SHA-256 in hex; empty: none

	Text string // say: valid UTF-8, not blank, at most 1 MiB; notice: 1 to 4,096 bytes

	// Session is whose notice it is where no run is named: it goes to the run of
	// the session that has not stopped, or waits for the next one, the first
	// included. nil: it is for the run's session.
	Session *journal.SessionID
}

// SignalKind says what is wished.
type SignalKind string

// The kinds.
const (
	// SignalCancel ends a run: what is under way is ended, every call is
	// answered. Cancelling twice is cancelling.
	SignalCancel  SignalKind = "cancel"
	SignalApprove SignalKind = "approve"
	SignalRefuse  SignalKind = "refuse"
	SignalResolve SignalKind = "resolve" // an effect whose outcome is unknown
	SignalSay     SignalKind = "say"     // one more message of whoever asked
	// SignalNotice is a text for the next request, which enters no history. It
	// waits until a model has replied to a request that it went with, and what a
	// run leaves of that waits for the next run of the session.
	SignalNotice SignalKind = "notice"
)

// Update is one thing that happened: a record, or a piece of text on its way.
type Update struct {
	Seq     int64        // of the record; 0 for a delta
	Event   kernel.Event // nil for a delta
	Content Content      // of the record, without private reasoning
	// Committed are the messages that the record added to the history, without
	// private reasoning: what the model was told of a call that did not run is
	// in no other place.
	Committed []kernel.Message
	Delta     string // text only; may be lost
	// Waiting says that the run waits for people and nobody drives it: it goes
	// on when they have decided. With nothing else.
	Waiting *kernel.Wait
	Outcome *kernel.Outcome // with the record that stopped the run
}

// Run is a run as the journal has it. History is the run's own part of its
// session.
type Run struct {
	Head    journal.Head
	State   kernel.State
	Outcome *kernel.Outcome // nil: not stopped
	Answer  string          // text of the last committed reply, when it is the answer
	History []kernel.Message
	Results []verify.Result // of the calls that ran, in order
	// NoResults are the calls that were answered without a result, in order.
	NoResults []verify.NoResult
}
