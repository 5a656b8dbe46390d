package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// report is a run as --json prints it. The names are an interface.
type report struct {
	Run     string `json:"run"`
	Session string `json:"session"`
	State   string `json:"state"`
	waits
	Pending  int    `json:"pending_signals,omitempty"`
	Stop     string `json:"stop"` // empty while it runs
	Detail   string `json:"detail"`
	Verified string `json:"verified"`
	Text     string `json:"text"`
	Turns    int    `json:"turns"`
	// Calls is null after a host_error, which claims no full record (row 21).
	Calls    *int     `json:"calls"`
	Requests int      `json:"requests"`
	Usage    tokens   `json:"usage"`
	Warnings []string `json:"warnings"`
	Evidence []string `json:"evidence"`
	LastGood string   `json:"last_good"`
	FirstBad string   `json:"first_bad"`
}

// waits is what a waiting run waits for. All of it is left out of others.
type waits struct {
	WaitingFor string     `json:"waiting_for,omitempty"`
	Approval   string     `json:"approval,omitempty"` // the first that is open
	DueAt      *time.Time `json:"due_at,omitempty"`   // when it goes on all the same
}

func waitsOf(h *journal.Head) waits {
	return waits{WaitingFor: h.WaitingFor, Approval: h.Approval, DueAt: orNull(h.Due)}
}

type tokens struct {
	Input            int64 `json:"input_tokens"`
	Output           int64 `json:"output_tokens"`
	CacheRead        int64 `json:"cache_read_tokens"`
	CacheWrite       int64 `json:"cache_write_tokens"`
	Replies          int   `json:"replies"`
	RepliesWithUsage int   `json:"replies_with_usage"`
	// Held are charged and not reported; left out when there are none.
	Held int64 `json:"held_tokens,omitempty"`
}

func newReport(r *engine.Run) report {
	o := standing(r)
	out := report{
		Run: r.Head.Run, Session: r.Head.Session, State: string(r.Head.State), waits: waitsOf(&r.Head), Pending: r.Head.Pending,
		Stop: string(o.Stop), Detail: o.Detail, Verified: string(o.Verified), Text: r.Answer,
		Turns: o.Turns, Calls: &o.Calls, Requests: o.Requests,
		Usage: tokens{
			Input: o.Usage.Input, Output: o.Usage.Output, CacheRead: o.Usage.CacheRead, CacheWrite: o.Usage.CacheWrite,
			Replies: o.Replies, RepliesWithUsage: o.ReportedReplies, Held: o.HeldTokens,
		},
		Warnings: append([]string{}, o.Warnings...), Evidence: append([]string{}, o.Evidence...),
		LastGood: string(o.LastGood), FirstBad: string(o.FirstBad),
	}
	if r.Outcome != nil {
		out.State, out.waits, out.Pending = string(journal.Stopped), waits{}, 0
	}
	if o.Stop == kernel.StopHostError {
		out.Calls = nil
	}
	return out
}

// hostFailed is the error of a run that ended because this program or its journal
// failed, and whose end is journaled all the same: its outcome tells the cause.
func hostFailed(r *engine.Run) error {
	code, message, told := strings.Cut(r.Outcome.Detail, ": ")
	switch {
	case !told:
		code, message = string(kernel.CodeInternal), "this program failed, and says no more of it"
	case strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "": // words, and no code
		code, message = string(kernel.CodeInternal), r.Outcome.Detail
	}
	id := safeLine(r.Head.Run)
	e := &kernel.Error{
		Code: kernel.Code(code), Message: "run " + id + " was given up: " + message,
		Hint: "holdfast runs show " + id + " shows how far it came; report it if `holdfast doctor` finds nothing",
	}
	if e.Code == kernel.CodeLocalStorage {
		e.Hint = "holdfast runs show " + id + " shows how far it came; see to the disk of the journal, and ask again"
	}
	return e
}

