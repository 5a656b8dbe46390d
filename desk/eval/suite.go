package eval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Suite is a file of tasks with its gate.
type Suite struct {
	Name   string
	Hash   string // SHA-256 of the file, in hex
	Gate   Gate
	Limits kernel.Limits
	Tasks  []Task
}

// The bounds of a file.
const (
	MaxFile  = 8 << 20 // bytes
	MaxTasks = 10_000
)

// header is the first line of a file, where it is there.
type header struct {
	Gate   *Gate   `json:"gate"`
	Limits *limits `json:"limits"`
}

// limits change those of the desk.
type limits struct {
	Turns    int    `json:"turns"`
	Calls    int    `json:"calls"`
	Deadline string `json:"deadline"`
}

// Parse reads a suite of JSON lines: first, where it is there, one with gate or
// limits, then one task a line. Blank lines do not count. Without a gate every
// trial has to pass. The first line that is wrong is INVALID_ARGUMENT, by name
// and number.
func Parse(name string, data []byte) (*Suite, error) {
	if len(data) > MaxFile {
		return nil, invalid(fmt.Sprintf("%s: %d bytes are more than a file of tasks may have, %d", name, len(data), MaxFile), "split it")
	}
	sum := sha256.Sum256(data)
	s := &Suite{Name: name, Hash: hex.EncodeToString(sum[:]), Gate: everything(), Limits: desk.Limits()}
	first := 0 // line with anything on it
	seen := map[string]int{}
	for i, line := range bytes.Split(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if first == 0 {
			first = i + 1
		}
		if err := s.line(line, i+1, i+1 == first, seen); err != nil {
			return nil, invalid(fmt.Sprintf("%s:%d: %s", name, i+1, reason(err)), "docs/desk-eval.md says what a line holds; nothing was run")
		}
	}
	if len(s.Tasks) == 0 {
		return nil, invalid(name+": there is no task", "a task is a line with id, kind, user, question and expect")
	}
	if err := s.Gate.check(s.Tasks); err != nil {
		return nil, invalid(fmt.Sprintf("%s:%d: %s", name, first, reason(err)), "the gate names kinds of the file's tasks, and classes of failures")
	}
	return s, nil
}

// line takes one line in. seen has the lines of the ids.
func (s *Suite) line(line []byte, number int, first bool, seen map[string]int) error {
	if first && isHeader(line) {
		var h header
		if err := strict(line, &h); err != nil {
			return err
		}
		return s.head(&h)
	}
	var t Task
	if err := strict(line, &t); err != nil {
		return err
	}
	if err := t.complete(); err != nil {
		return err
	}
	if before, ok := seen[t.ID]; ok {
		return fmt.Errorf("id: %q stands on line %d too", t.ID, before)
	}
	if len(s.Tasks) == MaxTasks {
		return fmt.Errorf("more than %d tasks", MaxTasks)
	}
	seen[t.ID] = number
	s.Tasks = append(s.Tasks, t)
	return nil
}

func isHeader(line []byte) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(line, &keys) != nil {
		return false
	}
	_, gate := keys["gate"]
	_, limits := keys["limits"]
	return gate || limits
}

func (s *Suite) head(h *header) error {
	if h.Gate != nil {
		s.Gate = *h.Gate
	}
	if h.Limits == nil {
		return nil
	}
	if h.Limits.Turns != 0 {
		s.Limits.Turns = h.Limits.Turns
	}
	if h.Limits.Calls != 0 {
		s.Limits.Calls = h.Limits.Calls
	}
	if h.Limits.Deadline != "" {
		d, err := time.ParseDuration(h.Limits.Deadline)
		if err != nil {
			return fmt.Errorf("limits.deadline: %q is no time such as 30s", h.Limits.Deadline)
		}
		s.Limits.Deadline = d
	}
	if s.Limits.Turns < 1 || s.Limits.Calls < 1 || s.Limits.Deadline <= 0 {
		return errors.New("limits: turns, calls and deadline are above 0")
	}
	return nil
}

// strict decodes one object whose keys are all known, each once.
func strict(line []byte, into any) error {
	if err := kernel.CheckArguments(string(line)); err != nil {
		return fmt.Errorf("not one JSON object: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// reason is what an error says about a line, without names of Go types.
func reason(err error) string {
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		return e.Message
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s: a %s does not fit here", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// Scriptable refuses a suite that cannot be played without a model, as
// INVALID_ARGUMENT.
func (s *Suite) Scriptable() error {
	if i := slices.IndexFunc(s.Tasks, func(t Task) bool { return len(t.Steps) == 0 }); i >= 0 {
		return invalid(fmt.Sprintf("%s: the task %q has no steps to play", s.Name, s.Tasks[i].ID), "give it steps, or use --mode live; nothing was run")
	}
	return nil
}
