package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// Pieces are what a request is joined of, without a copy of them all. Neither
// the pieces nor their number may change.
type Pieces interface {
	Len() int
	Piece(i int) []byte // from 0 to Len-1
}

// List is Pieces in a slice.
type List [][]byte

// Len returns the number of pieces.
func (l List) Len() int { return len(l) }

// Piece returns a piece.
func (l List) Piece(i int) []byte { return l[i] }

// requestBody reads pieces as one stream. It knows whether the transport began
// to read: from then on the request may have reached the endpoint.
type requestBody struct {
	pieces Pieces
	next   int    // piece
	rest   []byte // of the piece before it
	size   int64
	begun  atomic.Bool

	// Of a body in one piece alone.
	whole  *[]byte    // nil: it is not in one piece
	pool   *sync.Pool // of *[]byte, where whole comes from and goes; nil: nowhere
	reader bytes.Reader
	trace  httptrace.ClientTrace
	wrote  atomic.Bool // the transport is through with it
}

func newBody(pieces Pieces) *requestBody {
	b := &requestBody{pieces: pieces}
	for i := range pieces.Len() {
		b.size += int64(len(pieces.Piece(i)))
	}
	return b
}

// onePiece is the largest body that is joined before it is sent. A body that
// net/http knows to be in memory travels in one write with its header; above
// this size the copy costs more than the write.
const onePiece = 16 << 10

// join makes one piece of a small body, and returns a context that tells the
// body how far the transport came with it.
func (b *requestBody) join(ctx context.Context) context.Context {
	if b.pool != nil {
		b.whole, _ = b.pool.Get().(*[]byte)
	}
	if b.whole == nil {
		b.whole = new([]byte)
	}
	whole := (*b.whole)[:0]
	for i := range b.pieces.Len() {
		whole = append(whole, b.pieces.Piece(i)...)
	}
	*b.whole = whole
	b.reader.Reset(whole)
	b.trace.WroteHeaders = b.begin // they go first, so that this tells what Read would
	b.trace.WroteRequest = b.end
	return httptrace.WithClientTrace(ctx, &b.trace)
}

// fill makes this the body of a request, and returns it.
func (b *requestBody) fill(req *http.Request) *http.Request {
	req.ContentLength = b.size
	req.Body = b
	if b.whole != nil {
		req.Body = io.NopCloser(&b.reader)
	}
	return req
}

func (b *requestBody) begin() { b.begun.Store(true) }

func (b *requestBody) end(httptrace.WroteRequestInfo) { b.wrote.Store(true) }

// release gives the memory of a body back that was written to its end. What
// the transport may still be reading stays with it.
func (b *requestBody) release() {
	if b.pool != nil && b.whole != nil && b.wrote.Load() {
		b.pool.Put(b.whole)
		b.whole = nil
	}
}

// Read copies as many pieces as fit.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.begun.Store(true)
	for n < len(p) {
		if len(b.rest) == 0 {
			if b.next == b.pieces.Len() {
				break
			}
			b.rest = b.pieces.Piece(b.next)
			b.next++
		}
		c := copy(p[n:], b.rest)
		n += c
		b.rest = b.rest[c:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close does nothing: the pieces are the caller's.
func (b *requestBody) Close() error { return nil }
