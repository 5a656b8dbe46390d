//go:build linux || darwin

package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// askedID is the id of the request that is sent; nil where it wants no answer.
func askedID(r *http.Request) json.RawMessage {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	var asked envelope
	asked.take(raw)
	if !asked.question {
		return nil
	}
	return asked.id
}

// shorten makes of an answer that is too long one that says so, so that its call
// fails at once, and alone. The body of any other is bounded or as it was.
func shorten(answer *http.Response, id json.RawMessage) error {
	switch {
	case strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream"):
		answer.Body = &events{body: answer.Body, from: bufio.NewReaderSize(answer.Body, 64<<10), id: id}
		return nil
	case len(id) == 0 || answer.StatusCode != http.StatusOK:
		answer.Body = &bounded{answer.Body, maxMessage}
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxMessage+1))
	_ = answer.Body.Close() // it was read, or is of no use
	if err != nil {
		return err
	}
	if len(raw) > maxMessage {
		var e envelope
		e.take(raw)
		raw = e.standIn(id)
		answer.Header.Del("Content-Length")
		answer.Header.Set("Content-Type", "application/json")
		answer.ContentLength = int64(len(raw))
	}
	if raw == nil {
		return plain(tooLong)
	}
	answer.Body = io.NopCloser(bytes.NewReader(raw))
	return nil
}

// events is a stream of server-sent events. One that is too long is passed over,
// and where it was the answer to id, one that says so stands in its place.
type events struct {
	body  io.ReadCloser
	from  *bufio.Reader
	id    json.RawMessage
	ready []byte
	err   error
}

// Read returns what whole events there are.
func (s *events) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// Close ends the stream.
func (s *events) Close() error { return s.body.Close() }

// next reads one event, to the blank line that ends it.
func (s *events) next() {
	var e event
	for fresh := true; s.err == nil; { // at the beginning of a line
		piece, err := s.from.ReadSlice('\n')
		e.take(piece)
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			s.err = err
		case e.size > maxSkipped:
			s.err = plain(tooLongNo)
		}
		if fresh && err == nil && len(bytes.TrimRight(piece, "\r\n")) == 0 {
			break
		}
		fresh = err == nil
	}
	s.ready = e.handedOn(s.id)
}

// event is one of a stream as far as it was read.
type event struct {
	size int
	text []byte
	long *envelope // of one that is too long, whose text is not kept
}

func (e *event) take(piece []byte) {
	e.size += len(piece)
	if e.long != nil {
		e.long.take(piece)
		return
	}
	if e.text = append(e.text, piece...); e.size > maxMessage {
		e.long = &envelope{}
		e.long.take(e.text)
		e.text = nil
	}
}

// handedOn is what a reader gets of it: all, or what stands for it.
func (e *event) handedOn(id json.RawMessage) []byte {
	if e.long == nil {
		return e.text
	}
	answer := e.long.standIn(id)
	if answer == nil {
		return nil
	}
	return slices.Concat([]byte("data: "), answer, []byte("\n\n"))
}

// bounded is a body that fails once it is over its bound.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read reads what the bound leaves.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, plain("the answer is over " + strconv.Itoa(maxMessage) + " bytes")
	}
	return n, err
}
