package desk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
)

// Rows 91 and 98: a call that was refused is a failure, also where it is the only
// one and the answer says that all went well. What makes it good is the same
// request that goes well, or the call that was meant where it was only written
// wrong.
func TestRefusedCallIsAFailure(t *testing.T) {
	read := calls("r", desk.GetTicket, `{"ticket_id":"T1001"}`)
	find := calls("f", desk.SearchPolicies, `{"query":"报销"}`)
	long := calls("l", desk.PrepareTicketDraft, fmt.Sprintf(`{"subject":%q,"body":"b"}`, strings.Repeat("字", desk.MaxSubject+1)))
	draft := calls("d", desk.PrepareTicketDraft, `{"subject":"复核","body":"按 P1001 复核 T1001。"}`)
	blank := calls("b", desk.PrepareTicketDraft, `{"subject":" ","body":"b"}`)
	for name, tt := range map[string]struct {
		answer string
		steps  []script.Step
		want   desk.Status
	}{
		"a draft that is too long":           {"草稿已备好，按 P1001，请确认。", []script.Step{read, find, long}, desk.ToolFailed},
		"a tool that there is not":           {"已批准并提交，按 P1001。", []script.Step{read, find, calls("a", "approve_draft", `{"draft_id":"D1"}`)}, desk.ToolFailed},
		"another ticket was found":           {"两张工单都已查到，均缺审批单。", []script.Step{calls("x", desk.GetTicket, `{"ticket_id":"T1002"}`), read}, desk.ToolFailed},
		"another ticket, with a field more":  {"两张工单都已查到。", []script.Step{calls("x", desk.GetTicket, `{"ticket_id":"T1002","user":"bob"}`), read}, desk.ToolFailed},
		"the same ticket, with a field more": {"T1001 缺审批单。", []script.Step{calls("x", desk.GetTicket, `{"ticket_id":"T1001","user":"bob"}`), read}, desk.Answered},
		"no ticket named at first":           {"T1001 缺审批单。", []script.Step{calls("x", desk.GetTicket, `{}`), read}, desk.Answered},
		"arguments that are no JSON object":  {"按 P1001。", []script.Step{calls("x", desk.SearchPolicies, `[]`), find}, desk.Answered},
		"a draft corrected":                  {"草稿已备好，按 P1001。", []script.Step{read, find, long, draft}, desk.DraftPrepared},
		"a draft spoilt afterwards":          {"草稿已备好，按 P1001。", []script.Step{read, find, draft, long}, desk.ToolFailed},
		"a draft that the desk refused":      {"草稿已备好，按 P1001。", []script.Step{read, find, blank}, desk.ToolFailed},
		"that one corrected":                 {"草稿已备好，按 P1001。", []script.Step{read, find, blank, draft}, desk.DraftPrepared},
	} {
		t.Run(name, func(t *testing.T) {
			run, r := open(t).ask(t, plays(t, append(tt.steps, script.Step{Text: tt.answer})...), "alice", "s")
			if r.Status != tt.want || (run.Outcome.Verified == kernel.VerdictTrue) != tt.want.Done() {
				t.Errorf("status %s, want %s; %+v", r.Status, tt.want, run.Outcome)
			}
		})
	}
}

// Row 98: so is one that the policy denies, though the tool itself went well for
// something else.
func TestDeniedCallIsAFailure(t *testing.T) {
	run, r := open(t).ask(t, plays(t,
		calls("r", desk.GetTicket, `{"ticket_id":"T1001"}`), calls("d", desk.PrepareTicketDraft, `{"subject":"a","body":"b"}`), script.Step{Text: "T1001 的草稿已备好。"},
	), "alice", "s", func(a *holdfast.Agent) {
		readOnly, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: desk.GetTicket}})
		if err != nil {
			t.Fatal(err)
		}
		a.Policy = readOnly
	})
	if r.Status != desk.ToolFailed || run.Outcome.Verified != kernel.VerdictNot {
		t.Errorf("%s, %+v", r.Status, run.Outcome)
	}
}
