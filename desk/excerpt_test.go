package desk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/model/script"
)

// Row 98: however long the policies are, the model is shown each that was found,
// and of each the part that was asked about.
func TestLongPoliciesAreShownWhereTheyFit(t *testing.T) {
	o := open(t)
	for i := range desk.MaxFound {
		filler := strings.Repeat(`关于"办公"的 \ 一般说明。`+"\n", 20_000)
		body := filler + fmt.Sprintf("停车费每月不超过 %d 元。", 100+i) + strings.TrimSpace(filler)
		p := desk.Policy{ID: fmt.Sprintf("AC-20%d", i), Version: "1", Title: "停车费", Body: body, ValidFrom: time.Unix(0, 0)}
		if _, err := o.PutPolicy(t.Context(), "acme", p); err != nil {
			t.Fatal(err)
		}
	}
	run, r := o.ask(t, plays(t, calls("1", desk.SearchPolicies, `{"query":"停车费"}`), script.Step{Text: "依据 AC-204。"}), "alice", "s", inGoodTime)
	var got struct {
		Result desk.Found `json:"result"`
	}
	if err := json.Unmarshal([]byte(run.Results[0].Text), &got); err != nil || len(got.Result.Policies) != desk.MaxFound {
		t.Fatalf("%d policies, %v", len(got.Result.Policies), err)
	}
	for _, p := range got.Result.Policies {
		if !p.Truncated || !strings.Contains(p.Body, "停车费每月不超过") || len(p.Body) > 3<<10 {
			t.Errorf("%s: truncated %t, %d bytes", p.ID, p.Truncated, len(p.Body))
		}
	}
	if r.Status != desk.Answered {
		t.Errorf("%s, %+v", r.Status, run.Outcome)
	}
}
