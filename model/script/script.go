package script

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Script is what a Model plays. Do not change it while it is in use.
type Script struct {
	Steps []Step `yaml:"steps"` // at least one
}

// Step is one answer: a reply, or a failure, or one of several alternatives.
type Step struct {
	// If chooses among the alternatives of Any. It stands nowhere else.
	If *If `yaml:"if"`
	// Any are alternatives, of which the first whose If holds is played; one
	// without If always holds. Either all of them enter the history or none:
	// failures and replies cut by the limit do not mix with others.
	Any []Step `yaml:"any"`

	Text      string `yaml:"text"`
	Reasoning string `yaml:"reasoning"` // private
	Calls     []Call `yaml:"calls"`
	// Stop is the reply's stop reason: end, calls, length, window,
	// content_filter, refusal, absent or other:NAME. Empty: calls when there
	// are calls, else end.
	Stop  kernel.StopReason `yaml:"stop"`
	Usage *Usage            `yaml:"usage"` // nil: none is reported

	Fail *Fail `yaml:"fail"`
	// Hang never answers: the request ends with its context or its timeout.
	Hang bool `yaml:"hang"`
}

// If is a condition on a request.
type If struct {
	// LastResultContains holds when the latest tool result has this text. It
	// is not empty.
	LastResultContains string `yaml:"last_result_contains"`
}

// Call is a tool call. Nothing of it is checked: what a script says is what
// the model says, sense or not.
type Call struct {
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
	Args string `yaml:"args"` // byte for byte
}

// Usage is what a reply reports. InputTokens includes the cached ones.
type Usage struct {
	InputTokens      int64 `yaml:"input_tokens"`
	OutputTokens     int64 `yaml:"output_tokens"`
	CacheReadTokens  int64 `yaml:"cache_read_tokens"`
	CacheWriteTokens int64 `yaml:"cache_write_tokens"`
}

// Fail is a request that brings no reply.
type Fail struct {
	Kind       kernel.FailureKind `yaml:"kind"`
	Status     int                `yaml:"status"`
	RetryAfter *time.Duration     `yaml:"retry_after"`
}

// absent is how a script spells kernel.StopAbsent.
const absent kernel.StopReason = "absent"

// leaves reports whether the step leaves a message in the history.
func (s *Step) leaves() bool {
	if len(s.Any) > 0 {
		return s.Any[0].leaves()
	}
	return s.Fail == nil && !s.Hang && s.Stop != kernel.StopLength
}

// position is the index of the step for a request whose history holds so many
// replies, at this attempt of it, from 1. Each attempt passes one step that
// leaves nothing behind; none passes a reply, which an attempt that lost it gets
// again.
func (s *Script) position(replies, attempt int) int {
	i := 0
	for ; replies > 0 && i < len(s.Steps); i++ {
		if s.Steps[i].leaves() {
			replies--
		}
	}
	for ; attempt > 1 && i < len(s.Steps) && !s.Steps[i].leaves(); attempt-- {
		i++
	}
	return i
}

// Validate reports the first step that cannot be played, as CONFIGURATION.
func (s *Script) Validate() error {
	_, err := s.validate()
	return err
}

// validate also returns the index of the step that is wrong.
func (s *Script) validate() (step int, err error) {
	if len(s.Steps) == 0 {
		return 0, invalid("a script needs at least one step", "begin with steps: [{text: TEXT}]")
	}
	for i := range s.Steps {
		if err := s.Steps[i].validate(); err != nil {
			err.Message = fmt.Sprintf("step %d: %s", i+1, err.Message)
			return i, err
		}
	}
	return 0, nil
}

func (s *Step) validate() *kernel.Error {
	if s.If != nil {
		return invalid("if stands outside any", "write any: [{if: …, text: …}, {text: …}]")
	}
	if len(s.Any) == 0 {
		return s.validateAnswer()
	}
	if s.answers() {
		return invalid("any stands beside another answer", "a step has any, or an answer of its own")
	}
	for i := range s.Any {
		a := &s.Any[i]
		if len(a.Any) > 0 {
			return invalid("any inside any", "write the alternatives as one list")
		}
		if a.If != nil && a.If.LastResultContains == "" {
			return invalid("if without a condition", "write if: {last_result_contains: TEXT}")
		}
		if err := a.validateAnswer(); err != nil {
			return err
		}
		if a.leaves() != s.Any[0].leaves() {
			return invalid("failures and replies stand in one any", "make the failure a step of its own")
		}
	}
	return nil
}

// answers reports whether the step says anything itself.
func (s *Step) answers() bool {
	return s.replies() || s.Fail != nil || s.Hang
}

func (s *Step) replies() bool {
	return s.Text != "" || s.Reasoning != "" || len(s.Calls) > 0 || s.Stop != "" || s.Usage != nil
}

func (s *Step) validateAnswer() *kernel.Error {
	if !s.answers() {
		return invalid("a step without an answer", "a step has text, calls, stop, fail, hang or any")
	}
	if s.Hang && (s.replies() || s.Fail != nil) || s.Fail != nil && s.replies() {
		return invalid("a step with two answers", "a step is a reply, or fail, or hang")
	}
	if s.Fail != nil {
		return s.Fail.validate()
	}
	switch s.Stop {
	case "", absent, kernel.StopEnd, kernel.StopCalls, kernel.StopLength, kernel.StopWindow, kernel.StopFilter, kernel.StopRefusal:
	default:
		if !strings.HasPrefix(string(s.Stop), "other:") {
			return invalid(fmt.Sprintf("unknown stop %.40q", s.Stop), "one of end, calls, length, window, content_filter, refusal, absent, other:NAME")
		}
	}
	if u := s.Usage; u != nil && min(u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens) < 0 {
		return invalid("usage is negative", "input_tokens includes the cached ones")
	}
	return nil
}

func (f *Fail) validate() *kernel.Error {
	switch f.Kind {
	case kernel.FailStatus:
		if f.Status < 400 || f.Status > 599 {
			return invalid("a failure of kind status needs a status from 400 to 599", "write fail: {kind: status, status: 529}")
		}
	case kernel.FailConnection, kernel.FailTLS, kernel.FailTimeout, kernel.FailCut, kernel.FailQuota, kernel.FailContext,
		kernel.FailFilter, kernel.FailInvalid, kernel.FailTooLarge, kernel.FailAborted, kernel.FailRequest, kernel.FailInternal:
		if f.Status != 0 && (f.Status < 100 || f.Status > 599) {
			return invalid("a failure's status must be an HTTP status", "from 100 to 599")
		}
	default:
		return invalid(fmt.Sprintf("unknown kind of failure %.40q", f.Kind),
			"one of status, connection, tls, timeout, cut, quota, context_too_long, content_filter, invalid_response, response_too_large, aborted, request, internal")
	}
	if f.RetryAfter != nil && *f.RetryAfter < 0 {
		return invalid("retry_after is negative", "write a duration such as 1.5s")
	}
	return nil
}

func invalid(message, hint string) *kernel.Error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: hint}
}
