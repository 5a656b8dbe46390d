package openai

import (
	"bytes"
	"errors"
	"io"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// ReadStream reads a streamed answer to its end: [DONE], the usage that follows
// the finish reason, or the end of the stream once that reason was seen.
func (a *assembly) ReadStream(s *transport.Stream) error {
	for ev, err := range s.Events {
		if err != nil {
			return a.broken(err)
		}
		if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
			return nil
		}
		ans, ok := a.in.read(ev.Data)
		if !ok {
			return transport.Invalid("a chunk of the answer is no JSON")
		}
		a.named(ans.id)
		if err := a.take(ans); err != nil {
			return err
		}
		if ans.last() && a.stop != "" {
			return nil
		}
	}
	if a.stop == "" {
		return transport.Cut()
	}
	return nil
}

// last tells a chunk of usage alone: after a finish reason nothing but [DONE]
// follows it, and some servers leave that out and the stream open.
func (v *answer) last() bool {
	_, reported := v.usage.neutral()
	return len(v.choices) == 0 && reported
}

// broken judges a stream that broke, or that was still open at the end of the
// request's time: what was to come after the finish reason could only have been
// usage.
func (a *assembly) broken(err error) error {
	if a.stop != "" && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, transport.ErrTimeout)) {
		return nil
	}
	return err
}

// ReadPlain reads an answer that is one JSON value.
func (a *assembly) ReadPlain(data []byte) error {
	ans, ok := a.in.read(data)
	if !ok {
		if transport.EndsEarly(data) {
			return transport.Cut()
		}
		return transport.Invalid("the answer is no JSON")
	}
	if ans.choices == nil && ans.problem.empty() {
		return transport.Invalid("the answer has no choices")
	}
	return a.take(ans)
}

// take adds a plain answer or a chunk to the reply.
func (a *assembly) take(v *answer) error {
	if !v.problem.empty() {
		return v.problem.failure(0)
	}
	a.blame(v.fault)
	if u, ok := v.usage.neutral(); ok {
		a.usage, a.reported = u, true // cumulative where it comes more than once
	}
	if len(v.choices) > 1 {
		a.blame("the reply has more than one choice")
	}
	for i := range v.choices {
		c := &v.choices[i]
		if c.index != 0 {
			a.blame("the reply has more than one choice")
			continue
		}
		a.chosen = true
		if a.stop != "" {
			a.ongoing(c)
		}
		a.delta(&c.message, true)
		a.delta(&c.delta, false)
		a.finished(c.finishReason)
	}
	return nil
}

// neutral returns false for a usage that is absent or cannot be true.
func (u *usage) neutral() (kernel.Usage, bool) {
	if u.prompt.Null() {
		return kernel.Usage{}, false
	}
	var counts [3]int64
	for i, n := range [...]transport.Value{u.prompt, u.completion, u.cached} {
		var ok bool
		if counts[i], ok = n.Int(); !ok {
			return kernel.Usage{}, false
		}
	}
	_, ok := transport.Tokens(counts[:]...)
	// The cached tokens are among the prompt's.
	return kernel.Usage{Input: counts[0], Output: counts[1], CacheRead: min(counts[2], counts[0])}, ok
}
