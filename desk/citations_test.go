package desk_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// result is what a tool returned, as the engine keeps it.
func result(t *testing.T, name string, facts any) verify.Result {
	t.Helper()
	data, err := tool.Encode(facts)
	if err != nil {
		t.Fatal(err)
	}
	return verify.Result{Evidence: "r/" + name, Tool: name, Text: `{"status":"completed","result":` + string(data) + `}`, Data: data}
}

func found(t *testing.T, policies ...desk.PolicyFacts) verify.Result {
	t.Helper()
	return result(t, desk.SearchPolicies, desk.Found{Policies: policies})
}

// Row 98: an id is known by what was returned, as a word of its own, whatever it
// looks like; what looks like one and was not returned is none that an answer can
// rest on.
func TestCitedIDs(t *testing.T) {
	const read = "缺少出差审批单，见 P9001 和 HR-2026-08。填表 F-2031，或者按 P8 办理。"
	ticket := result(t, desk.GetTicket, desk.TicketFacts{ID: "T1001", Subject: "差旅报销", Body: read})
	one := found(t, desk.PolicyFacts{ID: "P1001", Title: "差旅报销制度", Body: "须附发票。"})
	other := found(t, desk.PolicyFacts{ID: "AC-101", Title: "住宿"}, desk.PolicyFacts{ID: "AC-101-2", Title: "补充"}, desk.PolicyFacts{ID: "travel policy 2026.pdf", Title: "Travel"}, desk.PolicyFacts{ID: "差旅细则", Title: "细则"})
	for _, tt := range []struct {
		found  verify.Result
		answer string
		want   bool
		cites  []string
	}{
		{one, "按 P1001 补材料。", true, []string{"P1001"}},
		{one, "按Ｐ１００１补材料。", true, []string{"P1001"}},
		{one, "See p1001.", true, []string{"P1001"}},
		{one, "依据 P1001 与 AC-999、HR-2026-77 号制度。", false, []string{"P1001"}},
		{one, "依据 P1001；AC-999 也这样说。", false, []string{"P1001"}},
		{one, "依据 P1001 和 P7777。", false, []string{"P1001"}},
		{one, "依据 P1001。P7777 也这样说。", false, []string{"P1001"}},
		{one, "依据 P1001、P9。", false, []string{"P1001"}},
		{one, "依据 P10012。", false, nil},
		{one, "依据 P1001-7。", false, nil},
		{one, "P1001 says so, under P9001.", false, []string{"P1001"}},
		{one, "依据 P1001 与 P9001。", false, []string{"P1001"}},
		{one, "依据：**P9001**，并见 P1001。", false, []string{"P1001"}},
		{one, "工单里提到 P9001，但没有找到制度 P9001；依据 P1001 补材料。", true, []string{"P1001"}},
		{one, "依据 P1001，请填 F-2031。", true, []string{"P1001"}},
		{one, "依据 P1001，用 A4 纸打印；COVID19 与 COVID-19 期间一样，T3 航站楼也一样。", true, []string{"P1001"}},
		{one, "依据 P1001，第 2 条，2026-11-30 前补齐 600 元的发票。", true, []string{"P1001"}},
		{one, "T1001 缺审批单。", false, nil}, // policies were found
		{other, "依据：AC-101", true, []string{"AC-101"}},
		{other, "依据：AC‑101", true, []string{"AC-101"}}, // a hyphen that does not break
		{other, "依据 AC-101-2。", true, []string{"AC-101-2"}},
		{other, "依据 AC-101-3。", false, nil},
		{other, "依据 AC-101 和 AC-7。", false, []string{"AC-101"}},
		{other, "According to travel policy 2026.pdf, keep the invoice.", true, []string{"travel policy 2026.pdf"}},
		{other, "According to AC-101 and leave-policy-2025, keep it.", false, []string{"AC-101"}},
		{other, "见差旅细则第三条。", true, []string{"差旅细则"}},
	} {
		f := verify.Facts{Question: "T1001 怎么办？", Answer: tt.answer, AnswerEvidence: "r/9", Results: []verify.Result{ticket, tt.found}}
		v, err := desk.Citations{}.Verify(t.Context(), f)
		if err != nil || v.Verified != tt.want {
			t.Errorf("%s: %t, %s, %v", tt.answer, v.Verified, v.Finding, err)
		}
		if got := desk.SeenBy(&f).Cited(tt.answer); !slices.Equal(got, tt.cites) {
			t.Errorf("%s: cites %v, want %v", tt.answer, got, tt.cites)
		}
	}
}

