package journal

import (
	"encoding/json"
	"time"
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
