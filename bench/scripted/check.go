package scripted

import (
	"encoding/json"
	"fmt"
)

type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // text, or text parts
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// check reports where a request is not the one that the script must have led
// to after that many results.
func check(body []byte, results int) error {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("the request is no JSON: %w", err)
	}
	m := r.Messages
	if len(m) > 0 && m[0].Role == "system" {
		m = m[1:]
	}
	switch {
	case r.Model != Model:
		return fmt.Errorf("model %q", r.Model)
	case len(r.Tools) != 1 || r.Tools[0].Function.Name != ToolName:
		return fmt.Errorf("tools %v", r.Tools)
	case len(m) != 1+2*results:
		return fmt.Errorf("%d messages after %d results", len(m), results)
	case m[0].Role != "user" || m[0].text() != Question:
		return fmt.Errorf("the first message is no question")
	}
	for n := range results {
		if err := checkPair(n, &m[1+2*n], &m[2+2*n]); err != nil {
			return err
		}
	}
	return nil
}

func checkPair(n int, call, result *message) error {
	switch {
	case call.Role != "assistant" || len(call.ToolCalls) != 1:
		return fmt.Errorf("turn %d has no call", n)
	case call.ToolCalls[0].ID != callID(n) || call.ToolCalls[0].Function.Name != ToolName || call.ToolCalls[0].Function.Arguments != arguments(n):
		return fmt.Errorf("turn %d has another call: %v", n, call.ToolCalls[0])
	case result.Role != "tool" || result.ToolCallID != callID(n):
		return fmt.Errorf("turn %d has no result in its place", n)
	case result.text() != Entry(int64(n)):
		return fmt.Errorf("the result of turn %d is not what the tool returns", n)
	}
	return nil
}

func (m *message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}
