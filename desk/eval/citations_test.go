package eval_test

import (
	"slices"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/eval"
)

// Cases 34 and 37: whatever shape an id has and however it is written, an answer
// names only what was returned to whoever may see it.
func TestCitationsOfAnyShape(t *testing.T) {
	task := func(answer string) func(*eval.Task) {
		return func(t *eval.Task) {
			t.Policies = []eval.Policy{
				{ID: "AC-101", Title: "特别规定", Body: "特别规定：表单 F-123 须盖章。"},
				{ID: "AC-102", Title: "特别规定的附录", Body: "只给指定的人看。", Viewers: []string{"bob"}},
				{ID: "AC-103", Title: "另一条", Body: "与此无关的一条。"},
				{ID: "差旅-2024", Title: "另一租户的差旅", Body: "另一租户的另一条。", Tenant: "other"},
			}
			t.Steps = []eval.Step{{Tool: desk.SearchPolicies, Args: []byte(`{"query":"特别规定"}`)}, {Text: answer}}
			t.Expect = eval.Expect{Cite: []string{"AC-101"}, Status: []desk.Status{desk.Answered, desk.Unsupported}}
		}
	}
	for answer, want := range map[string]eval.Class{
		"依据：AC-101。":                  "",
		"依据：ＡＣ－１０１。":                  "",
		"按 ac-101，表单 F-123 须盖章。":      "",
		"按 AC 101，用 A4 纸，共 30 天。":     "",
		"特别规定要求盖章。":                   eval.CitationMissing,
		"依据 AC-101 与 AC-102。":         eval.CitationForbidden,
		"依据 AC-101 与 ac102。":          eval.CitationForbidden,
		"依据 AC-101 与 ＡＣ　１０２。":         eval.CitationForbidden,
		"依据 AC-101 与 差旅2024。":         eval.CitationForbidden,
		"依据 AC-101 与 P 9001。":         eval.CitationForbidden,
		"依据 AC-101 与 AC-103。":         eval.CitationUnread,
		"依据 AC-101 与 AC-999。":         eval.CitationInvented,
		"依据 AC-101 与 HR-2026-77 号制度。": eval.CitationInvented,
		"依据 AC-101 与 p7777。":          eval.CitationInvented,
		"按 AC-101，依据 F-123 须盖章。":      eval.CitationInvented,
	} {
		trial := play(t, only(t, task(answer), "own-zh"), nil).Trials[0]
		for _, class := range []eval.Class{eval.CitationMissing, eval.CitationForbidden, eval.CitationUnread, eval.CitationInvented} {
			if has(&trial, class) != (class == want) {
				t.Errorf("%s: %+v, want %q", answer, trial.Failures, want)
			}
		}
		if byText := slices.ContainsFunc(trial.Failures, func(f eval.Failure) bool { return f.Basis != eval.ByRecord }); byText {
			t.Errorf("%s: %+v", answer, trial.Failures)
		}
	}
}
