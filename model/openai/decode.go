package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// answer is a plain answer, or one chunk of a streamed one.
type answer struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   *problem        `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Message      delta  `json:"message"` // plain
	Delta        delta  `json:"delta"`   // streamed
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content   json.RawMessage `json:"content"` // a string, or an array of parts
	Refusal   string          `json:"refusal"`
	Reasoning string          `json:"reasoning_content"`
	ToolCalls []fragment      `json:"tool_calls"`
	Legacy    *function       `json:"function_call"`
}

// fragment is a call, or a piece of one. An absent index is not 0.
type fragment struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// readStream reads a streamed answer to its end: [DONE], or the end of the
// stream once a finish reason was seen.
func (a *assembly) readStream(r io.Reader) error {
	var v answer
	for ev, err := range transport.Events(r) {
		if err != nil {
			return a.broken(err)
		}
		if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
			return nil
		}
		// The choices' memory serves each chunk. It is cleared, since the decoder
		// leaves what an element held before and the chunk does not name.
		clear(v.Choices)
		v = answer{Choices: v.Choices[:0]}
		fault, err := transport.Decode(ev.Data, &v)
		if err != nil {
			return transport.Invalid("a chunk of the answer is no JSON")
		}
		if err := a.take(&v, fault); err != nil {
			return err
		}
	}
	if a.stop == "" {
		return transport.Cut()
	}
	return nil
}

// broken judges a stream that broke: what came after the finish reason could
// only have been usage.
func (a *assembly) broken(err error) error {
	if a.stop != "" && errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// readPlain reads an answer that is one JSON value.
func (a *assembly) readPlain(x *transport.Exchange) error {
	data, err := x.ReadAll()
	if err != nil {
		return err
	}
	return a.plain(data)
}

func (a *assembly) plain(data []byte) error {
	var v answer
	fault, err := transport.Decode(data, &v)
	switch {
	case err != nil && transport.EndsEarly(data):
		return transport.Cut()
	case err != nil:
		return transport.Invalid("the answer is no JSON")
	case v.Choices == nil && v.Error.empty():
		return transport.Invalid("the answer has no choices")
	}
	return a.take(&v, fault)
}

// take adds a plain answer or a chunk to the reply.
func (a *assembly) take(v *answer, fault string) error {
	if !v.Error.empty() {
		return v.Error.failure(0)
	}
	a.blame(fault)
	if u := usageOf(v.Usage); u != nil {
		a.usage = u // cumulative where it comes more than once
	}
	if len(v.Choices) > 1 {
		a.blame("the reply has more than one choice")
	}
	for i := range v.Choices {
		c := &v.Choices[i]
		if c.Index != 0 {
			a.blame("the reply has more than one choice")
			continue
		}
		a.chosen = true
		a.delta(&c.Message, true)
		a.delta(&c.Delta, false)
		a.finished(c.FinishReason)
	}
	return nil
}

// usageOf returns nil for a usage that is absent or cannot be true.
func usageOf(raw json.RawMessage) *kernel.Usage {
	if len(raw) == 0 {
		return nil
	}
	var u struct {
		Prompt     *int64 `json:"prompt_tokens"`
		Completion int64  `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Prompt == nil {
		return nil
	}
	if _, ok := transport.Tokens(*u.Prompt, u.Completion, u.Details.Cached); !ok {
		return nil
	}
	// The cached tokens are among the prompt's.
	return &kernel.Usage{Input: *u.Prompt, Output: u.Completion, CacheRead: min(u.Details.Cached, *u.Prompt)}
}
