package loop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// The small structs of a raw loop: what it needs of the wire, and no more.
type (
	rawMessage struct {
		Role       string    `json:"role"`
		Content    *string   `json:"content"`
		ToolCalls  []rawCall `json:"tool_calls,omitempty"`
		ToolCallID string    `json:"tool_call_id,omitempty"`
	}
	rawCall struct {
		Index    int         `json:"index,omitempty"`
		ID       string      `json:"id"`
		Type     string      `json:"type"`
		Function rawFunction `json:"function"`
	}
	rawFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	rawTool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	rawRequest struct {
		Model     string       `json:"model"`
		Stream    bool         `json:"stream,omitempty"`
		MaxTokens int          `json:"max_tokens"`
		Tools     []rawTool    `json:"tools"`
		Messages  []rawMessage `json:"messages"`
	}
	rawReply struct {
		Choices []struct {
			Message      rawMessage `json:"message"`
			Delta        rawMessage `json:"delta"`
			FinishReason string     `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
)

const maxReply = 1_000_000

// rawClient sends requests and decodes replies for the raw loops.
type rawClient struct {
	http   *http.Client
	url    string
	stream bool
	in     bytes.Buffer
}

func newRawClient(c Config) *rawClient {
	return &rawClient{http: &http.Client{Transport: newTransport()}, url: c.BaseURL + "/chat/completions", stream: c.Stream}
}

func (c *rawClient) Close() { c.http.CloseIdleConnections() }

// post sends body and returns the message of the reply.
func (c *rawClient) post(ctx context.Context, body []byte) (*rawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if c.stream {
		return readEvents(io.LimitReader(resp.Body, maxReply))
	}
	c.in.Reset()
	if _, err := c.in.ReadFrom(io.LimitReader(resp.Body, maxReply)); err != nil {
		return nil, err
	}
	var r rawReply
	if err := json.Unmarshal(c.in.Bytes(), &r); err != nil {
		return nil, err
	}
	if len(r.Choices) != 1 {
		return nil, errors.New("no choice")
	}
	return checked(&r.Choices[0].Message, r.Choices[0].FinishReason)
}

// checked refuses a message that is not whole.
func checked(m *rawMessage, finish string) (*rawMessage, error) {
	if calls := len(m.ToolCalls) > 0; calls != (finish == "tool_calls") || !calls && finish != "stop" {
		return nil, fmt.Errorf("finish reason %q", finish)
	}
	return m, nil
}

// readEvents joins the chunks of a streamed reply.
func readEvents(r io.Reader) (*rawMessage, error) {
	m := &rawMessage{Role: "assistant"}
	var text []byte
	finish := ""
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxReply)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			if len(text) > 0 {
				s := string(text)
				m.Content = &s
			}
			return checked(m, finish)
		}
		var chunk rawReply
		if err := json.Unmarshal(data, &chunk); err != nil {
			return nil, err
		}
		for _, c := range chunk.Choices {
			if c.FinishReason != "" {
				finish = c.FinishReason
			}
			if c.Delta.Content != nil {
				text = append(text, *c.Delta.Content...)
			}
			for _, call := range c.Delta.ToolCalls {
				m.join(call)
			}
		}
	}
	return nil, errors.Join(io.ErrUnexpectedEOF, lines.Err())
}

func (m *rawMessage) join(piece rawCall) {
	if piece.Index >= len(m.ToolCalls) {
		piece.Index = 0
		m.ToolCalls = append(m.ToolCalls, piece)
		return
	}
	m.ToolCalls[piece.Index].Function.Arguments += piece.Function.Arguments
}
