package stub

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Options adjust a stub. The zero value takes any key and refuses
// reasoning_content in a history.
type Options struct {
	// Key is the only key that is let in; empty: any that is not empty.
	Key string
	// Reasoning says what becomes of reasoning_content in a history.
	Reasoning Reasoning
}

// Reasoning is a server's attitude to its own reasoning_content.
type Reasoning string

// The attitudes.
const (
	RefuseReasoning Reasoning = ""       // a foreign field
	AllowReasoning  Reasoning = "allow"  // taken and not looked at
	DemandReasoning Reasoning = "demand" // a turn with calls must carry what was issued with it
)

// maxRequest is the largest request body, in bytes.
const maxRequest = 32 << 20

// Handler is the strict stub as an http.Handler. It is safe for concurrent
// use. Make it with New.
type Handler struct {
	options  Options
	memory   *memory
	log      requests
	mu       sync.Mutex
	steps    []Step
	fallback func(*Request) Step
}

// New makes a stub with an empty script.
func New(o Options) *Handler {
	return &Handler{options: o, memory: newMemory()}
}

// Play adds steps to the script. Each accepted request takes the next one.
func (h *Handler) Play(steps ...Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, steps...)
}

// Always answers with step whenever the script is at its end.
func (h *Handler) Always(step Step) {
	h.Respond(func(*Request) Step { return step })
}

// Respond asks f for an answer whenever the script is at its end. f runs on
// the request's goroutine; nil stands for a refusal with status 400.
func (h *Handler) Respond(f func(*Request) Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fallback = f
}

// next takes the answer to an accepted request.
func (h *Handler) next(r *Request) (Step, error) {
	h.mu.Lock()
	f := h.fallback
	if len(h.steps) > 0 {
		step := h.steps[0]
		h.steps = h.steps[1:]
		h.mu.Unlock()
		return step, nil
	}
	h.mu.Unlock() // f may take its time, and may call Play
	if f == nil {
		return Step{}, refuse("the stub's script is at its end")
	}
	return f(r), nil
}

// ServeHTTP checks a request, records it and answers.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wire := OpenAI
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		wire = Anthropic
	}
	req := &Request{Wire: wire, Header: withoutKey(r.Header)}
	err := h.read(w, r, req)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		req.Refused = refused.why
	}
	m := h.log.add(req)
	defer close(m.done)

	var a *answer
	if err == nil {
		a, err = h.answer(req)
	}
	if err != nil {
		a = refusalAnswer(wire, err)
	}
	if a.deliver(w, r) {
		close(m.closed)
	}
	if a.abort {
		panic(http.ErrAbortHandler) // the only way to end a response unfinished
	}
}

// read checks everything about a request and fills in req.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, req *Request) error {
	switch r.URL.Path {
	case "/v1/chat/completions", "/v1/messages":
	default:
		return &refusal{http.StatusNotFound, "unknown path"}
	}
	if r.Method != http.MethodPost {
		return &refusal{http.StatusMethodNotAllowed, "the method is not POST"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	req.Body = body
	if err != nil {
		return &refusal{http.StatusRequestEntityTooLarge, "the body is too large or broke off"}
	}
	if err := h.authorize(req.Wire, r.Header); err != nil {
		return err
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != JSON {
		return refuse("the content type is not %s", JSON)
	}
	if req.Wire == Anthropic {
		if r.Header.Get("Anthropic-Version") != "2023-06-01" {
			return refuse("anthropic-version: header is required and must be 2023-06-01")
		}
		return h.readAnthropic(body, req)
	}
	return h.readOpenAI(body, req)
}

// authorize wants the wire's own header with a good key.
func (h *Handler) authorize(w Wire, header http.Header) error {
	key, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if w == Anthropic {
		key, ok = header.Get("X-Api-Key"), true
	}
	if !ok || key == "" || (h.options.Key != "" && key != h.options.Key) {
		return &refusal{http.StatusUnauthorized, "missing or invalid key"}
	}
	return nil
}

// withoutKey copies a header without its secrets.
func withoutKey(header http.Header) http.Header {
	c := header.Clone()
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
		c.Del(name)
	}
	return c
}
