package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

const (
	// drainBytes and drainGrace bound what is read after the end of a reply so
	// that its connection can serve the next request.
	drainBytes = 16 << 10
	drainGrace = 100 * time.Millisecond
	// maxAhead is how much memory an announced length is believed for.
	maxAhead = 64 << 10
	// minRead is the least that is asked for at once.
	minRead = 64
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

	carrier *carrier // of its request; nil: the exchange is closed
	body    io.ReadCloser
	length  int64 // of the body, as its header says; -1: not said
	cap     int64
	size    int64
	whole   bool // the body was read to its end
}

// Size returns the bytes read so far.
func (x *Exchange) Size() int { return int(x.size) }

// Read reads the answer and fails once it is over the cap. It fails with
// ErrTimeout when the exchange's own time ended it.
func (x *Exchange) Read(p []byte) (int, error) {
	// One byte more than allowed may be asked for: it tells an answer of
	// exactly the cap from a longer one.
	if room := x.cap - x.size + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := x.body.Read(p)
	x.size += int64(n)
	x.whole = x.whole || err == io.EOF
	if x.size > x.cap {
		return n, errTooLarge
	}
	if err != nil && !x.whole && errors.Is(context.Cause(x.carrier.ctx), ErrTimeout) {
		return n, ErrTimeout
	}
	return n, err
}

// ReadAll returns the whole rest of the answer, in the memory of b if that is
// enough.
func (x *Exchange) ReadAll(b []byte) ([]byte, error) {
	// Room for what is announced, within reason, and for seeing its end.
	b = slices.Grow(b[:0], int(min(max(x.length, 0), maxAhead))+minRead)
	for {
		n, err := x.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, err
		}
		if len(b) == cap(b) {
			b = slices.Grow(b, minRead)
		}
	}
}

// head returns the first bytes of the answer, as many as arrive in time.
func (x *Exchange) head(limit int64, grace time.Duration) []byte {
	x.carrier.grace.set(grace)
	// A body that breaks off is classified by what arrived of it.
	b, _ := io.ReadAll(io.LimitReader(x.body, limit))
	return b
}

// Drain reads the little that may follow a whole answer, so that its
// connection can be used again. It gives up soon: Close then drops the
// connection.
func (x *Exchange) Drain() {
	if x.whole {
		return
	}
	x.carrier.grace.set(drainGrace)
	for n := 0; n < drainBytes && !x.whole; {
		read, err := x.body.Read(x.carrier.spare[:])
		if x.whole = err == io.EOF; err != nil {
			break
		}
		n += read
	}
}

// Close ends the exchange and releases its connection.
func (x *Exchange) Close() {
	if x.carrier == nil {
		return
	}
	if x.body != nil {
		_ = x.body.Close() // reading is over; what it could report changes nothing
	}
	x.carrier.release(x.whole)
	x.carrier = nil
}

// ended returns the failure when the exchange's time or its caller ended it,
// and nil otherwise.
func (x *Exchange) ended() *model.Error {
	switch cause := context.Cause(x.carrier.ctx); {
	case errors.Is(cause, errEnough):
		return nil
	case errors.Is(cause, ErrTimeout):
		return &model.Error{Kind: kernel.FailTimeout, Message: "no whole answer within the request's time"}
	case x.carrier.caller.Err() != nil:
		return aborted()
	}
	return nil
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
	case alerted(err): // a certificate is asked for when the request may be on its way
		return &model.Error{Kind: kernel.FailCut, Message: refusedTLS}
	}
	return Cut()
}
