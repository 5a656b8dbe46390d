package openai

import (
	"encoding/json"

	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// answer is a plain answer, or one chunk of a streamed one.
type answer struct {
	id      transport.Value
	choices []choice // nil: the key is absent
	usage   usage
	problem *problem
	fault   string // what contradicts the wire; a field of the wrong type counts as absent
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

// says tells a value that is neither null nor an empty string or list.
func says(v transport.Value) bool { return !v.Null() && len(v) > len(`""`) }

// fragment is a call, or a piece of one. An absent index is not 0.
type fragment struct {
	index    position
	id       string
	kind     string
	function function
}

// position is the index of a call, where it has one.
type position struct {
	at    int64
	known bool
}

type function struct {
	name      string
	arguments transport.Value
}

type usage struct {
	prompt, completion, cached transport.Value
}

// maxChoices bounds what is kept of an answer's choices: one is allowed.
const maxChoices = 2

// reader reads answers, one after another into the same memory.
type reader struct {
	in     transport.Scan
	answer answer
	// For the choices of an answer, of which there should be no more, and for
	// the calls in all of them.
	room      [1]choice
	fragments []fragment
}

// read returns the answer that data is, and false when data is no JSON. The
// answer is valid until the next one is read, and as long as data is.
func (r *reader) read(data []byte) (*answer, bool) {
	r.in = transport.NewScan(data)
	r.answer = answer{}
	r.fragments = r.fragments[:0]
	var problem transport.Value
	var chosen bool
	r.object("answer")
	for name := range r.in.Members {
		switch string(name) {
		case "id":
			r.answer.id = r.in.Value()
		case "choices":
			r.once(&chosen, "choices")
			r.choices()
		case "usage":
			r.usage()
		case "error":
			problem = r.in.Value()
		}
	}
	if !r.in.Whole() {
		return nil, false
	}
	r.problem(problem)
	if r.answer.choices == nil && problem.Null() {
		v, _ := transport.Parse(data)
		r.answer.problem = flat(v)
	}
	return &r.answer, true
}

// blame notes a contradiction. The first one stays.
func (r *reader) blame(fault string) {
	if r.answer.fault == "" {
		r.answer.fault = fault
	}
}

// wrong notes a field of the wrong type.
func (r *reader) wrong(field string) { r.blame("a field of the reply has the wrong type: " + field) }

// once notes a member that is there twice: which of the two the provider meant
// is not for this side to decide. null says nothing.
func (r *reader) once(seen *bool, field string) {
	if *seen {
		r.blame("a field of the reply is there twice: " + field)
	}
	*seen = !r.in.Null()
}

// object notes a value that should be an object.
func (r *reader) object(field string) {
	if !r.in.Null() && r.in.Kind() != '{' {
		r.wrong(field)
	}
}

// array notes a value that should be an array, and tells one.
func (r *reader) array(field string) bool {
	is := r.in.Kind() == '['
	if !is && !r.in.Null() {
		r.wrong(field)
	}
	return is
}

func (r *reader) text(field string) string {
	s, ok := r.in.Value().Text()
	if !ok {
		r.wrong(field)
	}
	return s
}

// word returns a text that is nearly always one of a few.
func (r *reader) word(field string) string {
	v := r.in.Value()
	for _, known := range [...]string{"stop", "tool_calls", "function", "length"} {
		if len(v) == len(known)+2 && string(v[1:len(v)-1]) == known {
			return known
		}
	}
	s, ok := v.Text()
	if !ok {
		r.wrong(field)
	}
	return s
}

// quoted returns a string as it stands in the JSON.
func (r *reader) quoted(field string) transport.Value {
	v := r.in.Value()
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

func (r *reader) usage() {
	u := &r.answer.usage
	*u = usage{}
	for name := range r.in.Members {
		switch string(name) {
		case "prompt_tokens":
			u.prompt = r.in.Value()
		case "completion_tokens":
			u.completion = r.in.Value()
		case "prompt_tokens_details":
			u.cached = nil
			for name := range r.in.Members {
				if string(name) == "cached_tokens" {
					u.cached = r.in.Value()
				}
			}
		}
	}
}

func (r *reader) choices() {
	r.answer.choices = nil
	if r.array("choices") {
		r.answer.choices = r.room[:0]
	}
	for range r.in.Elements {
		if len(r.answer.choices) < maxChoices {
			r.answer.choices = append(r.answer.choices, choice{})
			r.choice(&r.answer.choices[len(r.answer.choices)-1])
		}
	}
}

func (r *reader) choice(c *choice) {
	var message, delta, reason bool
	r.object("choice")
	for name := range r.in.Members {
		switch string(name) {
		case "index":
			var ok bool
			if c.index, ok = r.in.Value().Int(); !ok {
				r.wrong("index")
			}
		case "message":
			r.once(&message, "message")
			c.message = r.delta("message")
		case "delta":
			r.once(&delta, "delta")
			c.delta = r.delta("delta")
		case "finish_reason":
			r.once(&reason, "finish_reason")
			c.finishReason = r.word("finish_reason")
		}
	}
}

func (r *reader) delta(field string) (d delta) {
	var called bool
	r.object(field)
	for name := range r.in.Members {
		switch string(name) {
		case "role":
			r.role()
		case "content":
			d.content = r.in.Value()
		case "refusal":
			d.refusal = r.quoted("refusal")
		case "reasoning_content":
			d.reasoning = r.quoted("reasoning_content")
		case "tool_calls":
			r.once(&called, "tool_calls")
			d.toolCalls = r.calls()
		case "function_call":
			if !r.in.Null() {
				at := r.in.At()
				f := r.function("function_call")
				d.legacy = &f
				r.exact(at)
			}
		}
	}
	return d
}

// role notes a role that is not the assistant's. Some servers leave it out,
// empty or null, in some chunks or in all.
func (r *reader) role() {
	v := r.in.Value()
	if string(v) == `"assistant"` {
		return
	}
	role, ok := v.Text()
	if !ok {
		r.wrong("role")
	}
	if role != "" && role != "assistant" {
		r.blame("the reply is not the assistant's")
	}
}

// calls keeps one more than is allowed, so that it shows.
func (r *reader) calls() []fragment {
	r.array("tool_calls")
	first := len(r.fragments)
	for range r.in.Elements {
		if len(r.fragments)-first <= maxCalls {
			at := r.in.At()
			r.fragments = append(r.fragments, r.fragment())
			r.exact(at)
		}
	}
	return r.fragments[first:]
}

// exact notes that the part of a call that was read since at is not what arrived.
func (r *reader) exact(at int) {
	if r.in.Lost(at) {
		r.blame(inexact)
	}
}

// inexact: nothing runs with arguments that are not what the model wrote.
const inexact = "a tool call is not valid UTF-8"

func (r *reader) fragment() (f fragment) {
	r.object("tool_calls")
	for name := range r.in.Members {
		switch string(name) {
		case "index":
			r.position(&f.index)
		case "id":
			f.id = r.text("id")
		case "type":
			f.kind = r.word("type")
		case "function":
			f.function = r.function("function")
		}
	}
	return f
}

// position leaves what is there to a null.
func (r *reader) position(p *position) {
	v := r.in.Value()
	n, ok := v.Int()
	if !ok {
		r.wrong("index")
	} else if !v.Null() {
		*p = position{n, true}
	}
}

func (r *reader) function(field string) (f function) {
	r.object(field)
	for name := range r.in.Members {
		switch string(name) {
		case "name":
			f.name = r.text("name")
		case "arguments":
			f.arguments = r.in.Value()
		}
	}
	return f
}
