package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-run/holdfast/bench/scripted"
)

// Naive is the loop of the tutorials: net/http, encoding/json, and the whole
// history marshalled again for each request.
func Naive() Contestant {
	return Contestant{Name: "naive", New: func(c Config) (Runner, error) {
		return &naive{rawClient: newRawClient(c), cfg: c, tool: scripted.Entries(c.Turns)}, nil
	}}
}

type naive struct {
	*rawClient
	cfg  Config
	tool entries
}

func (l *naive) Run(ctx context.Context) (Result, error) {
	req := newRequest(l.cfg.Stream)
	calls := 0
	for {
		body, err := json.Marshal(req)
		if err != nil {
			return Result{}, err
		}
		m, err := l.post(ctx, body)
		if err != nil {
			return Result{}, err
		}
		if len(m.ToolCalls) == 0 {
			return Result{content(m), calls}, nil
		}
		req.Messages = append(req.Messages, *m)
		for _, c := range m.ToolCalls {
			req.Messages = append(req.Messages, l.tool.answer(c))
			calls++
		}
	}
}

// Encoded is the best raw loop that we know: each message is encoded once, and
// a request is one buffer that grows.
func Encoded() Contestant {
	return Contestant{Name: "encoded", New: func(c Config) (Runner, error) {
		return &encoded{rawClient: newRawClient(c), cfg: c, tool: scripted.Entries(c.Turns)}, nil
	}}
}

type encoded struct {
	*rawClient
	cfg  Config
	tool entries
	out  bytes.Buffer
}

func (l *encoded) Run(ctx context.Context) (Result, error) {
	if err := l.begin(); err != nil {
		return Result{}, err
	}
	calls := 0
	for {
		m, err := l.post(ctx, l.out.Bytes())
		if err != nil {
			return Result{}, err
		}
		if len(m.ToolCalls) == 0 {
			return Result{content(m), calls}, nil
		}
		l.out.Truncate(l.out.Len() - len(end))
		if err := l.add(m); err != nil {
			return Result{}, err
		}
		for _, c := range m.ToolCalls {
			result := l.tool.answer(c)
			if err := l.add(&result); err != nil {
				return Result{}, err
			}
			calls++
		}
		l.out.WriteString(end)
	}
}

// end closes the messages and the request, whose last field they are.
const end = "]}"

func (l *encoded) begin() error {
	l.out.Reset()
	head, err := json.Marshal(newRequest(l.cfg.Stream))
	l.out.Write(head)
	return err
}

func (l *encoded) add(m *rawMessage) error {
	b, err := json.Marshal(m)
	l.out.WriteByte(',')
	l.out.Write(b)
	return err
}

func newRequest(stream bool) *rawRequest {
	instructions, question := scripted.Instructions, scripted.Question
	r := &rawRequest{
		Model: scripted.Model, Stream: stream, MaxTokens: scripted.MaxTokens,
		Tools: make([]rawTool, 1),
		Messages: []rawMessage{
			{Role: "system", Content: &instructions},
			{Role: "user", Content: &question},
		},
	}
	t := &r.Tools[0]
	t.Type = "function"
	t.Function.Name = scripted.ToolName
	t.Function.Description = scripted.ToolText
	t.Function.Parameters = json.RawMessage(scripted.ToolSchema)
	return r
}

// answer runs a call. What is wrong with it is told to the model.
func (e entries) answer(c rawCall) rawMessage {
	m := rawMessage{Role: "tool", ToolCallID: c.ID}
	var args struct {
		N int64 `json:"n"`
	}
	err := json.Unmarshal([]byte(c.Function.Arguments), &args)
	text := ""
	switch {
	case c.Function.Name != scripted.ToolName:
		text = "no such tool"
	case err != nil:
		text = fmt.Sprintf("bad arguments: %v", err)
	default:
		if text, err = e.lookup(args.N); err != nil {
			text = err.Error()
		}
	}
	m.Content = &text
	return m
}

func content(m *rawMessage) string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}
