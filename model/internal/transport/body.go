package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
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

// request is a POST of the body. Its GetBody is nil: net/http then never sends
// it a second time when a pooled connection turns out to be dead.
func (b *requestBody) request(ctx context.Context, url string) (*http.Request, error) {
	if b.size > onePiece {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, b)
		if err == nil {
			req.ContentLength = b.size
		}
		return req, err
	}
	whole := make([]byte, 0, b.size)
	for i := range b.pieces.Len() {
		whole = append(whole, b.pieces.Piece(i)...)
	}
	// The header goes first, so that its writing tells what Read would.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { b.begun.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(whole))
	if err == nil {
		req.GetBody = nil
	}
	return req, err
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
