package engine

import (
	"context"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// recordRoom is how many tokens a request for a summary may have.
func (x *Execution) recordRoom() int64 {
	const unknown = 1 << 15
	c := &x.agent.Context
	if room := c.room(c.summaryTokens()); room > 0 {
		return x.sheet.uncorrected(room)
	}
	return unknown
}

// summarize asks the model for a summary of the messages that have to go: a
// request of its own, without tools, which holds them as data. Nobody watches
// it. A reply that was cut short, or that asks for calls, is no summary.
func (x *Execution) summarize(c kernel.Summarize) Task {
	held := prompt.Held{Messages: x.History.Messages(), Question: x.question}
	system, record := held.Request(min(x.summary.messages, len(held.Messages)), x.recordRoom())
	message := prompt.UserText(record)
	req := &model.Request{
		System: system, Messages: []model.Message{x.encoded(&message, model.Encoded{})},
		MaxTokens: c.MaxTokens, Turn: c.Turn, Attempt: 1, Timeout: x.agent.requestTimeout(),
	}
	failed := func(f kernel.Failure) kernel.Event {
		return kernel.Summarized{At: x.at(), Cmd: c.Cmd, Failure: &f}
	}
	return TaskFunc(func(ctx context.Context, instead Report) (kernel.Event, Content) {
		if x.encode != nil {
			head, err := x.encode.EncodeHead(system, nil)
			if err != nil {
				return failed(kernel.Failure{Kind: kernel.FailRequest, Detail: "the request for a summary cannot be encoded"}), Content{}
			}
			req.Head = head
		}
		call := errand{x: x, what: theModel, missing: lostFunc(func() { instead(failed(noAnswer()), Content{}) })}
		reply, err := call.request(ctx, req, nil)
		if err != nil {
			return failed(x.failure(ctx, err)), Content{}
		}
		text := prompt.Text(&reply.Message)
		if reply.Stop != kernel.StopEnd && reply.Stop != kernel.StopAbsent || reply.Fault != "" {
			text = ""
		}
		return kernel.Summarized{At: x.at(), Cmd: c.Cmd, Usage: reply.Usage, Size: len(text)}, Content{Said: &Said{Text: text}}
	})
}
