package journal

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// SignalKind says what a signal wishes.
type SignalKind string

// The kinds.
const (
	SignalCancel  SignalKind = "cancel"
	SignalApprove SignalKind = "approve"
	SignalRefuse  SignalKind = "refuse"
	SignalResolve SignalKind = "resolve"
	SignalSay     SignalKind = "say"
)

// Signal is a wish from outside, on its way to whoever drives the run. It is
// kept once for each id, however often it is delivered.
type Signal struct {
	ID      string // unique within the run; not empty
	Run     string
	Kind    SignalKind
	By      string
	At      time.Time
	Payload json.RawMessage // by kind; nil: none

	Number  int64 // within the run, from 1; filled by the journal
	Applied int64 // the record that took it up; 0: none yet
}

// CheckSignal is what every implementation asks of a signal:
// INVALID_ARGUMENT for one that cannot be kept.
func CheckSignal(s *Signal) error {
	if s.ID == "" || s.Run == "" || s.Kind == "" || !storable(s.At) {
		return invalid("a signal needs an id, a run, a kind and an instant")
	}
	if len(s.Payload) > MaxRecord {
		return invalid(fmt.Sprintf("a signal holds at most %d bytes", MaxRecord))
	}
	return nil
}

// Untaken is the answer to an entry that takes up a signal which does not wait
// for its run: CONFLICT.
func Untaken(run string, number int64) error {
	return &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("run %q has no signal %d to take up", run, number)}
}
