package stub

import (
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Wire names a protocol.
type Wire string

// The wires.
const (
	OpenAI    Wire = "openai"    // POST /v1/chat/completions
	Anthropic Wire = "anthropic" // POST /v1/messages
)

// Step is the answer to one request. Reply, Raw and Fail say what is answered:
// one of them, or a Reply together with a Fail, which is a stream that breaks
// off with an error event. The other fields say how it travels. The zero value
// is an empty 200.
type Step struct {
	Reply *Reply
	Raw   *Raw
	Fail  *Fail

	// Header is added to the response; it wins over what the stub sets.
	Header http.Header
	// Stall holds back the whole response, headers too, until the channel is
	// closed or the client hangs up.
	Stall <-chan struct{}
	// Hold stops in the middle of the body.
	Hold *Hold
	// Noise is written before each event of a stream: keep-alives, pings.
	Noise string
	// Split cuts the body into pieces, each flushed alone. Nil: one event a
	// piece. See Every and Cuts.
	Split func(body []byte) [][]byte
	// Cut ends the body early.
	Cut *Cut
	// Flood is written after the body again and again, until the client hangs
	// up or 64 MiB were written.
	Flood string
}

// Reply is an answer in neutral form, encoded for the wire that asks.
type Reply struct {
	// Thinking comes first. Anthropic: blocks with signatures. OpenAI: the
	// text as reasoning_content, what is redacted left out.
	Thinking []Thinking
	Text     string
	// Refusal is OpenAI's refusal field; on Anthropic it is text. Without a
	// Stop it makes Anthropic's stop reason refusal.
	Refusal string
	Calls   []Call
	// Stop is the stop reason; "other:NAME" goes out as NAME. The zero value
	// follows from the content: calls, refusal, else end.
	Stop   kernel.StopReason
	NoStop bool // the stop reason is null
	// Usage is reported in the wire's own terms: OpenAI streams report it only
	// when include_usage asks for it. Nil: none.
	Usage *kernel.Usage
}

// Call is a tool call. Args are sent byte for byte; a plain Anthropic answer
// needs them to be JSON.
type Call struct {
	ID, Name, Args string
}

// Thinking is a piece of private reasoning. With Redacted it is encrypted data
// and the other fields do not count. An empty Signature becomes Sign(Text).
type Thinking struct {
	Text      string
	Signature string
	Redacted  string
}

// Raw is an answer byte for byte.
type Raw struct {
	Wire        Wire   // refuse the other wire; empty: any
	Status      int    // 0: 200
	ContentType string // empty: by the request's stream field
	Body        string
}

// Fail is an error in the wire's own shape.
type Fail struct {
	// Kind is kernel.FailQuota, kernel.FailContext, kernel.FailFilter, or empty
	// for an error that its Status says all about.
	Kind kernel.FailureKind
	// Status is the HTTP status, or in a stream the one that the event means.
	// 0: the usual one of Kind.
	Status int
	// Message is the text of the error. Empty: a usual one.
	Message string
}

// At is a place in a body: so many whole events, then so many bytes. A plain
// body is one event. Negative Events count from the end: -1 is before the last.
type At struct {
	Events, Bytes int
}

// Cut ends a body early. Abrupt closes the connection without an end of the
// response; otherwise the response ends as if it were whole.
type Cut struct {
	At     At
	Abrupt bool
}

// Hold stops at a place of the body until the channel is closed or the client
// hangs up.
type Hold struct {
	At    At
	Until <-chan struct{}
}

// Text is a final answer. It reports 20 input and 5 output tokens.
func Text(text string) Step {
	return Step{Reply: &Reply{Text: text, Usage: &kernel.Usage{Input: 20, Output: 5}}}
}

// Calls is an answer of tool calls. It reports 20 input and 5 output tokens.
func Calls(calls ...Call) Step {
	return Step{Reply: &Reply{Calls: calls, Usage: &kernel.Usage{Input: 20, Output: 5}}}
}

// Answer is a reply as it is.
func Answer(r Reply) Step { return Step{Reply: &r} }

// Status is an error status with headers given as name, value, name, value.
func Status(status int, header ...string) Step {
	s := Step{Fail: &Fail{Status: status}, Header: http.Header{}}
	for pair := range slices.Chunk(header, 2) {
		if len(pair) == 2 {
			s.Header.Add(pair[0], pair[1])
		}
	}
	return s
}

// RetryAfter is a 429 that asks for a pause of whole seconds.
func RetryAfter(d time.Duration) Step {
	return Status(http.StatusTooManyRequests, "Retry-After", seconds(d))
}

// Quota says that the account has nothing left.
func Quota() Step { return Step{Fail: &Fail{Kind: kernel.FailQuota}} }

// TooLong says that the request does not fit the model's window.
func TooLong() Step { return Step{Fail: &Fail{Kind: kernel.FailContext}} }

// Filtered says that the request was filtered for what it says.
func Filtered() Step { return Step{Fail: &Fail{Kind: kernel.FailFilter}} }

// ErrorEvent begins an answer inside a 200 stream and breaks it off with an
// error event that means the status. A plain request gets the status.
func ErrorEvent(text string, status int) Step {
	return Step{Reply: &Reply{Text: text}, Fail: &Fail{Status: status}}
}

// Bytes is a body byte for byte, with the content type of what was asked for.
func Bytes(body string) Step { return Step{Raw: &Raw{Body: body}} }

// Never is a channel that is never closed, for Stall and Hold.
func Never() <-chan struct{} { return make(chan struct{}) }

// Every splits a body into pieces of n bytes, so that 1 cuts every rune and
// every end of an event.
func Every(n int) func([]byte) [][]byte {
	return func(body []byte) [][]byte {
		return slices.Collect(slices.Chunk(body, max(n, 1)))
	}
}

// Cuts splits a body at the given offsets, which are in order.
func Cuts(offsets ...int) func([]byte) [][]byte {
	return func(body []byte) [][]byte {
		var pieces [][]byte
		from := 0
		for _, to := range append(slices.Clone(offsets), len(body)) {
			if to = min(to, len(body)); to > from {
				pieces = append(pieces, body[from:to])
				from = to
			}
		}
		return pieces
	}
}
