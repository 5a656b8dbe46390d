package cli

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// trace is what became of one admitted call (row 91).
type trace struct {
	Turn int    `json:"turn"`
	Tool string `json:"tool"`
	Call string `json:"call"`
	// Code is "ok", the code of an error, or one of the codes below.
	Code      string `json:"code"`
	Ran       bool   `json:"ran"` // the tool began
	ElapsedMS int64  `json:"elapsed_ms"`
	Evidence  string `json:"evidence"` // the record of the result; empty when the call did not return
}

// The codes of calls that brought no result of a tool.
const (
	codeDenied  = "DENIED"  // by policy
	codeRefused = "REFUSED" // by the person who was asked
	codeNotRun  = "NOT_RUN" // for any other reason, which its answer says
	codeUnknown = "UNKNOWN" // it began, and nobody knows what came of it
)

// tracer follows the calls of one run through its updates.
type tracer struct {
	run  string
	rows []trace
	at   map[string]int // index in rows, by call id
}

// newTrace has a row for each admitted call of a run, in order.
func newTrace(run string, updates []engine.Update) []trace {
	t := tracer{run: run, rows: []trace{}, at: map[string]int{}}
	for _, u := range updates {
		t.note(u)
	}
	return t.rows
}

func (t *tracer) note(u engine.Update) {
	switch e := u.Event.(type) {
	case kernel.ModelReplied:
		t.admit(e, u.Committed)
	case kernel.CallDecided:
		t.decide(e)
	case kernel.ApprovalDecided:
		if !e.Approved {
			t.row(e.Call).Code = codeRefused
		}
	case kernel.CallStarted:
		r := t.row(e.Call)
		r.Ran, r.Code = true, codeUnknown
	case kernel.CallReturned:
		r := t.row(e.Call)
		r.Code = "ok"
		if e.Result.Status != kernel.StatusOK {
			r.Code = cmp.Or(string(e.Result.Code), string(e.Result.Status))
		}
		r.ElapsedMS = u.Content.Result.Elapsed.Milliseconds()
	case kernel.ClaimRefused:
		t.row(e.Call).Code = string(kernel.CodeEffectRefused)
	}
	if u.Content.Result != nil {
		call, _ := engine.ResultOf(u.Event)
		t.row(call).Evidence = t.run + "/" + strconv.FormatInt(u.Seq, 10)
	}
	for i := range u.Committed {
		if b := resultOf(&u.Committed[i]); b != nil && !b.IsError {
			t.row(b.CallID).Code = "ok" // also of a call that an earlier one's result answers
		}
	}
}

// row returns the row of an admitted call; the kernel reports no other's.
func (t *tracer) row(call string) *trace { return &t.rows[t.at[call]] }

// admit makes the rows of a reply's calls. Where the history has another name
// or other arguments than arrived, that is why the call does not run.
func (t *tracer) admit(e kernel.ModelReplied, committed []kernel.Message) {
	asked := e.Reply.Calls
	for _, m := range committed {
		for _, b := range m.Blocks {
			if b.Kind != kernel.BlockCall {
				continue
			}
			code := codeNotRun
			switch {
			case asked[0].Name != b.Call.Name:
				code = string(kernel.CodeUnknownTool)
			case asked[0].Arguments != b.Call.Arguments && strings.TrimSpace(asked[0].Arguments) != "":
				code = string(kernel.CodeInvalidArgument)
			}
			asked = asked[1:]
			t.at[b.Call.ID] = len(t.rows)
			t.rows = append(t.rows, trace{Turn: e.Turn, Tool: b.Call.Name, Call: b.Call.ID, Code: code})
		}
	}
}

func (t *tracer) decide(e kernel.CallDecided) {
	switch e.Answer {
	case kernel.Deny:
		t.row(e.Call).Code = codeDenied
	case kernel.Invalid:
		t.row(e.Call).Code = cmp.Or(string(e.Code), codeNotRun)
	}
}