// Row 98: what the person asked about by its id may be named, for example as not
// found; resting on it is resting on nothing.
func TestIDsOfTheQuestion(t *testing.T) {
	for answer, want := range map[string]bool{
		"没有找到 P9001 这条制度。":                       true,
		"没有找到制度 P9001。":                          true,
		"I found no policy P9001.":               true,
		"按 P9001，可以报销。":                          false,
		"没有找到 P9001，也没有 P9002。":                  false,
		"Nothing was found on P9001; see P9001.": false,
	} {
		f := verify.Facts{Question: "请按 P9001 说明要求。", Answer: answer, AnswerEvidence: "r/9", Results: []verify.Result{found(t)}}
		if v, err := (desk.Citations{}).Verify(t.Context(), f); err != nil || v.Verified != want {
			t.Errorf("%s: %t, %s, %v", answer, v.Verified, v.Finding, err)
		}
	}
}

// Row 98: what a result was too long to show was not seen, whatever its facts say.
func TestCitesNothingThatWasNotShown(t *testing.T) {
	r := found(t, desk.PolicyFacts{ID: "P1001", Title: "a"}, desk.PolicyFacts{ID: "P1002", Title: "b", Body: `see "P1003"`}, desk.PolicyFacts{ID: "P1003", Title: "c"})
	shown, _, _ := strings.Cut(r.Text, `{"policy_id":"P1003"`)
	r.Text = shown + "\n[53 bytes omitted]\n"
	if !json.Valid(r.Data) || json.Valid([]byte(r.Text)) {
		t.Fatal("the result is not shortened")
	}
	f := verify.Facts{Answer: "依据 P1003。", AnswerEvidence: "r/9", Results: []verify.Result{r}}
	if v, err := (desk.Citations{}).Verify(t.Context(), f); err != nil || v.Verified {
		t.Errorf("%+v, %v", v, err)
	}
	if seen := desk.SeenBy(&f); !slices.Equal(seen.Policies, []string{"P1001", "P1002"}) {
		t.Errorf("seen %v", seen.Policies)
	}
}

// Row 98: a whole question over a policy with a hyphen in its id.
func TestAnswerFromTheCorpus(t *testing.T) {
	o := open(t)
	if _, err := o.PutPolicy(t.Context(), "acme", desk.Policy{ID: "AC-101", Version: "1", Title: "住宿标准", Body: "每晚不超过六百元。", ValidFrom: time.Unix(0, 0)}); err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]desk.Status{"每晚不超过六百元。依据：AC-101": desk.Answered, "每晚不超过六百元。依据：AC-102": desk.Unsupported} {
		run, r := o.ask(t, plays(t, calls("1", desk.SearchPolicies, `{"query":"住宿"}`), script.Step{Text: answer}), "alice", "s")
		if r.Status != want || (run.Outcome.Verified == kernel.VerdictTrue) != want.Done() {
			t.Errorf("%s: %s, %+v", answer, r.Status, run.Outcome)
		}
	}
}

// Rows 51 and 98: what no tool does and no row of theirs says is no answer, however
// well it cites.
func TestClaimsAreNotBorneOut(t *testing.T) {
	ticket := result(t, desk.GetTicket, desk.TicketFacts{ID: "T1001", Subject: "差旅报销", Body: "发票已上传。"})
	policy := found(t, desk.PolicyFacts{ID: "P1001", Title: "差旅报销制度", Body: "材料已提交的，可以复核。"})
	sent := result(t, desk.PrepareTicketDraft, map[string]any{"draft_id": "D1", "submitted": true})
	for _, tt := range []struct {
		answer  string
		results []verify.Result
		want    bool
	}{
		{"按 P1001，材料补齐后可以申请复核。", []verify.Result{ticket, policy}, true},
		{"按 P1001，已为您提交，工单号已生成。", []verify.Result{ticket, policy}, false}, // a policy's words are no fact
		{"P1001 applies. Your claim is approved.", []verify.Result{ticket, policy}, false},
		{"P1001 applies. I have not submitted anything.", []verify.Result{ticket, policy}, true},
		{"按 P1001，发票已上传，还缺审批单。", []verify.Result{ticket, policy}, true},
		{"按 P1001，附件已上传。", []verify.Result{policy}, false},
		{"按 P1001，这份草稿已经提交。", []verify.Result{policy, sent}, true},
	} {
		v, err := desk.Citations{}.Verify(t.Context(), verify.Facts{Answer: tt.answer, AnswerEvidence: "r/9", Results: tt.results})
		if err != nil || v.Verified != tt.want {
			t.Errorf("%q: %+v, %v", tt.answer, v, err)
		}
	}
}
