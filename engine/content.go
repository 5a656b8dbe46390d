package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// Content is what an event reports about, as it is journaled beside the
// event. At most one field is set.
type Content struct {
	Question *Question       // of RunStarted
	Message  *kernel.Message // of ModelReplied
	// Result is of CallReturned, and of a ClaimRefused, a Reconciled or an
	// EffectResolved that gives one.
	Result   *Result
	Said     *Said     // of UserSaid, Noticed and Summarized
	Prepared *Prepared // of ContextPrepared, where anything changed
	Over     *Over     // of ContextOver
}

// Said is the content of UserSaid, of Noticed and of Summarized.
type Said struct {
	Text string `json:"text"`
}

// Prepared is the content of ContextPrepared: what the request is made of, as
// far as the journal does not say it elsewhere. The notices are in their own
// events.
type Prepared struct {
	// Front is what is attached in front of the history from this request on.
	// nil: the same as before; empty: nothing any more.
	Front      *[]prompt.Attachment `json:"front,omitempty"`
	Compaction *prompt.Compaction   `json:"compaction,omitempty"`
	// Tools are those of sources that the run offers for the first time.
	Tools []Definition `json:"tools,omitempty"`

	wire model.Encoded // of Front, where it is encoded already
}

// Over is the content of ContextOver.
type Over struct {
	Messages int `json:"messages"` // from the front of the history, that a summary is to stand for
}

// Question is the content of RunStarted: what was asked, and with what. It
// holds no secret.
type Question struct {
	Text         string   `json:"text"`
	Provider     string   `json:"provider"`
	Model        string   `json:"model,omitempty"`
	Scripted     bool     `json:"scripted,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Tools        []string `json:"tools,omitempty"`
	Requires     []string `json:"requires,omitempty"`
	// Prior is how many messages the session had before.
	Prior int `json:"prior,omitempty"`
	// Config is the configuration as Start gave it: whoever takes the run over
	// makes the agent from it.
	Config json.RawMessage `json:"config,omitempty"`
}

// Result is what a call returned.
type Result struct {
	Text    string          `json:"text"`
	IsError bool            `json:"is_error,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Narrows *Narrowing      `json:"narrows,omitempty"`
	Elapsed time.Duration   `json:"elapsed_ns"`

	written []byte // all of this as JSON, of a long one; nil: it is made where it is needed
	quoted  []byte // Text in it
}

// write makes the JSON of a long result, of which the journal keeps all and the
// model's wire the text.
func (r *Result) write() {
	if len(r.Text) <= chunkRest {
		return
	}
	b := kernel.AppendValid([]byte(beforeText), r.Text)
	end := len(b)
	r.written = r.appendRest(b)
	r.quoted = r.written[len(beforeText):end:end]
	if len(r.quoted) < len(r.written)/2 { // the text would keep the facts in memory for as long as the run goes on
		r.quoted = bytes.Clone(r.quoted)
	}
}

// quoted is the text of m as a JSON string, where c is its result and has it.
func (c Content) quoted(m *kernel.Message) []byte {
	if c.Result == nil || m.Role != kernel.RoleTool || m.Blocks[0].Text != c.Result.Text {
		return nil
	}
	return c.Result.quoted
}

// Narrowing is what a result leaves of what its run may call from then on,
// beside the tool that gave it: see tool.Narrower.
type Narrowing struct {
	Tools []string `json:"tools"` // names and patterns
}

// Public is the content without private reasoning, for whoever watches.
func (c Content) Public() Content {
	if c.Message != nil {
		c.Message = &Public([]kernel.Message{*c.Message})[0]
	}
	return c
}

// Public copies messages without their private reasoning.
func Public(messages []kernel.Message) []kernel.Message {
	out := make([]kernel.Message, len(messages))
	for i, m := range messages {
		out[i] = kernel.Message{Role: m.Role, Blocks: slices.Clone(m.Blocks)}
		for j := range out[i].Blocks {
			out[i].Blocks[j].Private = nil
		}
	}
	return out
}

// DecodeContent reads the content of a journaled event.
func DecodeContent(kind kernel.EventKind, b []byte) (Content, error) {
	var c Content
	var into any
	if b == nil && kind != kernel.KindRunStarted && kind != kernel.KindModelReplied && kind != kernel.KindCallReturned {
		return c, nil
	}
	switch kind {
	case kernel.KindRunStarted:
		c.Question = new(Question)
		into = c.Question
	case kernel.KindModelReplied:
		c.Message = new(kernel.Message)
		into = c.Message
	case kernel.KindCallReturned, kernel.KindClaimRefused, kernel.KindReconciled, kernel.KindEffectResolved:
		c.Result = new(Result)
		into = c.Result
	case kernel.KindUserSaid, kernel.KindNoticed, kernel.KindSummarized:
		c.Said = new(Said)
		into = c.Said
	case kernel.KindContextPrepared:
		c.Prepared = new(Prepared)
		into = c.Prepared
	case kernel.KindContextOver:
		c.Over = new(Over)
		into = c.Over
	default:
		return c, nil
	}
	if c.Result != nil && c.Result.reread(b) {
		return c, nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return Content{}, &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the content of a " + string(kind) + " record cannot be read", Err: err}
	}
	if p := c.Prepared; p != nil && p.Front == nil && withdrawn(b) {
		p.Front = new([]prompt.Attachment)
	}
	return c, nil
}

// withdrawn tells a Front that is null, as it was once written where nothing is
// attached any more, from one that is not there.
func withdrawn(b []byte) bool {
	var given struct {
		Front json.RawMessage `json:"front"`
	}
	return json.Unmarshal(b, &given) == nil && given.Front != nil
}
