package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// maxBlocks bounds what is kept of a reply. Admission allows far fewer.
const maxBlocks = 256

// assembly is a reply on its way. The zero value with a maker is an empty one.
type assembly struct {
	maker    string
	tolerant bool
	watch    func(model.Delta)

	begun  bool
	id     string // of the message; empty: none
	lossy  bool   // in the event being read, bytes that are no UTF-8 were replaced
	blocks []*block
	stop   string // the wire's stop reason
	usage  tally
	fault  string
}

// blame records a contradiction. The first one stays.
func (a *assembly) blame(fault string) {
	if a.fault == "" {
		a.fault = fault
	}
}

func (a *assembly) role(role string) {
	if role != "" && role != "assistant" {
		a.blame("the reply is not the assistant's")
	}
}

// begin begins the message, which a reply has one of. Some gateways send its
// beginning twice.
func (a *assembly) begin(m *message) {
	if m == nil {
		m = &message{}
	}
	if a.begun && !(a.tolerant && m.ID != "" && m.ID == a.id) {
		a.blame("the reply begins twice")
	}
	a.begun, a.id = true, m.ID
	a.role(m.Role)
	a.usage.add(m.Usage)
}

// expect finds fault with what is there before the message began.
func (a *assembly) expect() {
	if !a.begun {
		a.blame("the reply has no beginning")
	}
}

func (a *assembly) stopped(given reasons) {
	for _, reason := range given {
		if a.stop != "" && a.stop != reason {
			a.blame("the reply has two stop reasons")
			return
		}
		a.stop = reason
	}
}

// start begins a block.
func (a *assembly) start(index *int, raw json.RawMessage) {
	a.expect()
	if a.stop != "" {
		a.blame("the reply goes on after its stop reason")
	}
	switch {
	case index == nil:
		a.blame("a block has no index")
	case *index < 0:
		a.blame("a block has a negative index")
	case a.find(*index) != nil:
		a.blame("two blocks have one index")
	case len(a.blocks) == maxBlocks:
		a.blame("the reply has too many blocks")
	default:
		b := &block{index: *index, raw: raw}
		a.blame(b.parse())
		a.exact(b, raw)
		a.blocks = append(a.blocks, b)
		a.show(b.begin.Text)
	}
}

// delta adds to a block that was begun and has not ended.
func (a *assembly) delta(index *int, d *piece) {
	b := a.openBlock(index)
	if b == nil {
		return
	}
	if a.stop != "" && d.says() {
		a.blame("the reply goes on after its stop reason")
	}
	shown, fault := b.add(d)
	a.show(shown)
	a.blame(fault)
	a.exact(b, d.PartialJSON)
}

// exact finds fault with a piece of a call that is not what arrived: nothing runs
// with arguments that are not what the model wrote.
func (a *assembly) exact(b *block, piece []byte) {
	if a.lossy && b.begin.Type == "tool_use" && transport.Lost(piece) {
		a.blame(inexact)
	}
}

const inexact = "a tool call is not valid UTF-8"

// end ends a block.
func (a *assembly) end(index *int) {
	if b := a.openBlock(index); b != nil {
		b.ended = true
	}
}

func (a *assembly) openBlock(index *int) *block {
	if index == nil {
		a.blame("a piece of a block has no index")
		return nil
	}
	b := a.find(*index)
	if b == nil {
		a.blame("a piece belongs to no block")
		return nil
	}
	if b.ended {
		a.blame("a piece follows the end of its block")
		return nil
	}
	return b
}

// find looks from the end: the last block is the usual one.
func (a *assembly) find(index int) *block {
	for _, b := range slices.Backward(a.blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (a *assembly) show(s string) {
	if a.watch != nil && s != "" {
		a.watch(model.Delta{Text: s})
	}
}

// Usage returns what was reported so far.
func (a *assembly) Usage() *kernel.Usage { return a.usage.neutral() }

// Reply turns what arrived into a Reply. Blocks stand in the order in which
// they began.
func (a *assembly) Reply() *model.Reply {
	blocks := make([]kernel.Block, 0, len(a.blocks))
	for _, b := range a.blocks {
		if !b.ended && !a.truncated() {
			a.blame("a block did not end")
		}
		out, fault := a.neutral(b)
		a.blame(fault)
		blocks = append(blocks, out)
	}
	return &model.Reply{
		Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: blocks},
		Stop:    stopReason(a.stop),
		Usage:   a.usage.neutral(),
		Fault:   a.fault,
	}
}

// truncated tells a reply that ends where it ends.
func (a *assembly) truncated() bool {
	return a.stop == "max_tokens" || a.stop == "model_context_window_exceeded"
}

func stopReason(wire string) kernel.StopReason {
	switch wire {
	case "":
		return kernel.StopAbsent
	case "end_turn", "stop_sequence":
		return kernel.StopEnd
	case "tool_use":
		return kernel.StopCalls
	case "max_tokens":
		return kernel.StopLength
	case "model_context_window_exceeded":
		return kernel.StopWindow
	case "refusal":
		return kernel.StopRefusal
	}
	return kernel.StopReason(transport.Other(wire))
}

// tally is the usage as the wire reports it: counts are cumulative, and one
// that comes again replaces the earlier one.
type tally struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	absurd     bool
}

func (t *tally) add(raw json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	before := *t
	if json.Unmarshal(raw, t) != nil {
		t.absurd = true
	}
	// A null is no count: it leaves the one before.
	for _, f := range []struct{ now, was **int64 }{
		{&t.Input, &before.Input}, {&t.Output, &before.Output},
		{&t.CacheRead, &before.CacheRead}, {&t.CacheWrite, &before.CacheWrite},
	} {
		if *f.now == nil {
			*f.now = *f.was
		}
	}
}

// neutral returns nil for a usage that is absent or cannot be true. The wire's
// input leaves the cached tokens out.
func (t *tally) neutral() *kernel.Usage {
	if t.absurd || t.Input == nil {
		return nil
	}
	count := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	u := kernel.Usage{Output: count(t.Output), CacheRead: count(t.CacheRead), CacheWrite: count(t.CacheWrite)}
	var ok, okOutput bool
	u.Input, ok = transport.Tokens(count(t.Input), u.CacheRead, u.CacheWrite)
	_, okOutput = transport.Tokens(u.Output)
	if !ok || !okOutput {
		return nil
	}
	return &u
}
