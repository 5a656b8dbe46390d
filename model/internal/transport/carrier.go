package transport

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// Causes of the end of a carrier's context.
var (
	ErrTimeout = errors.New("the request's time is over")
	errEnough  = errors.New("the rest of the answer is not wanted")
	errAborted = errors.New("the caller's context has ended")
)

// carrier is what a request travels with: net/http's form of it, its body, its
// context and its timers. A carrier serves one request after another, so that
// none of this is made for each; net/http lets a request go again once its body
// is written and the body of its answer closed. A carrier whose request ended in
// any other way serves no more.
type carrier struct {
	request *http.Request
	body    requestBody
	ctx     context.Context // of request
	cancel  context.CancelCauseFunc
	abort   func()
	limit   alarm        // of the whole exchange
	grace   alarm        // of what is read beyond the answer
	spare   [512]byte    // for what is read beyond the answer
	pool    *sync.Pool   // where it serves again; nil: nowhere
	conns   *connections // what it takes one of; nil: net/http sees to that

	// Of the request under way.
	caller context.Context
	conn   *http.ClientConn // that it took; nil: none
	watch  func() bool      // ends abort's watch over caller, false: abort was called; nil: there is none
}

// newCarrier returns a carrier whose context is derived from ctx. form makes its
// request of that.
func newCarrier(ctx context.Context, form func(context.Context) *http.Request) *carrier {
	k := &carrier{}
	ctx, k.cancel = context.WithCancelCause(ctx)
	k.ctx = httptrace.WithClientTrace(ctx, k.body.trace())
	k.request = form(k.ctx)
	k.abort = func() { k.cancel(errAborted) }
	k.limit.ring = func() { k.cancel(ErrTimeout) }
	k.grace.ring = func() { k.cancel(errEnough) }
	return k
}

// carrier returns one for a request of ctx: one that serves again, where the
// client is one that was made here and nobody else looks on.
func (c *Client) carrier(ctx context.Context) *carrier {
	var k *carrier
	switch _, ours := c.HTTP.Transport.(own); {
	case !ours:
		k = newCarrier(ctx, c.blank.Clone) // theirs to change
	case httptrace.ContextClientTrace(ctx) != nil:
		k = newCarrier(ctx, c.blank.WithContext)
	default:
		if k, ours = c.carriers.Get().(*carrier); !ours {
			k = newCarrier(context.Background(), c.blank.WithContext)
			k.pool, k.conns = &c.carriers, c.conns
		}
		k.watch = after(ctx, k.abort)
	}
	k.caller = ctx
	return k
}

// after is context.AfterFunc, without what that makes around an AfterFunc that a
// context has of its own. It returns nil for a context without an end.
func after(ctx context.Context, f func()) (stop func() bool) {
	if own, ok := ctx.(interface {
		AfterFunc(f func()) (stop func() bool)
	}); ok {
		return own.AfterFunc(f)
	}
	if ctx.Done() == nil {
		return nil
	}
	return context.AfterFunc(ctx, f)
}

// load gives the carrier its request.
func (k *carrier) load(pieces Pieces, timeout time.Duration) {
	k.request.Body, k.request.ContentLength = k.body.load(pieces)
	if timeout > 0 {
		k.limit.set(timeout)
	}
}

// release ends what was under way. over says that the body of the answer was
// read to its end.
func (k *carrier) release(over bool) {
	k.limit.stop()
	k.grace.stop()
	if k.conn != nil {
		k.conns.give(k.conn)
		k.conn = nil
	}
	calm := !k.limit.rang && !k.grace.rang
	if k.watch != nil {
		calm = k.watch() && calm
	}
	if !calm || !over || k.pool == nil || !k.body.wrote.Load() {
		k.cancel(errEnough)
		return
	}
	k.caller, k.watch = nil, nil
	k.body.unload()
	k.pool.Put(k)
}

// alarm is a timer that serves again until it has rung.
type alarm struct {
	ring  func()
	timer *time.Timer // nil: it was never set
	isSet bool
	rang  bool
}

func (a *alarm) set(d time.Duration) {
	a.stop()
	a.isSet = true
	if a.timer == nil {
		a.timer = time.AfterFunc(d, a.ring)
		return
	}
	a.timer.Reset(d)
}

func (a *alarm) stop() {
	if a.isSet && !a.timer.Stop() {
		a.rang = true
	}
	a.isSet = false
}
