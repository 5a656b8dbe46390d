package desk

import (
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
)

// The scenarios that can be played without a model.
const (
	ScenarioExplain = "explain" // why T1001 is held up
	ScenarioDraft   = "draft"   // and an appeal against it
)

// Scenarios are the names of all of them.
func Scenarios() []string { return []string{ScenarioExplain, ScenarioDraft} }

// Script returns a fixed script as a model. It plays the same whatever it is
// asked, and understands nothing: it shows what the desk does, not what a model
// can do. An unknown scenario is CONFIGURATION.
func Script(scenario string) (*script.Model, error) {
	if !slices.Contains(Scenarios(), scenario) {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "there is no such scenario", Hint: "the scenarios are explain and draft"}
	}
	steps := []script.Step{
		call("desk_1", GetTicket, `{"ticket_id":"T1001"}`),
		unlessFailed(call("desk_2", SearchPolicies, `{"query":"报销"}`)),
	}
	if scenario == ScenarioDraft {
		steps = append(steps,
			unlessFailed(call("desk_3", PrepareTicketDraft, `{"subject":"申请复核 T1001","body":"T1001 目前缺出差审批单。按 P1001，材料补齐后可以申请复核，请届时复核。本草稿不表示材料已经上传。"}`)),
			unlessFailed(
				script.Step{If: &script.If{LastResultContains: `"submitted":true`}, Text: "这份草稿此前已经确认并提交，没有再准备一份。依据：P1001。（固定脚本的回答）"},
				script.Step{Text: "草稿已备好，还没有提交：请先查看，再由您本人确认。依据：P1001。（固定脚本的回答）"},
			))
	} else {
		steps = append(steps, unlessFailed(script.Step{Text: "T1001 缺出差审批单。按 P1001，材料补齐后可以申请复核。（固定脚本的回答）"}))
	}
	return script.New(script.Config{Name: "desk-" + scenario, Script: &script.Script{Steps: steps}})
}

func call(id, tool, args string) script.Step {
	return script.Step{Calls: []script.Call{{ID: id, Name: tool, Args: args}}}
}

// unlessFailed plays the first of steps whose condition holds, or gives up where
// the latest call failed or did not run.
func unlessFailed(steps ...script.Step) script.Step {
	givesUp := func(sign string) script.Step {
		return script.Step{If: &script.If{LastResultContains: sign}, Text: "有一步没有成功，后面的都没有做。请核对编号和身份。（固定脚本的回答）"}
	}
	return script.Step{Any: append([]script.Step{givesUp(`"status":"error"`), givesUp("Not run")}, steps...)}
}
