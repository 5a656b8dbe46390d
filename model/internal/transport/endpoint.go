package transport

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// Endpoint is one model at the end of a wire. It is safe for concurrent use; do
// not change it.
type Endpoint struct {
	Info   model.Info
	Stream bool   // streamed answers are asked for
	Maker  string // of the private reasoning in its replies
	Heads  Heads

	// What knows the key is behind functions, which no print looks into.
	post func(ctx context.Context, pieces Pieces, timeout time.Duration) (*Exchange, error)
	idle func() // drops idle connections; nil where the HTTP client is the caller's

	buffers sync.Pool // of *[]byte, for plain answers and for messages being encoded
	streams sync.Pool // of *Stream
}

// Connect returns the endpoint that s describes, which passed Check. It
// contacts nobody.
func (w *Wire) Connect(s *Settings) *Endpoint {
	h := http.Header{
		"Content-Type":    {"application/json"},
		"Accept":          {"application/json"},
		"Accept-Encoding": {"identity"},
	}
	if s.Stream {
		h.Set("Accept", "text/event-stream")
	}
	maps.Copy(h, w.Header)
	if s.Key != "" {
		h.Set(w.KeyHeader, w.KeyPrefix+s.Key)
	}
	c := &Client{
		HTTP:     NewHTTP(s.HTTPClient),
		URL:      requestURL(s.BaseURL, w.Path),
		Header:   h,
		Cap:      int64(s.ResponseCap),
		Now:      s.Now,
		Classify: w.Classify,
	}
	e := &Endpoint{
		Info: model.Info{
			Provider: w.Provider, Name: s.Name, Profile: s.Profile,
			MaxTokens: s.MaxTokens, MaxTokensCap: s.MaxTokensCap,
		},
		Stream: s.Stream, Maker: w.maker(s.BaseURL), post: c.Post,
	}
	if s.HTTPClient == nil {
		e.idle = c.CloseIdle
	}
	return e
}

// Close drops the idle connections of the endpoint's own HTTP client. It can
// still be used.
func (e *Endpoint) Close() {
	if e.idle != nil {
		e.idle()
	}
}

// Assembly is a reply on its way, as one wire reads it.
type Assembly interface {
	// ReadStream reads a streamed answer to its end, ReadPlain a whole one. They
	// keep the memory of neither.
	ReadStream(s *Stream) error
	ReadPlain(data []byte) error
	// Usage returns what was reported so far, or nil.
	Usage() *kernel.Usage
	// Reply returns what was read, to the end and without an error.
	Reply() *model.Reply
}

// Call sends one request, once, and has its answer read. The error is of type
// *model.Error.
func (e *Endpoint) Call(ctx context.Context, pieces Pieces, timeout time.Duration, a Assembly) (*model.Reply, error) {
	x, err := e.post(ctx, pieces, timeout)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if err := e.read(x, a); err != nil {
		failed := x.Failure(err)
		failed.Usage = a.Usage()
		return nil, failed
	}
	x.Drain()
	reply := a.Reply()
	reply.Size = x.Size()
	return reply, nil
}

// read has the answer read in the form that it has, whatever was asked for.
func (e *Endpoint) read(x *Exchange, a Assembly) error {
	if x.Format == FormatEvents || x.Format == FormatUnknown && e.Stream {
		return e.stream(x, a)
	}
	buffer := e.buffer()
	data, err := x.ReadAll(*buffer)
	if err == nil {
		err = a.ReadPlain(data)
	}
	e.again(buffer, data)
	return err
}

func (e *Endpoint) stream(x *Exchange, a Assembly) error {
	s, ok := e.streams.Get().(*Stream)
	if !ok {
		s = new(Stream)
	}
	s.Open(x)
	err := a.ReadStream(s)
	s.Open(nil) // x is not kept
	e.streams.Put(s)
	return err
}

// Encoded returns what appendTo appends, in memory of just that size: messages
// are kept for as long as their run goes on. at is where quoted belongs in it;
// below 0: nowhere.
func (e *Endpoint) Encoded(quoted []byte, appendTo func(b []byte) (all []byte, at int, err error)) (model.Encoded, error) {
	buffer := e.buffer()
	b, at, err := appendTo((*buffer)[:0])
	if err != nil {
		return model.Encoded{}, err
	}
	out := make([]byte, len(b))
	copy(out, b)
	e.again(buffer, b)
	if at < 0 {
		return model.Encoded{Before: out}, nil
	}
	return model.Encoded{Before: out[:at:at], Text: quoted, After: out[at:]}, nil
}

func (e *Endpoint) buffer() *[]byte {
	if buffer, ok := e.buffers.Get().(*[]byte); ok {
		return buffer
	}
	return new([]byte)
}

// again lets the memory of data, which nobody refers to any more, serve again.
func (e *Endpoint) again(buffer *[]byte, data []byte) {
	if cap(data) <= maxKept {
		*buffer = data
		e.buffers.Put(buffer)
	}
}

// maxKept bounds the memory that serves again.
const maxKept = 64 << 10
