package stub

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// anthropicStops returns the wire's names of the neutral stop reasons.
func anthropicStops() map[kernel.StopReason]string {
	return map[kernel.StopReason]string{
		kernel.StopEnd:     "end_turn",
		kernel.StopCalls:   "tool_use",
		kernel.StopLength:  "max_tokens",
		kernel.StopWindow:  "model_context_window_exceeded",
		kernel.StopRefusal: "refusal",
	}
}

// anthropicPlain writes the message by hand where call inputs are concerned:
// they leave byte for byte.
func anthropicPlain(f Form, r Reply) ([]byte, error) {
	var blocks [][]byte
	for _, t := range r.Thinking {
		blocks = append(blocks, t.block())
	}
	if text := r.Text + r.Refusal; text != "" {
		blocks = append(blocks, marshal(anthropicText{"text", text}))
	}
	for _, c := range r.Calls {
		args := c.Args
		if args == "" {
			args = "{}"
		}
		if !json.Valid([]byte(args)) {
			return nil, &kernel.Error{
				Code:    kernel.CodeInvalidArgument,
				Message: fmt.Sprintf("the arguments of call %q are no JSON, which a plain Anthropic answer cannot say", c.ID),
			}
		}
		blocks = append(blocks, fmt.Appendf(nil, `{"type":"tool_use","id":%s,"name":%s,"input":%s}`,
			marshal(c.ID), marshal(c.Name), args))
	}
	body := fmt.Appendf(nil, `{"id":%s,"type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":%s,"stop_sequence":null`,
		marshal(f.ID), marshal(f.Model), bytes.Join(blocks, []byte(",")), marshal(wireStop(r.Stop, anthropicStops())))
	if r.Usage != nil {
		body = fmt.Appendf(body, `,"usage":%s`, marshal(anthropicUsage(r.Usage, r.Usage.Output)))
	}
	return append(body, '}'), nil
}

type (
	anthropicText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	anthropicThinking struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	anthropicRedacted struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}
)

// block is the thinking as a content block.
func (t Thinking) block() []byte {
	if t.Redacted != "" {
		return marshal(anthropicRedacted{"redacted_thinking", t.Redacted})
	}
	return marshal(anthropicThinking{"thinking", t.Text, t.signature()})
}

func anthropicUsage(u *kernel.Usage, output int64) map[string]any {
	return map[string]any{
		"input_tokens":                u.Input - u.CacheRead - u.CacheWrite,
		"cache_read_input_tokens":     u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite,
		"output_tokens":               output,
	}
}

// anthropicStream collects the events of one stream.
func anthropicStream(f Form, r Reply) encoded {
	var s anthropicEvents
	start := map[string]any{
		"id": f.ID, "type": "message", "role": "assistant", "model": f.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
	if r.Usage != nil {
		start["usage"] = anthropicUsage(r.Usage, 1)
	}
	s.event("message_start", map[string]any{"message": start})
	s.event("ping", map[string]any{})
	for _, t := range r.Thinking {
		s.thinking(t)
	}
	if text := r.Text + r.Refusal; text != "" {
		s.block(anthropicText{Type: "text"}, "text_delta", "text", words(text))
	}
	for _, c := range r.Calls {
		use := map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}
		s.block(use, "input_json_delta", "partial_json", append([]string{""}, fragments(c.Args, argumentRunes)...))
	}
	content := s.events
	s.events = nil
	end := map[string]any{"delta": map[string]any{"stop_reason": wireStop(r.Stop, anthropicStops()), "stop_sequence": nil}}
	if r.Usage != nil {
		end["usage"] = map[string]any{"output_tokens": r.Usage.Output}
	}
	s.event("message_delta", end)
	s.event("message_stop", map[string]any{})
	return encoded{content: content, end: s.events}
}

type anthropicEvents struct {
	events [][]byte
	blocks int
}

func (s *anthropicEvents) event(name string, fields map[string]any) {
	fields["type"] = name
	s.events = append(s.events, fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, marshal(fields)))
}

// block writes a content block whose text comes in deltas.
func (s *anthropicEvents) block(start any, delta, field string, pieces []string) {
	s.open(start)
	for _, piece := range pieces {
		s.delta(delta, field, piece)
	}
	s.close()
}

func (s *anthropicEvents) thinking(t Thinking) {
	if t.Redacted != "" {
		s.block(anthropicRedacted{"redacted_thinking", t.Redacted}, "", "", nil)
		return
	}
	s.open(anthropicThinking{Type: "thinking"})
	for _, piece := range words(t.Text) {
		s.delta("thinking_delta", "thinking", piece)
	}
	s.delta("signature_delta", "signature", t.signature())
	s.close()
}

func (s *anthropicEvents) open(start any) {
	s.event("content_block_start", map[string]any{"index": s.blocks, "content_block": start})
}

func (s *anthropicEvents) delta(kind, field, piece string) {
	s.event("content_block_delta", map[string]any{"index": s.blocks, "delta": map[string]any{"type": kind, field: piece}})
}

func (s *anthropicEvents) close() {
	s.event("content_block_stop", map[string]any{"index": s.blocks})
	s.blocks++
}