// standing is what a run came to or, while it has no stop, what it has done and
// used so far: a request that is out is held until its reply is here, which of
// a killed process it never will be.
func standing(r *engine.Run) kernel.Outcome {
	var o kernel.Outcome
	if r.Outcome != nil {
		o = *r.Outcome
	} else {
		s, b := &r.State, &r.State.Budget
		o = kernel.Outcome{
			Turns: s.Turn, Calls: s.Calls, Requests: s.Requests,
			Usage: b.Usage, Replies: b.Replies, ReportedReplies: b.Reported, HeldTokens: b.Held.Tokens + b.Reserved.Tokens,
			Warnings: s.Warnings,
		}
	}
	if o.Verified == "" {
		o.Verified = kernel.Unchecked
	}
	return o
}

// summary writes the answer of a run, then what it came to. again are the flags
// that lead a command to the same journal.
func (d *display) summary(r *engine.Run, again string) {
	if r.Answer != "" {
		d.printf("\n%s\n", safeLines(strings.TrimRight(r.Answer, "\n")))
	}
	o := standing(r)
	if r.Outcome == nil {
		d.printf("\nstate: %s\n", standingOf(&r.Head, time.Now()))
	} else {
		d.printf("\nstop: %s%s\n", o.Stop, detail(o.Detail))
		d.printf("verified: %s%s\n", o.Verified, detail(o.Finding))
	}
	if len(o.Evidence) > 0 {
		d.printf("evidence: %s\n", safeLine(strings.Join(o.Evidence, ", ")))
	}
	d.printf("usage: %s; %s\n", usageLine(&o), counts(&o))
	if o.LastGood != "" || o.FirstBad != "" {
		d.printf("last good link: %s; first bad link: %s\n", orDash(string(o.LastGood)), orDash(string(o.FirstBad)))
	}
	for _, w := range o.Warnings {
		d.printf("warning: %s\n", safeLine(w))
	}
	if hint := hintAfter(&o, r.State.Spec.Profile, d.clues, again); hint != "" {
		d.printf("hint: %s\n", hint)
	}
}

// standingOf is the state of a run that has no stop: what it waits for, or who
// drives it, and how much that it was told is still to be taken up.
func standingOf(h *journal.Head, now time.Time) string {
	line := string(h.State)
	switch {
	case h.State == journal.Waiting:
		line = "waiting for " + waitedFor(h)
	case h.State == journal.Running && driven(h, now):
		line = "running, driven by " + driver(h.Lease.Owner)
	case h.State == journal.Running && h.Lease.Held(now):
		line = "running, but " + driver(h.Lease.Owner) + " has ended"
	case h.State == journal.Running:
		line = "running, driven by nobody"
	}
	if h.Pending > 0 && h.State != journal.Stopped {
		line += ", " + counted(int64(h.Pending), "signal") + " to take up"
	}
	return line
}

func waitedFor(h *journal.Head) string {
	switch {
	case h.WaitingFor == string(kernel.WaitResolution):
		return "the resolution of an unknown effect"
	case h.Approval != "":
		return safeLine(h.WaitingFor) + " " + safeLine(h.Approval)
	}
	return safeLine(h.WaitingFor)
}

// driven reports whether a process that may be there holds the run's lease.
func driven(h *journal.Head, now time.Time) bool {
	return h.Lease.Held(now) && !local.OwnerGone(h.Lease.Owner)
}

// driver is a lease's owner for people: its host and its process. The rest of
// the name tells it from other processes of that number.
func driver(owner string) string {
	host, rest, _ := strings.Cut(owner, "/")
	process, _, whole := strings.Cut(rest, "/")
	if !whole {
		return safeLine(owner)
	}
	return "process " + safeLine(process) + " on " + safeLine(host)
}

func usageLine(o *kernel.Outcome) string {
	line := fmt.Sprintf("%d input tokens, %d output tokens, reported by %d of %d replies",
		o.Usage.Input, o.Usage.Output, o.ReportedReplies, o.Replies)
	if o.HeldTokens > 0 {
		line += fmt.Sprintf(", %d tokens held", o.HeldTokens)
	}
	return line
}

func detail(s string) string {
	if s == "" {
		return ""
	}
	return " (" + safeLine(s) + ")"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func counts(o *kernel.Outcome) string {
	return fmt.Sprintf("turns %d, calls %d, requests %d", o.Turns, o.Calls, o.Requests)
}

// succeeded says whether a run's stop is exit code 0.
func succeeded(o *kernel.Outcome) bool {
	return o != nil && (o.Stop == kernel.StopAnswered || o.Stop == kernel.StopVerified)
}
