package engine

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// callModel sends one request. The messages are those of this moment: what is
// committed later does not enter a request that is under way.
func (x *Execution) callModel(c kernel.CallModel) Task {
	snap := x.present()
	req := &model.Request{
		Messages:  x.sheet.request(),
		MaxTokens: c.MaxTokens,
		Turn:      c.Turn, Attempt: c.Attempt,
		Timeout: x.agent.requestTimeout(),
	}
	failed := func(f kernel.Failure) kernel.Event {
		return kernel.ModelFailed{At: x.at(), Cmd: c.Cmd, Turn: c.Turn, Failure: f}
	}
	lost := kernel.Failure{Kind: kernel.FailAborted, Detail: "the model adapter did not return"}
	return func(ctx context.Context, instead Report) (kernel.Event, Content) {
		if snap == nil { // prepared by another process
			snap, _ = x.sources.take(ctx, 0)
		}
		req.System, req.Tools, req.Head = snap.system, snap.defs, snap.head
		reply, err := x.request(ctx, req, x.Watch, func() { instead(failed(lost), Content{}) })
		if err != nil {
			return failed(x.failure(ctx, err)), Content{}
		}
		return kernel.ModelReplied{At: x.at(), Cmd: c.Cmd, Turn: c.Turn, Reply: replyFacts(reply)}, Content{Message: stripCalls(&reply.Message)}
	}
}

func (x *Execution) request(ctx context.Context, req *model.Request, watch func(model.Delta), lost func()) (reply *model.Reply, err error) {
	err = x.foreign(ctx, "the model adapter", lost, func() (err error) {
		reply, err = x.agent.Model.Call(ctx, req, watch)
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

// replyFacts is what the kernel learns of a reply.
func replyFacts(r *model.Reply) kernel.ReplyFacts {
	f := kernel.ReplyFacts{Stop: r.Stop, Usage: r.Usage, Size: r.Size, Fault: r.Fault}
	f.Blocks = make([]kernel.BlockFact, 0, len(r.Message.Blocks))
	for i := range r.Message.Blocks {
		b := &r.Message.Blocks[i]
		fact := kernel.BlockFact{Kind: b.Kind, Size: len(b.Text)}
		switch {
		case b.Kind == kernel.BlockText:
			fact.Blank = !strings.ContainsFunc(b.Text, visible)
		case b.Call != nil:
			fact.Size = len(b.Call.Arguments)
			f.Calls = append(f.Calls, *b.Call)
		case b.Private != nil:
			fact.Size = len(b.Private.Data)
			fact.Signed = b.Private.Signed
		}
		f.Blocks = append(f.Blocks, fact)
	}
	return f
}

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// stripCalls leaves the calls of a message to the event that reports it: they
// are journaled once.
func stripCalls(m *kernel.Message) *kernel.Message {
	out := kernel.Message{Role: m.Role, Blocks: make([]kernel.Block, len(m.Blocks))}
	for i, b := range m.Blocks {
		b.Call = nil
		out.Blocks[i] = b
	}
	return &out
}
