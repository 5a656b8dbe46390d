package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// MaxSignal is the largest payload of a signal, in bytes: a text of 1 MiB fits
// in it as JSON, whatever it holds.
const MaxSignal = 6<<20 + 1<<10

// SignalKind says what a signal wishes.
type SignalKind string

// The kinds. The journal itself records those of decisions, of resolutions and of
// notices: see Journal.Decide, Journal.Resolve and Journal.Notify.
const (
	SignalCancel  SignalKind = "cancel"
	SignalApprove SignalKind = "approve"
	SignalRefuse  SignalKind = "refuse"
	SignalResolve SignalKind = "resolve"
	SignalSay     SignalKind = "say"
	SignalNotice  SignalKind = "notice"
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

// Ids of the signals that the journal records itself.
const (
	decidedID  = "decided/"  // and the approval's
	resolvedID = "resolved/" // and the effect's, and the resolution's
)

// CheckSignal is what every implementation asks of a signal that is sent:
// INVALID_ARGUMENT for one without an id, a run or an instant, with a payload
// that is no JSON or over MaxSignal, and for one that only a decision or a
// resolution may bring.
func CheckSignal(s *Signal) error {
	switch {
	case s.ID == "" || s.Run == "":
		return invalid("a signal needs an id and a run")
	case strings.HasPrefix(s.ID, decidedID) || strings.HasPrefix(s.ID, resolvedID) || strings.HasPrefix(s.ID, noticeID):
		return invalid("ids of signals that begin with " + decidedID + ", " + resolvedID + " or " + noticeID + " are the journal's own")
	case s.Kind != SignalCancel && s.Kind != SignalSay:
		return invalid(fmt.Sprintf("a signal of the kind %.40q cannot be sent: approvals are decided, effects resolved", s.Kind))
	case !storable(s.At):
		return invalid("a signal needs an instant")
	case len(s.Payload) > MaxSignal:
		return invalid(fmt.Sprintf("the payload of a signal holds at most %d bytes", MaxSignal))
	case s.Payload != nil && !json.Valid(s.Payload):
		return invalid("the payload of a signal is JSON")
	}
	return nil
}

// Untaken is the answer to an entry that takes up a signal which does not wait
// for its run: CONFLICT.
func Untaken(run string, number int64) error {
	return &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("run %q has no signal %d to take up", run, number)}
}

// Unheard is the answer to an entry that stops its run although a signal waits
// which it does not take up, and which somebody was told is recorded: CONFLICT.
// Nobody hears it after the stop.
func Unheard(run string) error {
	return &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("run %q has signals to take up before it stops", run)}
}

// Decision is the payload of an approve or refuse signal.
type Decision struct {
	Approval string     `json:"approval"`
	Cmd      kernel.Seq `json:"cmd"` // the AskHuman
	Call     string     `json:"call"`
	Reason   string     `json:"reason,omitempty"` // of the vote that decided
	By       []string   `json:"by"`               // who voted like that, oldest first
}

// Signal is what tells the run of an approval that v decided.
func (a *Approval) Signal(v Vote) Signal {
	d := Decision{Approval: a.ID, Cmd: a.Cmd, Call: a.Call, Reason: v.Reason, By: []string{}}
	for _, vote := range a.Votes {
		if vote.Approve == v.Approve {
			d.By = append(d.By, vote.By)
		}
	}
	kind := SignalApprove
	if !v.Approve {
		kind = SignalRefuse
	}
	return own(decidedID+a.ID, a.Run, kind, v.By, v.At, d)
}

// Resolved is the payload of a resolve signal. What the call came to, where
// that is known, is with the effect.
type Resolved struct {
	Resolution string         `json:"resolution"` // its id
	Effect     string         `json:"effect"`
	Call       string         `json:"call"`
	As         kernel.Finding `json:"as"`
	Note       string         `json:"note"`
	Evidence   string         `json:"evidence,omitempty"`
}

// Signal is what tells the run of a resolution.
func (e *Effect) Signal(r *Resolution) Signal {
	payload := Resolved{Resolution: r.ID, Effect: e.ID, Call: e.Call, As: r.As, Note: r.Note, Evidence: r.Evidence}
	return own(resolvedID+e.ID+"/"+r.ID, e.Run, SignalResolve, r.By, r.At, payload)
}

func own(id, run string, kind SignalKind, by string, at time.Time, payload any) Signal {
	text, _ := json.Marshal(payload) // strings and numbers
	return Signal{ID: id, Run: run, Kind: kind, By: by, At: instant(at), Payload: text}
}
