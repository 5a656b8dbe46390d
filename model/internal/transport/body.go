package transport

import (
	"bytes"
	"io"
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

// onePiece is the largest body that is joined before it is sent. A body that
// net/http knows to be in memory travels in one write with its header; above
// this size the copy costs more than the write.
const onePiece = 16 << 10

// maxRequestHeader is about the longest header of a request.
const maxRequestHeader = 1 << 10

// requestBody is the body of one request after another: pieces, joined or read
// as one stream. It knows how far the transport came with it.
type requestBody struct {
	begun atomic.Bool // from here on the request may have reached the endpoint
	wrote atomic.Bool // the transport is through with it

	pieces Pieces
	next   int    // piece
	rest   []byte // of the piece before it

	whole  []byte       // a body in one piece
	reader bytes.Reader // of it
	joined io.ReadCloser
	hooks  httptrace.ClientTrace
}

// trace returns what net/http tells the body through.
func (b *requestBody) trace() *httptrace.ClientTrace {
	b.hooks.WroteHeaders = func() { b.begun.Store(true) } // they go first
	b.hooks.WroteRequest = func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			b.wrote.Store(true)
		}
	}
	return &b.hooks
}

// load makes pieces the body, and returns it in the form in which it is sent,
// with its length.
func (b *requestBody) load(pieces Pieces) (io.ReadCloser, int64) {
	b.begun.Store(false)
	b.wrote.Store(false)
	size := 0
	for i := range pieces.Len() {
		size += len(pieces.Piece(i))
	}
	if size > onePiece {
		b.pieces, b.next, b.rest = pieces, 0, nil
		return b, int64(size)
	}
	b.whole = b.whole[:0]
	for i := range pieces.Len() {
		b.whole = append(b.whole, pieces.Piece(i)...)
	}
	b.reader.Reset(b.whole)
	if b.joined == nil {
		b.joined = io.NopCloser(&b.reader)
	}
	return b.joined, int64(size)
}

// unload forgets the pieces. The memory of a body in one piece stays.
func (b *requestBody) unload() { b.pieces, b.rest = nil, nil }

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
