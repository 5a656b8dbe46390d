package engine

import (
	"encoding/base64"
	"strconv"

	"github.com/holdfast-run/holdfast/kernel"
)

// Contents are written by hand, since every run and every turn has them: their
// forms are those of the structs' tags, which TestContentRoundTrip holds them
// to.

// encode returns the content's bytes; nil for an event that has none.
func (c Content) encode() []byte {
	switch {
	case c.Question != nil:
		return c.Question.encode()
	case c.Message != nil:
		return encodeMessage(c.Message)
	case c.Result != nil:
		return c.Result.encode()
	case c.Said != nil:
		return append(appendText(nil, `{"text":`, c.Said.Text), '}')
	}
	return nil
}

func (q *Question) encode() []byte {
	b := make([]byte, 0, len(q.Text)+len(q.Instructions)+512)
	b = appendText(b, `{"text":`, q.Text)
	b = appendText(b, `,"provider":`, q.Provider)
	b = appendSome(b, `,"model":`, q.Model)
	b = appendTrue(b, `,"scripted":true`, q.Scripted)
	b = appendSome(b, `,"instructions":`, q.Instructions)
	b = appendTexts(b, `,"tools":`, q.Tools)
	b = appendTexts(b, `,"requires":`, q.Requires)
	if q.Prior != 0 {
		b = strconv.AppendInt(append(b, `,"prior":`...), int64(q.Prior), 10)
	}
	if len(q.Config) > 0 {
		b = append(append(b, `,"config":`...), q.Config...)
	}
	return append(b, '}')
}

func (r *Result) encode() []byte {
	b := appendText(nil, `{"text":`, r.Text)
	b = appendTrue(b, `,"is_error":true`, r.IsError)
	if len(r.Data) > 0 {
		b = append(append(b, `,"data":`...), r.Data...)
	}
	b = strconv.AppendInt(append(b, `,"elapsed_ns":`...), int64(r.Elapsed), 10)
	return append(b, '}')
}

func encodeMessage(m *kernel.Message) []byte {
	b := appendText(make([]byte, 0, messageSize), `{"role":`, string(m.Role))
	b = append(b, `,"blocks":`...)
	if m.Blocks == nil {
		return append(b, "null}"...)
	}
	b = append(b, '[')
	for i := range m.Blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBlock(b, &m.Blocks[i])
	}
	return append(b, "]}"...)
}

// messageSize is room enough for a message whose calls are in its event.
const messageSize = 256

func appendBlock(b []byte, k *kernel.Block) []byte {
	b = appendText(b, `{"kind":`, string(k.Kind))
	b = appendSome(b, `,"text":`, k.Text)
	if c := k.Call; c != nil {
		b = appendText(b, `,"call":{"id":`, c.ID)
		b = appendText(b, `,"name":`, c.Name)
		b = append(appendText(b, `,"arguments":`, c.Arguments), '}')
	}
	b = appendSome(b, `,"call_id":`, k.CallID)
	b = appendTrue(b, `,"is_error":true`, k.IsError)
	if p := k.Private; p != nil {
		b = appendPrivate(append(b, `,"private":`...), p)
	}
	return append(b, '}')
}

func appendPrivate(b []byte, p *kernel.Private) []byte {
	b = append(appendText(b, `{"provider":`, p.Provider), `,"data":`...)
	if p.Data == nil {
		b = append(b, "null"...)
	} else {
		b = append(base64.StdEncoding.AppendEncode(append(b, '"'), p.Data), '"')
	}
	b = appendTrue(b, `,"signed":true`, p.Signed)
	return append(b, '}')
}

// The helpers take what is before a value as it is written: a brace or a
// comma, the name and the colon.

func appendText(b []byte, name, s string) []byte { return kernel.AppendString(append(b, name...), s) }

// appendSome leaves empty text out.
func appendSome(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendText(b, name, s)
}

func appendTrue(b []byte, text string, is bool) []byte {
	if is {
		b = append(b, text...)
	}
	return b
}

// appendTexts leaves an empty list out.
func appendTexts(b []byte, name string, texts []string) []byte {
	if len(texts) == 0 {
		return b
	}
	b = append(b, name...)
	before := "["
	for _, s := range texts {
		b = appendText(b, before, s)
		before = ","
	}
	return append(b, ']')
}
