package stub

import (
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// openAIStops returns the wire's names of the neutral stop reasons. A refusal
// ends like any answer; its own field tells. What limit cut a reply is not told.
func openAIStops() map[kernel.StopReason]string {
	return map[kernel.StopReason]string{
		kernel.StopEnd:     "stop",
		kernel.StopCalls:   "tool_calls",
		kernel.StopLength:  "length",
		kernel.StopWindow:  "length",
		kernel.StopFilter:  "content_filter",
		kernel.StopRefusal: "stop",
	}
}

type (
	openAICompletion struct {
		ID      string         `json:"id"`
		Object  string         `json:"object"`
		Created int            `json:"created"`
		Model   string         `json:"model"`
		Choices []openAIChoice `json:"choices"`
		Usage   any            `json:"usage,omitempty"`
	}
	openAIChoice struct {
		Index   int            `json:"index"`
		Message map[string]any `json:"message,omitempty"`
		Delta   map[string]any `json:"delta,omitzero"`
		Finish  any            `json:"finish_reason"`
	}
	openAICall struct {
		Index    *int           `json:"index,omitempty"`
		ID       string         `json:"id,omitempty"`
		Type     string         `json:"type,omitempty"`
		Function openAIFunction `json:"function"`
	}
	openAIFunction struct {
		Name string `json:"name,omitempty"`
		Args string `json:"arguments"`
	}
)

func openAIPlain(f Form, r Reply) []byte {
	message := map[string]any{"role": "assistant", "content": r.Text, "refusal": nil}
	if r.Text == "" && (len(r.Calls) > 0 || r.Refusal != "") {
		message["content"] = nil
	}
	if r.Refusal != "" {
		message["refusal"] = r.Refusal
	}
	if reasoning := r.reasoning(); reasoning != "" {
		message["reasoning_content"] = reasoning
	}
	if len(r.Calls) > 0 {
		calls := make([]openAICall, len(r.Calls))
		for i, c := range r.Calls {
			calls[i] = openAICall{ID: c.ID, Type: "function", Function: openAIFunction{Name: c.Name, Args: c.Args}}
		}
		message["tool_calls"] = calls
	}
	completion := openAICompletion{
		ID: f.ID, Object: "chat.completion", Model: f.Model,
		Choices: []openAIChoice{{Message: message, Finish: wireStop(r.Stop, openAIStops())}},
	}
	if r.Usage != nil {
		completion.Usage = openAIUsage(r.Usage)
	}
	return marshal(completion)
}

// reasoning is the open text of the thinking.
func (r Reply) reasoning() string {
	var b strings.Builder
	for _, t := range r.Thinking {
		if t.Redacted == "" {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func openAIUsage(u *kernel.Usage) map[string]any {
	return map[string]any{
		"prompt_tokens":         u.Input,
		"completion_tokens":     u.Output,
		"total_tokens":          u.Input + u.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
	}
}

// openAIStream collects the chunks of one stream.
func openAIStream(f Form, r Reply) encoded {
	s := openAIChunks{form: f}
	s.delta(map[string]any{"role": "assistant", "content": ""})
	for _, piece := range words(r.reasoning()) {
		s.delta(map[string]any{"reasoning_content": piece})
	}
	for _, piece := range words(r.Text) {
		s.delta(map[string]any{"content": piece})
	}
	for _, piece := range words(r.Refusal) {
		s.delta(map[string]any{"refusal": piece})
	}
	for i, c := range r.Calls {
		s.call(openAICall{Index: &i, ID: c.ID, Type: "function", Function: openAIFunction{Name: c.Name}})
		for _, piece := range fragments(c.Args, argumentRunes) {
			s.call(openAICall{Index: &i, Function: openAIFunction{Args: piece}})
		}
	}
	content := s.events
	s.events = nil
	s.chunk([]openAIChoice{{Delta: map[string]any{}, Finish: wireStop(r.Stop, openAIStops())}}, nil)
	if f.Usage && r.Usage != nil {
		s.chunk([]openAIChoice{}, openAIUsage(r.Usage))
	}
	return encoded{content: content, end: append(s.events, []byte("data: [DONE]\n\n"))}
}

type openAIChunks struct {
	form   Form
	events [][]byte
}

func (s *openAIChunks) delta(fields map[string]any) {
	s.chunk([]openAIChoice{{Delta: fields}}, nil)
}

func (s *openAIChunks) call(c openAICall) {
	s.delta(map[string]any{"tool_calls": []openAICall{c}})
}

func (s *openAIChunks) chunk(choices []openAIChoice, usage map[string]any) {
	c := map[string]any{
		"id": s.form.ID, "object": "chat.completion.chunk", "created": 0, "model": s.form.Model, "choices": choices,
	}
	if s.form.Usage {
		c["usage"] = usage // null on every chunk but its own
	}
	s.events = append(s.events, []byte("data: "+string(marshal(c))+"\n\n"))
}
