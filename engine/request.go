package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// modelCall is one request to the model.
type modelCall struct {
	x       *Execution
	c       kernel.CallModel
	snap    *snapshot // nil: it was prepared by another process
	req     model.Request
	call    errand
	instead Report
}

// callModel sends one request. The messages are those of this moment: what is
// committed later does not enter a request that is under way.
func (x *Execution) callModel(c kernel.CallModel) Task {
	m := &modelCall{x: x, c: c, snap: x.present(), req: model.Request{
		Messages:  x.sheet.request(),
		MaxTokens: c.MaxTokens,
		Turn:      c.Turn, Attempt: c.Attempt,
		Timeout: x.agent.requestTimeout(),
	}}
	m.call = errand{x: x, what: theModel, missing: m}
	return m
}

// Do sends it.
func (m *modelCall) Do(ctx context.Context, instead Report) (kernel.Event, Content) {
	m.instead = instead
	if m.snap == nil {
		m.snap, _ = m.x.sources.take(ctx, 0)
	}
	m.req.System, m.req.Tools, m.req.Head = m.snap.system, m.snap.defs, m.snap.head
	reply, err := m.call.request(ctx, &m.req, m.x.Watch)
	if err != nil {
		return m.failed(m.x.failure(ctx, err)), Content{}
	}
	facts, message := split(reply)
	return kernel.ModelReplied{At: m.x.at(), Cmd: m.c.Cmd, Turn: m.c.Turn, Reply: facts}, Content{Message: message}
}

func (m *modelCall) failed(f kernel.Failure) kernel.Event {
	return kernel.ModelFailed{At: m.x.at(), Cmd: m.c.Cmd, Turn: m.c.Turn, Failure: f}
}

func (m *modelCall) lost() { m.instead(m.failed(noAnswer()), Content{}) }

// theModel is what a model adapter is called in the log.
const theModel = "the model adapter"

// noAnswer is the failure of a request that its adapter does not return from.
func noAnswer() kernel.Failure {
	return kernel.Failure{Kind: kernel.FailAborted, Detail: "the model adapter did not return"}
}

// request sends a request: that is what the errand is.
func (e *errand) request(ctx context.Context, req *model.Request, watch func(model.Delta)) (reply *model.Reply, err error) {
	err = e.run(ctx, func() (err error) {
		reply, err = e.x.agent.Model.Call(ctx, req, watch)
		if err == nil && reply == nil {
			err = errors.New("the model adapter returned nothing")
		}
		return err
	})
	if err == nil {
		repair(reply)
	}
	return reply, err
}

// repair makes every text of a reply valid UTF-8, since the journal keeps
// nothing else. A call whose texts were not is a contradiction of the wire.
func repair(r *model.Reply) {
	for i := range r.Message.Blocks {
		b := &r.Message.Blocks[i]
		b.Text = strings.ToValidUTF8(b.Text, "\uFFFD")
		if c := b.Call; c != nil && !(utf8.ValidString(c.ID) && utf8.ValidString(c.Name) && utf8.ValidString(c.Arguments)) {
			r.Fault = "a tool call that is not valid UTF-8"
			b.Call = &kernel.Call{
				ID:        strings.ToValidUTF8(c.ID, "\uFFFD"),
				Name:      strings.ToValidUTF8(c.Name, "\uFFFD"),
				Arguments: strings.ToValidUTF8(c.Arguments, "\uFFFD"),
			}
		}
	}
}

// failure classifies an error of a Model. One that is not of its contract is a
// fault of the adapter, and is not retried.
func (x *Execution) failure(ctx context.Context, err error) kernel.Failure {
	f := kernel.Failure{Kind: kernel.FailInternal, Jitter: x.Jitter()}
	var e *model.Error
	switch {
	case errors.As(err, &e):
		f.Kind, f.Status, f.RetryAfter, f.Usage = e.Kind, e.Status, e.RetryAfter, e.Usage
		f.Detail = kernel.Clip(e.Message, maxWords)
	case ctx.Err() != nil:
		f.Kind = kernel.FailAborted
	}
	return f
}

// parts are what is made of a reply. Most have room here for all of it.
type parts struct {
	message kernel.Message
	blocks  [2]kernel.Block
	facts   [2]kernel.BlockFact
	calls   [1]kernel.Call
}

// split returns what the kernel learns of a reply, and its message without the
// calls: those are left to the event that reports it, and journaled once.
func split(r *model.Reply) (kernel.ReplyFacts, *kernel.Message) {
	p := new(parts)
	blocks, facts, calls := p.blocks[:0], p.facts[:0], p.calls[:0]
	for _, b := range r.Message.Blocks {
		facts = append(facts, factOf(&b))
		if b.Call != nil && b.Kind != kernel.BlockText {
			calls = append(calls, *b.Call)
		}
		b.Call = nil
		blocks = append(blocks, b)
	}
	p.message = kernel.Message{Role: r.Message.Role, Blocks: slices.Clip(blocks)}
	f := kernel.ReplyFacts{Stop: r.Stop, Usage: r.Usage, Size: r.Size, Fault: r.Fault, Blocks: slices.Clip(facts)}
	if len(calls) > 0 {
		f.Calls = slices.Clip(calls)
	}
	return f, &p.message
}

func factOf(b *kernel.Block) kernel.BlockFact {
	fact := kernel.BlockFact{Kind: b.Kind, Size: len(b.Text)}
	switch {
	case b.Kind == kernel.BlockText:
		fact.Blank = !strings.ContainsFunc(b.Text, visible)
	case b.Call != nil:
		fact.Size = len(b.Call.Arguments)
	case b.Private != nil:
		fact.Size = len(b.Private.Data)
		fact.Signed = b.Private.Signed
	}
	return fact
}

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
