package openai

import (
	"encoding/json"

	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// answer is a plain answer, or one chunk of a streamed one.
type answer struct {
	choices []choice // nil: the key is absent
	usage   transport.Value
	problem *problem
	fault   string // a field of the wrong type, which counts as absent
}

type choice struct {
	index        int64
	message      delta // plain
	delta        delta // streamed
	finishReason string
}

type delta struct {
	content   transport.Value // a string, or an array of parts
	refusal   transport.Value // a string
	reasoning transport.Value // a string
	toolCalls []fragment
	legacy    *function
}

// fragment is a call, or a piece of one. An absent index is not 0.
type fragment struct {
	index    *int64
	id       string
	kind     string
	function function
}

type function struct {
	name      string
	arguments transport.Value
}

// maxChoices bounds what is kept of an answer's choices: one is allowed.
const maxChoices = 2

// reader reads answers, one after another into the same memory.
type reader struct {
	answer answer
	room   [1]choice // for those of an answer, of which there should be no more
}

// read returns the answer that v is. It is valid until the next one is read,
// and as long as v is.
func (r *reader) read(v transport.Value) *answer {
	r.answer = answer{}
	var choices, problem transport.Value
	for name, m := range v.Members {
		switch string(name) {
		case "choices":
			r.once(choices, "choices")
			choices = m
		case "usage":
			r.answer.usage = m
		case "error":
			problem = m
		}
	}
	r.object(v, "answer")
	r.problem(problem)
	r.choices(choices)
	if r.answer.choices == nil && problem.Null() {
		r.answer.problem = flat(v)
	}
	return &r.answer
}

// wrong notes a field of the wrong type. The first one stays.
func (r *reader) wrong(field string) {
	if r.answer.fault == "" {
		r.answer.fault = "a field of the reply has the wrong type: " + field
	}
}

// once notes a member that is there twice, when before is what came first:
// which of the two the provider meant is not for this side to decide. null says
// nothing.
func (r *reader) once(before transport.Value, field string) {
	if !before.Null() && r.answer.fault == "" {
		r.answer.fault = "a field of the reply is there twice: " + field
	}
}

// object notes a value that should be an object.
func (r *reader) object(v transport.Value, field string) {
	if !v.Null() && v[0] != '{' {
		r.wrong(field)
	}
}

// array notes a value that should be an array, and tells one.
func (r *reader) array(v transport.Value, field string) bool {
	if v.Null() {
		return false
	}
	if v[0] != '[' {
		r.wrong(field)
	}
	return v[0] == '['
}

func (r *reader) text(v transport.Value, field string) string {
	s, ok := v.Text()
	if !ok {
		r.wrong(field)
	}
	return s
}

// quoted returns a string as it stands in the JSON.
func (r *reader) quoted(v transport.Value, field string) transport.Value {
	if !v.Null() && v[0] != '"' {
		r.wrong(field)
	}
	return v
}

func (r *reader) problem(v transport.Value) {
	if v.Null() {
		return
	}
	r.answer.problem = new(problem)
	if json.Unmarshal(v, r.answer.problem) != nil {
		r.wrong("error")
	}
}

func (r *reader) choices(v transport.Value) {
	if !r.array(v, "choices") {
		r.answer.choices = nil
		return
	}
	r.answer.choices = r.room[:0]
	for e := range v.Elements {
		if len(r.answer.choices) < maxChoices {
			r.answer.choices = append(r.answer.choices, r.choice(e))
		}
	}
}

func (r *reader) choice(v transport.Value) (c choice) {
	r.object(v, "choice")
	var message, delta, reason transport.Value
	for name, m := range v.Members {
		switch string(name) {
		case "index":
			var ok bool
			if c.index, ok = m.Int(); !ok {
				r.wrong("index")
			}
		case "message":
			r.once(message, "message")
			message = m
		case "delta":
			r.once(delta, "delta")
			delta = m
		case "finish_reason":
			r.once(reason, "finish_reason")
			reason = m
		}
	}
	c.message = r.delta(message, "message")
	c.delta = r.delta(delta, "delta")
	c.finishReason = r.text(reason, "finish_reason")
	return c
}

func (r *reader) delta(v transport.Value, field string) (d delta) {
	r.object(v, field)
	var calls transport.Value
	for name, m := range v.Members {
		switch string(name) {
		case "content":
			d.content = m
		case "refusal":
			d.refusal = r.quoted(m, "refusal")
		case "reasoning_content":
			d.reasoning = r.quoted(m, "reasoning_content")
		case "tool_calls":
			r.once(calls, "tool_calls")
			calls = m
		case "function_call":
			if !m.Null() {
				f := r.function(m, "function_call")
				d.legacy = &f
			}
		}
	}
	d.toolCalls = r.fragments(calls)
	return d
}

// fragments keeps one more than is allowed, so that it shows.
func (r *reader) fragments(v transport.Value) (out []fragment) {
	if !r.array(v, "tool_calls") {
		return nil
	}
	for e := range v.Elements {
		if len(out) <= maxCalls {
			out = append(out, r.fragment(e))
		}
	}
	return out
}

func (r *reader) fragment(v transport.Value) (f fragment) {
	r.object(v, "tool_calls")
	for name, m := range v.Members {
		switch string(name) {
		case "index":
			n, ok := m.Int()
			if !ok {
				r.wrong("index")
			} else if !m.Null() {
				f.index = &n
			}
		case "id":
			f.id = r.text(m, "id")
		case "type":
			f.kind = r.text(m, "type")
		case "function":
			f.function = r.function(m, "function")
		}
	}
	return f
}

func (r *reader) function(v transport.Value, field string) (f function) {
	r.object(v, field)
	for name, m := range v.Members {
		switch string(name) {
		case "name":
			f.name = r.text(m, "name")
		case "arguments":
			f.arguments = m
		}
	}
	return f
}
