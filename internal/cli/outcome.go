package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// report is a run as --json prints it. The names are an interface.
type report struct {
	Run      string `json:"run"`
	Session  string `json:"session"`
	State    string `json:"state"`
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

type tokens struct {
	Input            int64 `json:"input_tokens"`
	Output           int64 `json:"output_tokens"`
	CacheRead        int64 `json:"cache_read_tokens"`
	CacheWrite       int64 `json:"cache_write_tokens"`
	Replies          int   `json:"replies"`
	RepliesWithUsage int   `json:"replies_with_usage"`
}

func newReport(r *engine.Run) report {
	out := report{
		Run: r.Head.Run, Session: r.Head.Session, State: string(r.Head.State),
		Verified: string(kernel.Unchecked), Turns: r.State.Turn, Requests: r.State.Requests,
		Warnings: []string{}, Evidence: []string{},
	}
	calls := r.State.Calls
	out.Calls = &calls
	o := r.Outcome
	if o == nil {
		return out
	}
	out.State = string(journal.Stopped)
	out.Stop, out.Detail, out.Text = string(o.Stop), o.Detail, r.Answer
	out.Turns, out.Requests = o.Turns, o.Requests
	if o.Verified != "" {
		out.Verified = string(o.Verified)
	}
	calls = o.Calls
	if o.Stop == kernel.StopHostError {
		out.Calls = nil
	}
	out.Usage = tokens{
		Input: o.Usage.Input, Output: o.Usage.Output, CacheRead: o.Usage.CacheRead, CacheWrite: o.Usage.CacheWrite,
		Replies: o.Replies, RepliesWithUsage: o.ReportedReplies,
	}
	out.Warnings = append(out.Warnings, o.Warnings...)
	out.Evidence = append(out.Evidence, o.Evidence...)
	out.LastGood, out.FirstBad = string(o.LastGood), string(o.FirstBad)
	return out
}

// summary writes the answer of a run, then what it came to.
func (d *display) summary(r *engine.Run) {
	if r.Answer != "" {
		d.printf("\n%s\n", safeLines(strings.TrimRight(r.Answer, "\n")))
	}
	o := r.Outcome
	if o == nil {
		d.printf("\nstate: %s\n", r.Head.State)
		return
	}
	d.printf("\nstop: %s%s\n", o.Stop, detail(o.Detail))
	verified := string(o.Verified)
	if verified == "" {
		verified = string(kernel.Unchecked)
	}
	d.printf("verified: %s%s\n", verified, detail(o.Finding))
	if len(o.Evidence) > 0 {
		d.printf("evidence: %s\n", safeLine(strings.Join(o.Evidence, ", ")))
	}
	d.printf("usage: %d input tokens, %d output tokens, reported by %d of %d replies; %s\n",
		o.Usage.Input, o.Usage.Output, o.ReportedReplies, o.Replies, counts(o))
	if o.LastGood != "" || o.FirstBad != "" {
		d.printf("last good link: %s; first bad link: %s\n", orDash(string(o.LastGood)), orDash(string(o.FirstBad)))
	}
	for _, w := range o.Warnings {
		d.printf("warning: %s\n", safeLine(w))
	}
	if hint := hintAfter(r); hint != "" {
		d.printf("hint: %s\n", hint)
	}
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

// hintAfter says what an operator can do about a stop.
func hintAfter(r *engine.Run) string {
	switch o := r.Outcome; o.Stop {
	case kernel.StopProtocol:
		if r.State.Spec.Profile == kernel.Tolerant {
			return "the server does not keep to its protocol, even by the tolerant profile"
		}
		return "if the endpoint is a compatible server and not the official one, write profile: tolerant in the model section"
	case kernel.StopTurnLimit:
		return "raise limits.turns if the task needs more"
	case kernel.StopToolLimit:
		return "raise limits.calls if the task needs more"
	case kernel.StopTokenLimit:
		return "raise limits.tokens if the task needs more"
	case kernel.StopDeadline:
		return "raise limits.deadline if the task needs more"
	case kernel.StopTruncated:
		return "raise model.max_tokens, or ask for less"
	case kernel.StopModelError:
		return "check the key, the model's name and the base URL with `holdfast doctor`"
	}
	return ""
}

// succeeded says whether a run's stop is exit code 0.
func succeeded(o *kernel.Outcome) bool {
	return o != nil && (o.Stop == kernel.StopAnswered || o.Stop == kernel.StopVerified)
}
