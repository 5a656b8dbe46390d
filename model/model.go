// Package model is the contract between a run and a language model.
//
// A [Model] turns a neutral [Request] into deltas for whoever watches and one
// final [Reply]. Streaming and plain answers end in the same Reply. An adapter
// decodes and classifies; it never judges whether a reply may take effect
// (admission does), never retries (recovery does) and never looks for calls in
// text.
package model

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Model is a language model behind some wire. Implementations are safe for
// concurrent use.
type Model interface {
	// Info describes the model. It never changes.
	Info() Info
	// Call sends one request, once. It returns a Reply when an answer arrived
	// whole, however little sense that answer makes, and otherwise an *Error.
	// The end of ctx closes the connection. watch receives deltas as they
	// arrive, in order, from one goroutine; it may be nil and does not block.
	Call(ctx context.Context, req *Request, watch func(Delta)) (*Reply, error)
}

// Encoder is what a Model implements when its wire's form of a message can be
// kept: each message is then encoded once and a request is bytes joined.
type Encoder interface {
	// EncodeMessage returns one message in the form of the wire, for
	// Message.Encoded, without what stands between messages: Call adds that. quoted
	// is the text of a result as a JSON string with its quotes, as
	// kernel.AppendString writes it, where the caller has that already, as of a
	// long one: it can be Text. nil: the caller has not. m is not kept, and neither
	// is ever changed: others hold them too. A message that the wire cannot carry
	// is INVALID_ARGUMENT.
	EncodeMessage(m *kernel.Message, quoted []byte) (Encoded, error)
	// EncodeHead returns the wire's bytes of what precedes the messages, for
	// Request.Head. The bytes may be shared and are never changed. A schema that
	// is no JSON object is INVALID_ARGUMENT; with the strict profile, a tool that
	// the official endpoint refuses is CONFIGURATION.
	EncodeHead(system string, tools []Tool) ([]byte, error)
}

// Counter is what a Model implements that may know its provider's tokenizer.
type Counter interface {
	// CountTokens counts text as the provider does; false: the tokenizer of this
	// model is not known. It may be slow: about 0.1 s for a megabyte.
	CountTokens(text string) (n int64, ok bool)
}

// Info describes a model.
type Info struct {
	Provider string // "openai", "anthropic", "script"
	Name     string
	Profile  kernel.Profile
	// MaxTokens is the output limit of a request, MaxTokensCap the largest one
	// that recovery may ask for after a truncation (0: no cap).
	MaxTokens    int
	MaxTokensCap int
	// Scripted says that the replies are a fixed script; every screen that
	// shows them says so too.
	Scripted bool
}

// Tool is a tool as the model sees it.
type Tool struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema 2020-12 of the arguments, an object
}

// Message is a message of a request: the neutral form and, where the model is
// an Encoder, what it made of it.
type Message struct {
	*kernel.Message
	Encoded Encoded
}

// Encoded is a message in the form of a wire: three pieces that are sent one
// behind the other. A short message is all in Before. Text is the text of a long
// result as a JSON string, whose bytes the record of that result has as well. The
// zero value is of a message that is not encoded. What it refers to never
// changes.
type Encoded struct {
	Before []byte // nil: the message is not encoded
	Text   []byte
	After  []byte
}

// Append appends the whole message to b.
func (e *Encoded) Append(b []byte) []byte {
	b = slices.Grow(b, len(e.Before)+len(e.Text)+len(e.After))
	return append(append(append(b, e.Before...), e.Text...), e.After...)
}

// Request is one request. The model does not change it and does not keep it.
type Request struct {
	System    string
	Tools     []Tool
	Head      []byte // EncodeHead of System and Tools; nil: not encoded
	Messages  []Message
	MaxTokens int
	// Turn is the logical request within its run, from 1, and Attempt how often
	// that one was sent, this time included.
	Turn, Attempt int
	// Timeout bounds the whole request, from dialling to the last byte;
	// keep-alives do not extend it. 0: ctx alone bounds it.
	Timeout time.Duration
}

// Delta is a piece of a reply for display. It is never private reasoning and
// never decides anything.
type Delta struct {
	Text string
}

// Reply is an answer that arrived whole, decoded.
type Reply struct {
	// Message has the role assistant. Its calls are as they arrived: an id may
	// be missing or repeated, arguments may be no JSON.
	Message kernel.Message
	Stop    kernel.StopReason
	Usage   *kernel.Usage // nil: not reported
	Size    int           // bytes on the wire
	// Fault is a contradiction of the wire that no neutral form can show.
	// Empty: none. Safe to show.
	Fault string
}

// Error is a request that brought no whole reply. It holds no key, no header
// and no body, and neither does its text.
type Error struct {
	Kind       kernel.FailureKind
	Status     int            // HTTP status, or that of an error event; 0: none
	RetryAfter *time.Duration // nil: nothing usable was asked for
	Usage      *kernel.Usage  // what was reported before the answer broke off
	Message    string         // safe to show
}

// Error returns the kind, the status and the message.
func (e *Error) Error() string {
	s := "model request failed: " + string(e.Kind)
	if e.Status != 0 {
		s += " " + strconv.Itoa(e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}
