package retrieval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of a file of questions.
const (
	MaxQuestions    = 100_000
	MaxQuestionLine = 64 << 10 // bytes
)

// Question is a search with what it should find.
type Question struct {
	ID     string   `json:"id"`
	User   string   `json:"user"`
	Tenant string   `json:"tenant"`
	Query  string   `json:"query"`
	Expect []string `json:"expect"` // ids of policies; none: there is no answer
	Forbid []string `json:"forbid"` // ids that must not be found
}

// ReadQuestions reads a file with a question in JSON on each line; empty lines
// count and are passed over. A line that is no question, an unknown key or one said twice, an
// id that another line has, and a policy that is expected twice, or both expected and forbidden, are
// INVALID_ARGUMENT with the number of the line.
func ReadQuestions(name string, r io.Reader) (all []Question, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxQuestionLine)
	seen := map[string]bool{}
	number := 0
	for lines.Scan() {
		number++
		raw := bytes.TrimSpace(lines.Bytes())
		if len(raw) == 0 {
			continue
		}
		q, err := readQuestion(raw)
		switch {
		case err != nil:
			return nil, badLine(name, number, err.Error())
		case seen[q.ID]:
			return nil, badLine(name, number, fmt.Sprintf("the id %.80q is that of an earlier line", q.ID))
		case len(all) == MaxQuestions:
			return nil, badLine(name, number, fmt.Sprintf("there are over %d questions", MaxQuestions))
		}
		seen[q.ID] = true
		all = append(all, q)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, badLine(name, number+1, fmt.Sprintf("it has over %d bytes", MaxQuestionLine))
	case err != nil:
		return nil, badLine(name, number+1, err.Error())
	case len(all) == 0:
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("there are no questions in %.200q", name), Hint: "write one JSON object a line: id, user, tenant, query, expect, forbid"}
	}
	return all, nil
}

// decode takes one object whose keys are all known, in this spelling, each once.
func (q *Question) decode(raw []byte) error {
	if err := kernel.CheckArguments(string(raw)); err != nil {
		return fmt.Errorf("it is not one JSON object with each key once: %w", err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return err
	}
	for key := range keys {
		if !slices.Contains([]string{"id", "user", "tenant", "query", "expect", "forbid"}, key) {
			return fmt.Errorf("it has a key %.80q", key)
		}
	}
	return json.Unmarshal(raw, q)
}

func readQuestion(raw []byte) (q Question, err error) {
	if err := q.decode(raw); err != nil {
		return q, err
	}
	if q.ID == "" {
		return q, errors.New("id is missing")
	}
	if err := (desk.Identity{Tenant: q.Tenant, User: q.User}).Check(); err != nil {
		return q, errors.New("user and tenant are both needed")
	}
	if _, err := desk.Text(q.Query, "the query", desk.MaxQuery); err != nil {
		return q, err
	}
	if q.Expect == nil {
		return q, errors.New("expect is missing: write [] where there is no answer")
	}
	for i, id := range q.Expect {
		if slices.Contains(q.Expect[:i], id) {
			return q, fmt.Errorf("policy %.80q is expected twice", id)
		}
		if slices.Contains(q.Forbid, id) {
			return q, fmt.Errorf("policy %.80q is both expected and forbidden", id)
		}
	}
	return q, nil
}

func badLine(name string, number int, what string) error {
	return &kernel.Error{
		Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("line %d of %.200q: %s", number, name, what),
		Hint: `a line is such as {"id":"q1","user":"alice","tenant":"acme","query":"报销","expect":["P1001"],"forbid":[]}`,
	}
}
