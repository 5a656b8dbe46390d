package stub

import (
	"net/http"
	"sync"
)

// Request is what the stub saw of one request. Do not change it: it is shared.
type Request struct {
	Index     int // from 0, in the order of arrival
	Wire      Wire
	Stream    bool
	Model     string
	MaxTokens int64
	// IncludeUsage says that an OpenAI stream is asked for usage.
	IncludeUsage bool
	System       string
	Messages     []Message   // of the body, without OpenAI's system messages
	Tools        []string    // names
	Header       http.Header // without the key
	Body         []byte      // as it arrived
	// Refused says why the request was refused; empty: it was not. The parsed
	// fields hold what was understood until then.
	Refused string
}

// Message is a message of a request.
type Message struct {
	Role      string // user, assistant, tool
	Text      string // its text blocks joined
	Thinking  []Thinking
	Reasoning string // reasoning_content
	Calls     []Call
	Results   []Result
}

// Result is a tool result of a request.
type Result struct {
	ID      string
	Text    string
	IsError bool // Anthropic only
}

// requests keeps what arrived, and lets tests wait for what has not yet.
type requests struct {
	mu    sync.Mutex
	seen  []*Request
	marks []marks // at least one for each of seen
}

// marks are the moments of one request.
type marks struct {
	arrived, closed, done chan struct{}
}

// add records a request and gives it its index.
func (l *requests) add(r *Request) marks {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Index = len(l.seen)
	l.seen = append(l.seen, r)
	m := l.mark(r.Index)
	close(m.arrived)
	return m
}

// mark returns the marks of request i. The lock is held.
func (l *requests) mark(i int) marks {
	for len(l.marks) <= i {
		l.marks = append(l.marks, marks{make(chan struct{}), make(chan struct{}), make(chan struct{})})
	}
	return l.marks[i]
}

// Requests returns the requests so far, those that were refused too.
func (h *Handler) Requests() []*Request {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return append([]*Request(nil), h.log.seen...)
}

// Count is the number of requests so far.
func (h *Handler) Count() int {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return len(h.log.seen)
}

// Arrived is closed once request i, from 0, was read.
func (h *Handler) Arrived(i int) <-chan struct{} {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.mark(i).arrived
}

// Closed is closed when the client of request i hung up before the answer was
// complete. It stays open when the client took the whole answer.
func (h *Handler) Closed(i int) <-chan struct{} {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.mark(i).closed
}

// Done is closed when the handler of request i has ended, however it ended.
func (h *Handler) Done(i int) <-chan struct{} {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.mark(i).done
}
