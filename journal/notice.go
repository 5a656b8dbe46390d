package journal

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of notices.
const (
	MaxNotices = kernel.MaxNotices // of a session, that nobody has seen
	MaxNotice  = 4096              // bytes of a text
)

// Notice is a text for whatever the session does next. It is kept once for each
// id, and waits until a model has seen it: a run that has not stopped is sent
// it, and a run that begins finds what others before it left.
type Notice struct {
	ID      string // unique within the session, as kernel.IsName has it
	Tenant  string
	User    string
	Session string // not empty; it need not have had a run
	By      string
	At      time.Time
	Text    string // 1 to MaxNotice bytes, valid UTF-8

	Number int64  // within the session, from 1; filled by the journal
	SeenBy string // the run whose model has seen it, filled by the journal; empty: it waits
}

// SessionID names a session: it belongs to one tenant and user.
type SessionID struct {
	Owner
	Session string
}

// Of returns whose notice it is.
func (n Notice) Of() SessionID { return SessionID{Owner{n.Tenant, n.User}, n.Session} }

// SessionOf returns whose run it is.
func (h *Head) SessionOf() SessionID { return SessionID{h.Owner(), h.Session} }

// CheckNotice is what every implementation asks of a notice: INVALID_ARGUMENT.
func CheckNotice(n *Notice) error {
	switch {
	case !kernel.IsName(n.ID):
		return invalid("a notice needs an id: text that shows, of at most 200 bytes")
	case n.Session == "":
		return invalid("a notice needs a session")
	case !storable(n.At):
		return invalid("a notice needs an instant")
	case n.Text == "" || len(n.Text) > MaxNotice || !utf8.ValidString(n.Text):
		return invalid(fmt.Sprintf("a notice is text of 1 to %d bytes", MaxNotice))
	}
	return nil
}

// TooManyNotices is the answer to a notice for a session that has MaxNotices
// which nobody has seen: CONFLICT.
func TooManyNotices(session string) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("session %q has %d notices that no model has seen", session, MaxNotices),
		Hint:    "let a run of the session go on first",
	}
}

// noticeID and the notice's id name the signal that brings it to a run.
const noticeID = "notice/"

// Noticed is the payload of a notice signal.
type Noticed struct {
	Notice string `json:"notice"`
	Text   string `json:"text"`
}

// Signal is what brings the notice to a run of its session.
func (n *Notice) Signal(run string) Signal {
	return own(noticeID+n.ID, run, SignalNotice, n.By, n.At, Noticed{Notice: n.ID, Text: n.Text})
}

func checkNotices(e *Entry) error {
	for _, ids := range [][]string{e.Noticed, e.Seen} {
		for _, id := range ids {
			if id == "" || e.Head.Session == "" {
				return invalid("an entry takes up notices by their ids, in a session")
			}
		}
	}
	if len(e.Noticed) > 0 && e.Place == 0 {
		return invalid("notices that others left are taken up by the first entry of a run with a place in its session")
	}
	return nil
}
