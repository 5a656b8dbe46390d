package cli

import (
	"math"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// deskReport is what `desk ask` prints: a run's report, and what the desk's own
// store says came of it. The names are an interface.
type deskReport struct {
	report
	Usage     *tokens     `json:"usage"` // null: no reply reported any
	Mode      string      `json:"mode"`
	Model     string      `json:"model"`
	Notice    string      `json:"notice,omitempty"`
	DraftsOf  string      `json:"desk_session"` // what drafts belong to, as --session said
	Tenant    string      `json:"tenant"`
	User      string      `json:"user"`
	Status    desk.Status `json:"status"`
	Drafts    []string    `json:"draft_ids"`
	Submitted bool        `json:"tickets_submitted"` // whether a ticket has come of one of these drafts
	Citations []string    `json:"citations"`
	Trace     []deskEntry `json:"trace"`
	Taken     []deskTaken `json:"taken_up"` // what earlier questions left, and was gone on with first
	Hint      string      `json:"hint"`     // what to do about a stop, in the person's language; empty: nothing that is known
	Meaning   string      `json:"meaning"`  // of the status, in the person's language
	Finding   string      `json:"finding"`  // what the verifier found, word for word; empty: it was not asked
}

func (a *app) newDeskReport(flags *askFlags, m model.Info, who desk.Identity, run *engine.Run, trace *deskTrace, r *desk.Result) deskReport {
	out := deskReport{
		report: newReport(run), Mode: flags.mode, Model: m.Name, Tenant: who.Tenant, User: who.User, Status: r.Status,
		DraftsOf: flags.session,
		Drafts:   []string{}, Submitted: len(r.Tickets) > 0, Citations: append([]string{}, r.Cited...), Trace: []deskEntry{}, Taken: []deskTaken{},
	}
	if out.report.Usage.RepliesWithUsage > 0 {
		out.Usage = &out.report.Usage
	}
	out.Meaning = a.meaning(flags.deskFlags, r.Status)
	if run.Outcome != nil {
		out.Finding = run.Outcome.Finding
		out.Hint = a.deskHint(flags.deskFlags, run, trace.clues)
	}
	for _, d := range r.Drafts {
		out.Drafts = append(out.Drafts, d.ID)
	}
	if m.Scripted { // in live mode too, where the configuration names a script
		out.Notice = a.deskSay(flags.deskFlags, noticeScript)
	}
	return out
}

// deskEntry is a call in the trace.
type deskEntry struct {
	Step    int     `json:"step"`
	Tool    string  `json:"tool"`
	Code    string  `json:"code"` // OK, or why not
	Elapsed float64 `json:"elapsed_ms"`
}

// deskTrace collects the calls of a run as they are answered.
type deskTrace struct {
	step    int
	calls   map[string]string // names by id
	entries []deskEntry
	clues   clues
}

func (t *deskTrace) see(u engine.Update) {
	t.clues.note(u.Event, u.Content)
	if e, ok := u.Event.(kernel.ModelReplied); ok {
		t.step = e.Turn
		t.calls = map[string]string{}
		for _, c := range e.Reply.Calls {
			t.calls[c.ID] = c.Name
		}
	}
	if call, code, ok := desk.CallCode(u.Event); ok {
		elapsed := 0.0
		if u.Content.Result != nil {
			elapsed = math.Round(float64(u.Content.Result.Elapsed.Microseconds())/10) / 100
		}
		t.entries = append(t.entries, deskEntry{Step: t.step, Tool: t.calls[call], Code: code, Elapsed: elapsed})
	}
}
