package engine

import (
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Recorder makes the journal's form of a run's events with their contents. Most
// are small, and share memory that is never written twice. The zero value is
// ready. A Recorder is not safe for concurrent use.
type Recorder struct {
	chunk []byte // what is used of it
}

// Bounds of what shares memory, in bytes.
const (
	chunkSize = 2688 // about what a run of two turns needs
	chunkRest = 256  // less than most need: not worth a try
)

// Record returns the record of an event that has c for its content.
func (r *Recorder) Record(seq int64, e kernel.Event, c Content) (journal.Record, error) {
	payload, err := r.keep(func(b []byte) ([]byte, error) { return kernel.AppendEvent(b, e) })
	if err != nil {
		return journal.Record{}, err
	}
	content, err := r.content(c)
	return journal.Record{Seq: seq, At: time.Unix(0, int64(e.When())).UTC(), Kind: e.Kind(), Payload: payload, Content: content}, err
}

func (r *Recorder) content(c Content) ([]byte, error) {
	if c.Result != nil && c.Result.written != nil {
		return c.Result.written, nil
	}
	if c.size() > chunkRest {
		return c.append(nil), nil
	}
	return r.keep(func(b []byte) ([]byte, error) { return c.append(b), nil })
}

// keep returns what add appends, nil for nothing.
func (r *Recorder) keep(add func([]byte) ([]byte, error)) ([]byte, error) {
	if cap(r.chunk)-len(r.chunk) < chunkRest {
		r.chunk = make([]byte, 0, chunkSize)
	}
	start := len(r.chunk)
	b, err := add(r.chunk)
	switch added := b[start:len(b):len(b)]; {
	case err != nil || len(added) == 0:
		return nil, err
	case cap(b) != cap(r.chunk): // it did not fit
		return slices.Clone(added), nil
	default:
		r.chunk = b
		return added, nil
	}
}
