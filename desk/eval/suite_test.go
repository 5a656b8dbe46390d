package eval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/kernel"
)

const good = `{"id":"a","kind":"own_ticket","user":"alice","question":"q","steps":[{"text":"x"}],"expect":{}}`

// A file that is wrong is refused with the line, and nothing runs.
func TestWrongFiles(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"empty":                 {"\n\n", "f: there is no task"},
		"no JSON":               {good + "\n{", "f:2: not one JSON object"},
		"unknown key":           {"\n" + strings.Replace(good, `"id"`, `"idd":1,"id"`, 1), `f:2: unknown field "idd"`},
		"key twice":             {strings.Replace(good, `"id"`, `"id":"b","id"`, 1), "f:1: "},
		"wrong type":            {strings.Replace(good, `"q"`, `7`, 1), "f:1: question: a number does not fit here"},
		"more on the line":      {good + good, "f:1: "},
		"same id":               {good + "\n\n" + good, `f:3: id: "a" stands on line 1 too`},
		"no id":                 {strings.Replace(good, `"a"`, `""`, 1), "f:1: id is empty"},
		"no question":           {strings.Replace(good, `"q"`, `" "`, 1), "f:1: question is empty"},
		"unknown kind":          {strings.Replace(good, "own_ticket", "other", 1), `f:1: kind: "other" is none of`},
		"unknown person":        {strings.Replace(good, "alice", "eve", 1), `f:1: user: "eve" is no fixture`},
		"unknown script":        {strings.Replace(good, `"expect"`, `"script":"sulks","expect"`, 1), `f:1: script: "sulks" is none of honest, `},
		"injection missing":     {strings.Replace(good, `"expect"`, `"script":"follows_injection","expect"`, 1), "f:1: script: follows_injection needs"},
		"step of nothing":       {strings.Replace(good, `{"text":"x"}`, `{}`, 1), "f:1: steps: number 1"},
		"drafts the wrong way":  {strings.Replace(good, `"expect":{}`, `"expect":{"drafts":[2,1]}`, 1), "f:1: expect.drafts"},
		"no date":               {strings.Replace(good, `"expect"`, `"policies":[{"id":"P1","title":"t","body":"b","valid_from":"soon"}],"expect"`, 1), "f:1: valid_from"},
		"a day out of reach":    {strings.Replace(good, `"expect"`, `"policies":[{"id":"P1","title":"t","body":"b","tenant":"acme","version":"1","valid_from":"9999-01-01"}],"expect"`, 1), "f:1: a version is in force from a day between 1970 and 2199"},
		"policy without a body": {strings.Replace(good, `"expect"`, `"policies":[{"id":"P1","title":"t"}],"expect"`, 1), "f:1: the body is empty"},
		"ticket without a body": {strings.Replace(good, `"expect"`, `"tickets":[{"id":"T1","subject":"t"}],"expect"`, 1), "f:1: the body is empty"},
		"gate behind a task":    {good + "\n" + `{"gate":{"pass_rate":1}}`, `f:2: unknown field "gate"`},
		"gate over 1":           {`{"gate":{"pass_rate":2}}` + "\n" + good, "f:1: gate.pass_rate"},
		"gate of no kind":       {`{"gate":{"pass_rate":1,"kinds":{"missing_id":1}}}` + "\n" + good, `f:1: gate.kinds: there is no task of the kind "missing_id"`},
		"gate of no class":      {"\n" + `{"gate":{"pass_rate":1,"never":["sulked"]}}` + "\n" + good, `f:2: gate.never: "sulked"`},
		"gate without a rate":   {`{"gate":{"never":["limit"]}}` + "\n" + good, "f:1: gate.pass_rate is missing"},
		"limits":                {`{"limits":{"turns":-1}}` + "\n" + good, "f:1: limits"},
		"deadline":              {`{"limits":{"deadline":"soon"}}` + "\n" + good, "f:1: limits.deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := eval.Parse("f", []byte(tt.file))
			var e *kernel.Error
			if !errors.As(err, &e) || e.Code != kernel.CodeInvalidArgument || e.Hint == "" || !strings.HasPrefix(e.Message, tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "eval.") {
				t.Errorf("a Go type in %v", err)
			}
		})
	}
}

// Row 107: a gate is met or names what it misses.
func TestGate(t *testing.T) {
	const head = `{"gate":{"pass_rate":0.5,"kinds":{"own_ticket":1},"never":["claimed_upload"]}}` + "\n"
	other := strings.NewReplacer(`"a"`, `"b"`, "own_ticket", "missing_id").Replace(good)
	status := strings.NewReplacer(`"expect":{}`, `"expect":{"status":["unsupported"]}`)
	for name, tt := range map[string]struct {
		lines  string
		misses []string
	}{
		"met":     {status.Replace(good + "\n" + other), []string{}},
		"a kind":  {good + "\n" + status.Replace(other), []string{"own_ticket: 0 of 1 passed, and 1 is the least"}},
		"a class": {status.Replace(good + "\n" + strings.Replace(other, `"x"`, `"我已经上传了。"`, 1)), []string{"claimed_upload: in 1 trials, and it may not occur"}},
		"overall": {strings.NewReplacer("own_ticket", "missing_id").Replace(good) + "\n" + strings.NewReplacer(`"b"`, `"c"`, "missing_id", "own_ticket").Replace(status.Replace(other)) + "\n" + other, []string{"overall: 1 of 3 passed, and 0.5 is the least"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, parse(t, head+tt.lines), nil)
			if diff := cmp.Diff(tt.misses, r.Gate.Misses); diff != "" || r.Gate.Met != (len(tt.misses) == 0) {
				t.Errorf("met %v: %s", r.Gate.Met, diff)
			}
		})
	}
}
