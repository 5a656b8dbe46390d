package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Contents are written by hand, since every run and every turn has them: their
// forms are those of the structs' tags, which TestContentRoundTrip holds them
// to.

// append appends the content's bytes: none for an event that has no content.
func (c Content) append(b []byte) []byte {
	switch {
	case c.Question != nil:
		return c.Question.append(b)
	case c.Message != nil:
		return appendMessage(b, c.Message)
	case c.Result != nil:
		return c.Result.append(b)
	case c.Said != nil:
		return append(appendText(b, `{"text":`, c.Said.Text), '}')
	case c.Prepared != nil:
		return appendJSON(b, c.Prepared)
	case c.Over != nil:
		return appendJSON(b, c.Over)
	}
	return b
}

// appendJSON is for what few events have.
func appendJSON(b []byte, v any) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b // texts and numbers: it does not happen
	}
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// size is about how long the texts in the content are.
func (c Content) size() int {
	switch {
	case c.Question != nil:
		return len(c.Question.Text) + len(c.Question.Instructions) + len(c.Question.Config)
	case c.Said != nil:
		return len(c.Said.Text)
	case c.Result != nil:
		return len(c.Result.Text) + len(c.Result.Data)
	case c.Prepared != nil:
		return 2 * chunkRest // it has memory of its own
	case c.Message == nil:
		return 0
	}
	n := 0
	for i := range c.Message.Blocks {
		n += len(c.Message.Blocks[i].Text)
		if p := c.Message.Blocks[i].Private; p != nil {
			n += len(p.Data)
		}
	}
	return n
}

func (q *Question) append(b []byte) []byte {
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

// beforeText begins a result.
const beforeText = `{"text":`

func (r *Result) append(b []byte) []byte {
	if r.written != nil {
		return append(b, r.written...)
	}
	return r.appendRest(appendText(b, beforeText, r.Text))
}

// appendRest appends what is behind the text.
func (r *Result) appendRest(b []byte) []byte {
	b = appendTrue(b, `,"is_error":true`, r.IsError)
	if len(r.Data) > 0 {
		b = append(append(b, `,"data":`...), r.Data...)
	}
	if r.Narrows != nil {
		b = appendJSON(append(b, `,"narrows":`...), r.Narrows)
	}
	b = strconv.AppendInt(append(b, `,"elapsed_ns":`...), int64(r.Elapsed), 10)
	return append(b, '}')
}

func appendMessage(b []byte, m *kernel.Message) []byte {
	b = appendText(b, `{"role":`, string(m.Role))
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

// reread reads a result of text alone in the exact form that append gives it.
// A long run has many, and is to be taken over quickly; everything else is read
// field by field.
func (r *Result) reread(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(`{"text":"`))
	text, rest, found := bytes.Cut(rest, []byte(`"`))
	number, isLast := bytes.CutPrefix(rest, []byte(`,"elapsed_ns":`))
	if !ok || !found || !isLast || len(number) < 2 || bytes.IndexByte(text, '\\') >= 0 {
		return false
	}
	elapsed, err := strconv.ParseInt(string(number[:len(number)-1]), 10, 64)
	again := Result{Text: string(text), Elapsed: time.Duration(elapsed)}
	if err != nil || !bytes.Equal(again.append(make([]byte, 0, len(b))), b) {
		return false
	}
	*r = again
	return true
}
