package openai

import (
	"cmp"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// maxCalls bounds what is kept of a reply's calls. Admission allows far fewer,
// and the search for the call of a fragment is linear.
const maxCalls = 128

// calls collects the calls of a reply from fragments.
type calls struct {
	open   []*openCall
	legacy *openCall // of message.function_call
	room   openCall  // for the first one
}

type openCall struct {
	index position
	id    string
	name  string
	args  transport.Joined
}

// add adds a fragment, or a whole call of a plain answer, and returns what is
// contradictory about it, if anything.
func (c *calls) add(f *fragment, whole bool) (fault string) {
	if f.kind != "" && f.kind != "function" {
		return "a call is of an unknown type"
	}
	if !whole && f.empty() {
		return ""
	}
	var to *openCall
	if !whole {
		if to, fault = c.find(f); fault != "" {
			return fault
		}
	}
	if to == nil {
		if len(c.open) == maxCalls {
			return "the reply has too many calls"
		}
		to = c.begin(f.index)
	}
	return to.add(f.id, &f.function)
}

func (c *calls) begin(index position) *openCall {
	o := &c.room
	if len(c.open) > 0 {
		o = &openCall{}
	}
	o.index = index
	c.open = append(c.open, o)
	return o
}

// named tells whether a call has this id.
func (c *calls) named(id string) bool {
	return slices.ContainsFunc(c.open, func(o *openCall) bool { return o.id == id })
}

func (f *fragment) empty() bool {
	return f.id == "" && f.function.empty()
}

// empty: null, absent and blank arguments say nothing (Report A07).
func (f *function) empty() bool {
	return f.name == "" && (f.arguments.Null() || string(f.arguments) == `""`)
}

// find returns the call that a fragment continues, or nil when it begins one.
//
// Reports A01 and A02: an index names its call, an absent one is not 0. Some
// servers give every call the same index and tell them apart by id. A fragment
// with a name begins a call; one with nothing but arguments can only continue
// the one call there is.
func (c *calls) find(f *fragment) (*openCall, string) {
	var found *openCall
	matches := 0
	for _, o := range c.open {
		if o.mayBe(f) {
			found = o
			matches++
		}
	}
	switch {
	case !f.index.known && f.id == "" && f.function.name != "":
		return nil, ""
	case matches == 1:
		return found, ""
	case matches > 1:
		return nil, "a fragment may belong to more than one call"
	case f.function.name == "" && f.id == "" && !f.index.known:
		return nil, "a fragment belongs to no call"
	case f.function.name == "" && f.id != "" && f.index.known && c.has(f.index):
		return nil, "a call has two ids"
	}
	return nil, ""
}

// mayBe tells whether nothing in f speaks against its being a piece of o.
func (o *openCall) mayBe(f *fragment) bool {
	if f.index.known && o.index != f.index {
		return false
	}
	// A call that has no id yet takes one by its index.
	return f.id == "" || o.id == f.id || o.id == "" && f.index.known
}

func (c *calls) has(index position) bool {
	return slices.ContainsFunc(c.open, func(o *openCall) bool { return o.index == index })
}

// Report A06: the wire's older form knows one call, without an id.
func (c *calls) addLegacy(f *function) string {
	if c.legacy == nil {
		if f.empty() {
			return ""
		}
		c.legacy = &openCall{}
	}
	return c.legacy.add("", f)
}

// add adds to a call. An id and a name count once; null, a missing or an empty
// one later leaves the first. Arguments are kept byte for byte; some servers
// send the object itself in place of its text.
func (o *openCall) add(id string, f *function) string {
	if o.id == "" {
		o.id = id
	}
	if o.name == "" {
		o.name = f.name
	}
	switch {
	case f.arguments.Null():
	case f.arguments[0] == '"':
		o.args.Add(f.arguments)
	default:
		o.args.AddText(string(f.arguments))
	}
	if f.name != "" && f.name != o.name {
		return "a call has two names"
	}
	return ""
}

// finish returns the calls: in the order of their indices where all have one,
// and otherwise as they came.
func (c *calls) finish() ([]*openCall, string) {
	fault := ""
	if c.legacy != nil {
		if len(c.open) > 0 {
			fault = "the reply has calls in two forms"
		}
		c.open = append(c.open, c.legacy)
	}
	for _, o := range c.open {
		if o.args.Lossy() && fault == "" {
			fault = inexact
		}
	}
	if !slices.ContainsFunc(c.open, func(o *openCall) bool { return !o.index.known }) {
		slices.SortStableFunc(c.open, func(a, b *openCall) int { return cmp.Compare(a.index.at, b.index.at) })
	}
	return c.open, fault
}

// neutral returns the call as it is known everywhere else.
func (o *openCall) neutral() kernel.Call {
	return kernel.Call{ID: o.id, Name: o.name, Arguments: o.args.String()}
}
