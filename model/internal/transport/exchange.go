package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

const (
	// drainBytes and drainGrace bound what is read after the end of a reply so
	// that its connection can serve the next request.
	drainBytes = 16 << 10
	drainGrace = 100 * time.Millisecond
)

// Format is what the header of an answer says of its body.
type Format int

// The formats. The zero value is FormatUnknown: it is what was asked for.
const (
	FormatUnknown Format = iota
	FormatEvents
	FormatJSON
)

// errTooLarge ends the reading of an answer over the cap.
var errTooLarge = errors.New("the answer is over the cap")

// Exchange is an answer being read. It is not safe for concurrent use. Close
// it.
type Exchange struct {
	Format Format

	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil: no timeout
	body   io.ReadCloser
	cap    int64
	size   int64
}

func newExchange(ctx context.Context, timeout time.Duration, limit int64) *Exchange {
	x := &Exchange{cap: limit}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	if timeout > 0 {
		x.timer = time.AfterFunc(timeout, func() { x.cancel(errTimeout) })
	}
	return x
}

// Size returns the bytes read so far.
func (x *Exchange) Size() int { return int(x.size) }

// Read reads the answer and fails once it is over the cap.
func (x *Exchange) Read(p []byte) (int, error) {
	// One byte more than allowed may be asked for: it tells an answer of
	// exactly the cap from a longer one.
	if room := x.cap - x.size + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := x.body.Read(p)
	x.size += int64(n)
	if x.size > x.cap {
		return n, errTooLarge
	}
	return n, err
}

// ReadAll returns the whole rest of the answer.
func (x *Exchange) ReadAll() ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(x)
	return b.Bytes(), err
}

// head returns the first bytes of the answer, as many as arrive in time.
func (x *Exchange) head(limit int64, grace time.Duration) []byte {
	t := time.AfterFunc(grace, func() { x.cancel(errEnough) })
	defer t.Stop()
	// A body that breaks off is classified by what arrived of it.
	b, _ := io.ReadAll(io.LimitReader(x.body, limit))
	return b
}

// Drain reads the little that may follow a whole answer, so that its
// connection can be used again. It gives up soon: Close then drops the
// connection.
func (x *Exchange) Drain() {
	x.head(drainBytes, drainGrace)
}

// Close ends the exchange and releases its connection.
func (x *Exchange) Close() {
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.body != nil {
		_ = x.body.Close() // reading is over; what it could report changes nothing
	}
	x.cancel(errEnough)
}

// ended returns the failure when the exchange's time or its caller ended it,
// and nil otherwise.
func (x *Exchange) ended() *model.Error {
	switch cause := context.Cause(x.ctx); {
	case cause == nil, errors.Is(cause, errEnough):
		return nil
	case errors.Is(cause, errTimeout):
		return &model.Error{Kind: kernel.FailTimeout, Message: "no whole answer within the request's time"}
	default:
		return &model.Error{Kind: kernel.FailAborted, Message: "the request was aborted"}
	}
}

// Failure says what the error of a sent request, or of reading its answer,
// means.
func (x *Exchange) Failure(err error) *model.Error {
	if e := x.ended(); e != nil {
		return e
	}
	var known *model.Error
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errTooLarge):
		return tooLarge()
	case errors.As(err, &timeout) && timeout.Timeout():
		return &model.Error{Kind: kernel.FailTimeout, Message: "no whole answer within the client's time"}
	}
	return Cut()
}

// requestBody reads pieces as one stream. It knows whether the transport began
// to read: from then on the request may have reached the endpoint.
type requestBody struct {
	pieces [][]byte
	at     int // within pieces[0]
	size   int64
	begun  atomic.Bool
}

func newBody(pieces [][]byte) *requestBody {
	b := &requestBody{pieces: pieces}
	for _, p := range pieces {
		b.size += int64(len(p))
	}
	return b
}

// Read copies as many pieces as fit.
func (b *requestBody) Read(p []byte) (int, error) {
	b.begun.Store(true)
	n := 0
	for len(b.pieces) > 0 && n < len(p) {
		c := copy(p[n:], b.pieces[0][b.at:])
		n += c
		b.at += c
		if b.at == len(b.pieces[0]) {
			b.pieces, b.at = b.pieces[1:], 0
		}
	}
	if n == 0 && len(b.pieces) == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close does nothing: the pieces are the caller's.
func (b *requestBody) Close() error { return nil }
