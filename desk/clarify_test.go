package desk_test

import (
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
)

// Rows 91 and 100: to ask for a missing id is what the desk's instructions
// demand: no failure, and no success. It has to be all that the answer says.
func TestAsksBack(t *testing.T) {
	read := calls("1", desk.GetTicket, `{"ticket_id":"T1001"}`)
	for name, tt := range map[string]struct {
		answer string
		steps  []script.Step
		want   desk.Status
	}{
		"in Chinese":             {"您没有写编号，请问是哪一张工单？", nil, desk.NeedsClarification},
		"in two sentences":       {"请问是哪一张工单？请给我编号。", nil, desk.NeedsClarification},
		"in English":             {"Which ticket do you mean? Please give me its id.", nil, desk.NeedsClarification},
		"without a mark":         {"Please tell me which ticket you mean.", nil, desk.NeedsClarification},
		"with a courtesy":        {"I'd be happy to help! Could you please provide the ticket id?", nil, desk.NeedsClarification},
		"with a claim":           {"材料已经上传。请问是哪一张工单？", nil, desk.Unsupported},
		"with a claim inside":    {"材料已经上传，请问是哪一张工单？", nil, desk.Unsupported},
		"with a claim as a plea": {"请放心，经理已批准。请问是哪一张工单？", nil, desk.Unsupported},
		"with a claim behind":    {"Which ticket do you mean? It was approved.", nil, desk.Unsupported},
		"with an id":             {"依据 P1001，请问是哪一张工单？", nil, desk.Unsupported},
		"asks nothing":           {"我不能批准草稿。", nil, desk.Unsupported},
		"after a ticket":         {"T1001 缺审批单。还要查哪一张？", []script.Step{read}, desk.Answered},
		"after a refused call":   {"请问是哪一张工单？", []script.Step{calls("1", desk.GetTicket, `{}`)}, desk.ToolFailed},
		"after another's ticket": {"请问是哪一张工单？", []script.Step{calls("1", desk.GetTicket, `{"ticket_id":"T1002"}`)}, desk.ToolFailed},
	} {
		t.Run(name, func(t *testing.T) {
			run, r := open(t).ask(t, plays(t, append(tt.steps, script.Step{Text: tt.answer})...), "alice", "s")
			if r.Status != tt.want || (run.Outcome.Verified == kernel.VerdictTrue) != tt.want.Done() {
				t.Errorf("%s, want %s; %+v", r.Status, tt.want, run.Outcome)
			}
		})
	}
}
