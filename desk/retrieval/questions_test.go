package retrieval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/kernel"
)

const good = `{"id":"q1","user":"alice","tenant":"acme","query":"报销","expect":["P1"],"forbid":["P2"]}`

func TestReadQuestions(t *testing.T) {
	got, err := retrieval.ReadQuestions("q.jsonl", strings.NewReader("\n"+good+"\r\n\n"+`{"id":"q2","user":"bob","tenant":"acme","query":"x","expect":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []retrieval.Question{
		{ID: "q1", User: "alice", Tenant: "acme", Query: "报销", Expect: []string{"P1"}, Forbid: []string{"P2"}},
		{ID: "q2", User: "bob", Tenant: "acme", Query: "x", Expect: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A line that is no question is refused, and the message says which line it is.
func TestReadQuestionsRefuses(t *testing.T) {
	first := strings.Replace(good, `"q1"`, `"q0"`, 1)
	for name, line := range map[string]string{
		"no JSON":                `{"id":"q2"`,
		"a list":                 `[]`,
		"null":                   `null`,
		"another key":            strings.Replace(good, "expect", "expected", 1),
		"a key in capitals":      strings.Replace(good, `"user"`, `"User"`, 1),
		"a key said twice":       strings.Replace(good, `"expect":["P1"]`, `"expect":[],"expect":["P1"]`, 1),
		"twice in other letters": strings.Replace(good, `"expect":["P1"]`, `"expect":[],"Expect":["P1"]`, 1),
		"expected twice":         strings.Replace(good, `["P1"]`, `["P1","P1"]`, 1),
		"two on a line":          good + good,
		"the same id":            first,
		"no id":                  strings.Replace(good, `"q1"`, `""`, 1),
		"no tenant":              strings.Replace(good, `"acme"`, `""`, 1),
		"no user":                strings.Replace(good, `"user":"alice",`, ``, 1),
		"no query":               strings.Replace(good, `报销`, ` `, 1),
		"too long a query":       strings.Replace(good, `报销`, strings.Repeat("报", 101), 1),
		"nothing about answers":  strings.Replace(good, `"expect":["P1"],`, ``, 1),
		"expected and forbidden": strings.Replace(good, `"P2"`, `"P1"`, 1),
		"too long a line":        strings.Replace(good, `"P2"`, `"`+strings.Repeat("P", retrieval.MaxQuestionLine)+`"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := retrieval.ReadQuestions("q.jsonl", strings.NewReader(first+"\n\n"+line+"\n"))
			if kernel.CodeOf(err) != kernel.CodeInvalidArgument || !strings.Contains(err.Error(), "line 3 of ") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := retrieval.ReadQuestions("q.jsonl", strings.NewReader("\n \n")); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("an empty file: %v", err)
	}
}
