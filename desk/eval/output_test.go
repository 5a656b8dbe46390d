package eval_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/eval"
)

// Row 100: the results name model, configuration, tools and the state of the
// store, and each form of them tells the same.
func TestForms(t *testing.T) {
	s := only(t, func(task *eval.Task) {
		if task.ID == "own-zh" {
			task.Script = "claims_upload"
			task.Steps[len(task.Steps)-1].Text += " \x1b[31m<&>"
		}
	}, "own-zh", "draft-zh")
	r := play(t, s, nil)

	var out struct {
		Setup   map[string]any
		Trials  []map[string]any
		Overall struct{ Trials, Passed int }
		Kinds   map[string]eval.Rate
		Gate    struct{ Met bool }
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"model", "limits", "tasks", "instructions_hash", "tools_hash", "policy_hash"} {
		if out.Setup[key] == nil || out.Setup[key] == "" {
			t.Errorf("the setup has no %s: %v", key, out.Setup)
		}
	}
	if out.Overall.Trials != 2 || out.Overall.Passed != 1 || out.Gate.Met || out.Kinds["own_ticket"].Passed != 0 {
		t.Errorf("%s", b)
	}
	if r.Trials[0].Script != "claims_upload" || r.Trials[1].Script != eval.Honest {
		t.Errorf("scripts %q and %q", r.Trials[0].Script, r.Trials[1].Script)
	}
	draft := r.Trials[1]
	if draft.State.DraftsBefore != 0 || draft.State.DraftsAfter != 1 || len(draft.Drafts) != 1 || len(draft.Calls) != 3 || len(draft.Reads) != 3 {
		t.Errorf("%+v", draft)
	}

	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"own_ticket     0       1       0.0 %", "claimed_upload", "own-zh/1", "gate: not met", "overall: 1 of 2 passed, and 1 is the least"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	if strings.ContainsRune(table.String(), '\x1b') {
		t.Error("the table steers a terminal")
	}

	var junit bytes.Buffer
	if err := r.WriteJUnit(&junit); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name     string `xml:"name,attr"`
				Failures []struct {
					Type string `xml:"type,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(junit.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, junit.String())
	}
	if read.Tests != 2 || read.Failures != 1 || len(read.Suites) != 2 || read.Suites[0].Cases[0].Failures[1].Type != "claimed_upload" {
		t.Errorf("%+v", read)
	}
}
