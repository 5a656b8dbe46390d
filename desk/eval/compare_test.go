package eval_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/kernel"
)

// Row 99: a fixed set of tasks compares quality, delay, cost and what was done
// against permission, from one version to the next.
func TestCompare(t *testing.T) {
	s := only(t, nil, "own-zh", "draft-zh")
	earlier := reread(t, play(t, s, nil))
	s.Tasks[0].Script = "claims_upload" // the model got worse at one of them
	later := play(t, s, nil)
	later.Setup.Model.Name = "another"

	if err := earlier.Fits(s); err != nil {
		t.Fatal(err)
	}
	c := later.Against(earlier)
	if diff := cmp.Diff([]string{"own-zh"}, c.Worse); diff != "" || len(c.Better) > 0 {
		t.Errorf("worse: %s, better %v", diff, c.Better)
	}
	if diff := cmp.Diff([]string{"model"}, c.Changed); diff != "" {
		t.Errorf("changed: %s", diff)
	}
	if c.Overall[0].Passed != 2 || c.Overall[1].Passed != 1 || c.Kinds["own_ticket"][1].Passed != 0 || c.Kinds["prepare_draft"][1].Passed != 1 {
		t.Errorf("%+v", c)
	}
	if c.Classes["claimed_upload"] != [2]int{0, 1} {
		t.Errorf("classes %v", c.Classes)
	}
	if c.Totals[0].Requests == 0 || c.Totals[0].Requests != c.Totals[1].Requests || c.Totals[1].Median <= 0 {
		t.Errorf("totals %+v", c.Totals)
	}
	if back := earlier.Against(later); len(back.Better) != 1 || len(back.Worse) != 0 {
		t.Errorf("the other way: %+v", back)
	}

	later.Compared = c
	var table bytes.Buffer
	if err := later.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"(changed: model)", "passed             100.0 %", "worse: own-zh"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
}

func TestCompareNothingElse(t *testing.T) {
	s := only(t, nil, "own-zh")
	r := play(t, s, nil)
	if err := r.Fits(only(t, nil, "draft-zh")); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("other tasks: %v", err)
	}
	r.Complete = false
	if err := r.Fits(s); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("interrupted: %v", err)
	}
	for _, text := range []string{"", "{}", "[]", `{"format":2}`, `{"format":1,"setup":7}`} {
		if _, err := eval.ReadReport(strings.NewReader(text)); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// reread is a report as its file has it.
func reread(t *testing.T, r *eval.Report) *eval.Report {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := eval.ReadReport(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return read
}
