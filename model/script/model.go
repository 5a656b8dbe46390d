package script

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

const provider = "script"

// Config describes a scripted model.
type Config struct {
	Script       *Script        // required
	Name         string         // default "script"
	Profile      kernel.Profile // default strict
	MaxTokens    int            // default 4,096; nothing here counts tokens
	MaxTokensCap int            // default 16,384, or MaxTokens
}

// Model plays a script. It holds nothing of what it played: it is safe for
// concurrent use, and conversations do not disturb one another.
type Model struct {
	info   model.Info
	script *Script
}

var _ model.Model = (*Model)(nil)

// New returns a model that plays c.Script. The error is CONFIGURATION.
func New(c Config) (*Model, error) {
	if c.Script == nil {
		return nil, invalid("a scripted model needs a script", "load one from a file")
	}
	if err := c.Script.Validate(); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = provider
	}
	if c.Profile == "" {
		c.Profile = kernel.Strict
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 4096
	}
	if c.MaxTokensCap == 0 {
		c.MaxTokensCap = max(16384, c.MaxTokens)
	}
	return &Model{
		info: model.Info{
			Provider: provider, Name: c.Name, Profile: c.Profile,
			MaxTokens: c.MaxTokens, MaxTokensCap: c.MaxTokensCap, Scripted: true,
		},
		script: c.Script,
	}, nil
}

// Info describes the model.
func (m *Model) Info() model.Info { return m.info }

// Call plays the step that the request's history and its attempt are at. Past the last step,
// and where no alternative of a step fits, it is a failure of kind request.
func (m *Model) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	if ctx.Err() != nil {
		return nil, aborted()
	}
	step, err := m.next(req)
	if err != nil {
		return nil, err
	}
	switch {
	case step.Hang:
		return nil, hang(ctx, req.Timeout)
	case step.Fail != nil:
		return nil, step.Fail.failure()
	}
	for _, piece := range words(step.Text) {
		if ctx.Err() != nil {
			return nil, aborted()
		}
		if watch != nil {
			watch(model.Delta{Text: piece})
		}
	}
	return step.reply(), nil
}

// next chooses the step.
func (m *Model) next(req *model.Request) (*Step, error) {
	index := m.script.position(replies(req), req.Attempt)
	if index >= len(m.script.Steps) {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: fmt.Sprintf("the script is at its end: it has %d steps", len(m.script.Steps))}
	}
	step := &m.script.Steps[index]
	if len(step.Any) == 0 {
		return step, nil
	}
	i := slices.IndexFunc(step.Any, func(s Step) bool { return s.If.holds(req) })
	if i < 0 {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: fmt.Sprintf("no alternative of step %d of the script fits the request", index+1)}
	}
	return &step.Any[i], nil
}

// replies is the number of assistant messages in the history.
func replies(req *model.Request) int {
	n := 0
	for i := range req.Messages {
		if req.Messages[i].Role == kernel.RoleAssistant {
			n++
		}
	}
	return n
}

// holds reports whether the condition holds; nil always does.
func (c *If) holds(req *model.Request) bool {
	if c == nil {
		return true
	}
	for _, message := range slices.Backward(req.Messages) {
		for _, b := range slices.Backward(message.Blocks) {
			if b.Kind == kernel.BlockResult {
				return strings.Contains(b.Text, c.LastResultContains)
			}
		}
	}
	return false
}

// hang waits for the end of ctx or of the timeout; 0: none.
func hang(ctx context.Context, timeout time.Duration) error {
	var expired <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-ctx.Done():
		return aborted()
	case <-expired:
		return &model.Error{Kind: kernel.FailTimeout, Message: "the script does not answer"}
	}
}

func aborted() error {
	return &model.Error{Kind: kernel.FailAborted, Message: "the request was aborted"}
}

func (f *Fail) failure() error {
	e := &model.Error{Kind: f.Kind, Status: f.Status, Message: "the script says so"}
	if f.RetryAfter != nil {
		wait := *f.RetryAfter
		e.RetryAfter = &wait
	}
	return e
}

// reply builds the step's reply.
func (s *Step) reply() *model.Reply {
	r := &model.Reply{
		Message: kernel.Message{Role: kernel.RoleAssistant},
		Stop:    s.stop(),
		Size:    len(s.Reasoning) + len(s.Text),
	}
	add := func(b kernel.Block) { r.Message.Blocks = append(r.Message.Blocks, b) }
	if s.Reasoning != "" {
		data, _ := json.Marshal(s.Reasoning) // a string always encodes
		add(kernel.Block{Kind: kernel.BlockReason, Private: &kernel.Private{Provider: provider, Data: data}})
	}
	if s.Text != "" {
		add(kernel.Block{Kind: kernel.BlockText, Text: s.Text})
	}
	for _, c := range s.Calls {
		add(kernel.Block{Kind: kernel.BlockCall, Call: &kernel.Call{ID: c.ID, Name: c.Name, Arguments: c.Args}})
		r.Size += len(c.ID) + len(c.Name) + len(c.Args)
	}
	if u := s.Usage; u != nil {
		r.Usage = &kernel.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens}
	}
	return r
}

func (s *Step) stop() kernel.StopReason {
	switch {
	case s.Stop == absent:
		return kernel.StopAbsent
	case s.Stop != "":
		return s.Stop
	case len(s.Calls) > 0:
		return kernel.StopCalls
	}
	return kernel.StopEnd
}

// words cuts text after its spaces: the deltas of a reply.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}
