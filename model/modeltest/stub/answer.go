package stub

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// maxFlood is where an endless body ends after all, in bytes, so that a client
// without a cap fails its test and not the machine.
const maxFlood = 64 << 20

// answer is a step made ready for one request.
type answer struct {
	status int
	header http.Header
	stall  <-chan struct{}
	pieces [][]byte // each flushed alone
	hold   <-chan struct{}
	holdAt int // the piece before which hold is waited for
	flood  []byte
	abort  bool // the connection breaks after the last piece
}

// refusalAnswer makes the answer to a request that the stub does not play on.
func refusalAnswer(w Wire, err error) *answer {
	f := Fail{Status: http.StatusInternalServerError, Message: err.Error()}
	if r := (*refusal)(nil); errors.As(err, &r) {
		f.Status = r.status
	}
	status, body := errorBody(w, f)
	return &answer{status: status, header: plainHeader(body), pieces: [][]byte{body}}
}

func plainHeader(body []byte) http.Header {
	return http.Header{"Content-Type": {JSON}, "Content-Length": {strconv.Itoa(len(body))}}
}

// answer takes the next step and makes it ready.
func (h *Handler) answer(req *Request) (*answer, error) {
	step, err := h.next(req)
	if err != nil {
		return nil, err
	}
	status, contentType, events, err := h.content(&step, req)
	if err != nil {
		return nil, err
	}
	if step.Noise != "" && contentType == EventStream {
		for i, event := range events {
			events[i] = append([]byte(step.Noise), event...)
		}
	}
	a := &answer{status: status, header: http.Header{}, stall: step.Stall, flood: []byte(step.Flood)}
	a.lay(&step, events)
	if contentType != "" {
		a.header.Set("Content-Type", contentType)
	}
	whole := step.Flood == "" && (step.Cut == nil || step.Cut.Abrupt)
	if whole && contentType != EventStream {
		a.header.Set("Content-Length", strconv.Itoa(len(bytes.Join(events, nil))))
	}
	for name, values := range step.Header {
		a.header[http.CanonicalHeaderKey(name)] = values
	}
	return a, nil
}

// content encodes what a step says for the wire and the form that were asked
// for, as the events of a stream or as one plain body.
func (h *Handler) content(step *Step, req *Request) (status int, contentType string, events [][]byte, err error) {
	contentType = JSON
	if req.Stream {
		contentType = EventStream
	}
	switch {
	case step.Raw != nil:
		return step.Raw.content(req.Wire, contentType)
	case step.Fail != nil && (step.Reply == nil || !req.Stream):
		status, body := errorBody(req.Wire, *step.Fail)
		return status, JSON, [][]byte{body}, nil
	case step.Reply == nil:
		return http.StatusOK, contentType, nil, nil
	}
	h.memory.issue(req.Wire, step.Reply)
	reply, err := encode(Form{
		Wire: req.Wire, Stream: req.Stream, Model: req.Model, Usage: req.IncludeUsage,
		ID: fmt.Sprintf("msg_%d", req.Index+1),
	}, *step.Reply)
	if err == nil && step.Fail != nil {
		return http.StatusOK, contentType, breakOff(req.Wire, reply.content, *step.Fail), nil
	}
	return http.StatusOK, contentType, reply.events(), err
}

// content returns the bytes, as events that end at blank lines.
func (r *Raw) content(w Wire, asked string) (int, string, [][]byte, error) {
	if r.Wire != "" && r.Wire != w {
		return 0, "", nil, fmt.Errorf("the step is for the wire %s, asked was %s", r.Wire, w)
	}
	status, contentType := r.Status, r.ContentType
	if status == 0 {
		status = http.StatusOK
	}
	if contentType == "" {
		contentType = asked
	}
	if contentType != EventStream {
		return status, contentType, [][]byte{[]byte(r.Body)}, nil
	}
	return status, contentType, splitEvents([]byte(r.Body)), nil
}

// breakOff puts an error event in the place of a stream's end.
func breakOff(w Wire, content [][]byte, f Fail) [][]byte {
	_, body := errorBody(w, f)
	event := fmt.Appendf(nil, "data: %s\n\n", body)
	if w == Anthropic {
		event = fmt.Appendf(nil, "event: error\ndata: %s\n\n", body)
	}
	return append(content, event)
}

// lay cuts the events into pieces, up to the cut, and finds the hold.
func (a *answer) lay(step *Step, events [][]byte) {
	body := bytes.Join(events, nil)
	end := len(body)
	if step.Cut != nil {
		end = step.Cut.At.offset(events)
		a.abort = step.Cut.Abrupt
	}
	hold := -1
	if step.Hold != nil {
		hold = min(step.Hold.At.offset(events), end)
		a.hold = step.Hold.Until
	}
	split := step.Split
	if split == nil {
		split = splitEvents
	}
	if hold >= 0 {
		a.pieces = split(body[:hold])
		a.holdAt = len(a.pieces)
		a.pieces = append(a.pieces, split(body[hold:end])...)
		return
	}
	a.pieces = split(body[:end])
}

// splitEvents splits a body after its blank lines; a plain body has none.
func splitEvents(body []byte) [][]byte {
	return bytes.SplitAfter(body, []byte("\n\n"))
}

// offset is the place in bytes, inside the body.
func (p At) offset(events [][]byte) int {
	n := p.Events
	if n < 0 {
		n += len(events)
	}
	n = min(max(n, 0), len(events))
	whole := len(bytes.Join(events[:n], nil))
	return min(whole+max(p.Bytes, 0), len(bytes.Join(events, nil)))
}

// deliver writes the answer and reports whether the client hung up first.
func (a *answer) deliver(w http.ResponseWriter, r *http.Request) (hungUp bool) {
	if !wait(r, a.stall) {
		return true
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	out := http.NewResponseController(w)
	if (a.hold != nil || a.abort) && !flush(out) {
		return true
	}
	for i, piece := range a.pieces {
		if a.hold != nil && i == a.holdAt && !wait(r, a.hold) {
			return true
		}
		if !write(w, out, piece) {
			return true
		}
	}
	if a.hold != nil && a.holdAt >= len(a.pieces) && !wait(r, a.hold) {
		return true
	}
	for sent := 0; len(a.flood) > 0 && sent < maxFlood; sent += len(a.flood) {
		if !write(w, out, a.flood) {
			return true
		}
	}
	return false
}

// wait returns true when the channel was closed or is nil, and false when the
// client hung up first.
func wait(r *http.Request, until <-chan struct{}) bool {
	if until == nil {
		return r.Context().Err() == nil
	}
	select {
	case <-until:
		return true
	case <-r.Context().Done():
		return false
	}
}

// write sends one piece at once.
func write(w http.ResponseWriter, out *http.ResponseController, piece []byte) bool {
	if len(piece) == 0 {
		return true
	}
	if _, err := w.Write(piece); err != nil { //nolint:gosec // an answer is what the script says, and no page
		return false
	}
	return flush(out)
}

// flush sends what is buffered. A recorder that has no Flush has no client.
func flush(out *http.ResponseController) bool {
	err := out.Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}
