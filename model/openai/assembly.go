package openai

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// assembly is a reply on its way, and serves for one after another. The zero
// value with a maker is an empty one.
type assembly struct {
	maker    string
	tolerant bool
	watch    func(model.Delta)
	in       reader

	id        []byte // of the reply, as it stands in the JSON; empty: none yet
	chosen    bool   // a choice was seen
	text      transport.Joined
	refusal   transport.Joined
	reasoning transport.Joined
	parts     []byte // reasoning parts of a content array, as they came
	others    []kernel.BlockKind
	calls     calls
	stop      string // the wire's finish reason
	usage     kernel.Usage
	reported  bool // usage was
	fault     string
}

// forget makes an empty assembly of this one. It keeps the memory of lists that
// are as short as usual.
func (a *assembly) forget() {
	*a = assembly{
		maker:    a.maker,
		tolerant: a.tolerant,
		in:       reader{fragments: emptied(a.in.fragments)},
		id:       a.id[:0],
		calls:    calls{open: emptied(a.calls.open)},
	}
}

func emptied[T any](list []T) []T {
	if cap(list) > 8 {
		return nil
	}
	clear(list[:cap(list)])
	return list[:0]
}

// blame records a contradiction. The first one stays.
func (a *assembly) blame(fault string) {
	if a.fault == "" {
		a.fault = fault
	}
}

// maxCompared is how much of a reply's id is compared.
const maxCompared = 128

// named takes note of the id of an answer: chunks of two replies must not become
// one. Some servers leave it out or empty in some chunks, and many compatible
// ones give each chunk its own.
func (a *assembly) named(id transport.Value) {
	id = id[:min(len(id), maxCompared)]
	switch {
	case a.tolerant || !says(id):
	case len(a.id) == 0:
		a.id = append(a.id, id...)
	case !bytes.Equal(a.id, id):
		a.blame("the chunks of the reply have two ids")
	}
}

// ongoing finds fault with what goes on behind the finish reason. Some compatible
// servers give the reason with each chunk.
func (a *assembly) ongoing(c *choice) {
	again := a.tolerant && c.finishReason != ""
	if !again && (a.adds(&c.message) || a.adds(&c.delta)) {
		a.blame("the reply goes on after its finish reason")
	}
}

// adds tells whether d has anything for a reply that has ended: the id of a call
// once more is nothing.
func (a *assembly) adds(d *delta) bool {
	for i := range d.toolCalls {
		f := &d.toolCalls[i]
		if !f.function.empty() || f.id != "" && !a.calls.named(f.id) {
			return true
		}
	}
	return says(d.content) || says(d.refusal) || says(d.reasoning) || d.legacy != nil && !d.legacy.empty()
}

// delta adds a whole message or a piece of one.
func (a *assembly) delta(d *delta, whole bool) {
	a.content(d.content)
	a.refused(d.refusal)
	a.reasoning.Add(d.reasoning)
	for i := range d.toolCalls {
		f := &d.toolCalls[i]
		if f.index.at < 0 && !a.tolerant { // some compatible servers count from -1, or give each call that
			a.blame("a call has a negative index")
		}
		a.blame(a.calls.add(f, whole))
	}
	if d.legacy != nil {
		a.blame(a.calls.addLegacy(d.legacy))
	}
}

// Report A35: content is a string, or an array of typed parts.
func (a *assembly) content(v transport.Value) {
	switch {
	case v.Null():
	case v[0] == '"':
		a.say(v)
	case v[0] == '[':
		for p := range v.Elements {
			a.part(p)
		}
	default:
		a.blame("the content of the reply is neither text nor parts")
	}
}

func (a *assembly) part(raw transport.Value) {
	var p struct {
		Type    string          `json:"type"`
		Text    json.RawMessage `json:"text"`
		Refusal json.RawMessage `json:"refusal"`
	}
	if json.Unmarshal(raw, &p) != nil {
		a.blame("a part of the reply's content has the wrong type")
		return
	}
	switch p.Type {
	case "text":
		a.say(transport.Value(p.Text))
	case "refusal":
		a.refused(transport.Value(p.Refusal))
	case "thinking", "reasoning":
		if len(a.parts) > 0 {
			a.parts = append(a.parts, ',')
		}
		a.parts = append(a.parts, raw...)
	default:
		if len(a.others) < maxCalls {
			a.others = append(a.others, kernel.BlockKind(transport.Other(p.Type)))
		}
	}
}

func (a *assembly) say(v transport.Value) { a.show(a.text.Add(v)) }

func (a *assembly) refused(v transport.Value) { a.show(a.refusal.Add(v)) }

func (a *assembly) show(s string) {
	if a.watch != nil && s != "" {
		a.watch(model.Delta{Text: s})
	}
}

func (a *assembly) finished(reason string) {
	if reason == "" {
		return
	}
	if a.stop != "" && a.stop != reason {
		a.blame("the reply has two finish reasons")
		return
	}
	a.stop = reason
}

// Usage returns what was reported so far.
func (a *assembly) Usage() *kernel.Usage {
	if !a.reported {
		return nil
	}
	u := a.usage
	return &u
}

// written is a Reply with what most have, in one piece.
type written struct {
	model.Reply
	usage  kernel.Usage
	blocks [2]kernel.Block
	calls  [1]kernel.Call
}

// Reply turns what arrived into a Reply.
func (a *assembly) Reply() *model.Reply {
	if !a.chosen {
		a.blame("the reply has no choice")
	}
	open, fault := a.calls.finish()
	a.blame(fault)
	w := &written{}
	blocks := a.private(w.blocks[:0])
	for _, s := range [...]*transport.Joined{&a.text, &a.refusal} {
		if s.Len() > 0 {
			blocks = append(blocks, kernel.Block{Kind: kernel.BlockText, Text: s.String()})
		}
	}
	for _, kind := range a.others {
		blocks = append(blocks, kernel.Block{Kind: kind})
	}
	called := slices.Grow(w.calls[:0], len(open))
	for _, o := range open {
		called = append(called, o.neutral())
		blocks = append(blocks, kernel.Block{Kind: kernel.BlockCall, Call: &called[len(called)-1]})
	}
	w.Message = kernel.Message{Role: kernel.RoleAssistant, Blocks: slices.Clip(blocks)}
	w.Stop = stopReason(a.stop)
	if a.refusal.Len() > 0 {
		w.Stop = kernel.StopRefusal
	}
	if a.reported {
		w.usage = a.usage
		w.Usage = &w.usage
	}
	w.Fault = a.fault
	return &w.Reply
}

// private appends the reasoning blocks. reasoning_content is kept as the JSON
// string that replays it, and parts of a content array as a JSON array.
func (a *assembly) private(blocks []kernel.Block) []kernel.Block {
	add := func(data []byte) {
		blocks = append(blocks, kernel.Block{
			Kind:    kernel.BlockReason,
			Private: &kernel.Private{Provider: a.maker, Data: data},
		})
	}
	if a.reasoning.Len() > 0 {
		add(transport.AppendString(nil, a.reasoning.String()))
	}
	if len(a.parts) > 0 {
		add(bytes.Join([][]byte{{'['}, a.parts, {']'}}, nil))
	}
	return blocks
}

func stopReason(wire string) kernel.StopReason {
	switch wire {
	case "":
		return kernel.StopAbsent
	case "stop":
		return kernel.StopEnd
	case "tool_calls", "function_call":
		return kernel.StopCalls
	case "length":
		return kernel.StopLength
	case "content_filter":
		return kernel.StopFilter
	}
	return kernel.StopReason(transport.Other(wire))
}
