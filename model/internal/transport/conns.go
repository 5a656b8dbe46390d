package transport

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// maxFree is how many connections that no request uses are kept.
	maxFree = 64
	// freeFor is how long one is kept that no request takes.
	freeFor = 90 * time.Second
)

// connections are those of a client to its endpoint over plain HTTP, where one
// request uses each at a time. net/http makes them, speaks on them and notices
// when the other side ends them; which of them a request takes is decided here,
// by the rules of an http.Transport. That one spends nine allocations, two locks
// and a timer on each request to find what is mostly the same connection again.
// They are safe for concurrent use.
type connections struct {
	dial func(ctx context.Context) (*http.ClientConn, error)
	now  func() time.Time // on the wall: a machine that slept has lost its connections

	mu      sync.Mutex
	free    []free    // the one that was used last is the last
	waiting []*waiter // who came first is the first
	closing *time.Timer
	closed  bool // none was taken since: what becomes free is closed
}

// free is a connection that no request uses.
type free struct {
	conn  *http.ClientConn
	since time.Time
}

// fresh reports whether a request may take it at now. One from the future is of a
// clock that was set back since.
func (f *free) fresh(now time.Time) bool {
	age := now.Sub(f.since)
	return 0 <= age && age < freeFor && f.conn.Err() == nil
}

// waiter is a request that waits for a connection: a new one, or one that becomes
// free before that is there. It is told once.
type waiter struct{ told chan found }

type found struct {
	conn *http.ClientConn
	err  error
}

// address is where the connections to u lead. false: they are left to net/http,
// which knows how requests share a connection over TLS, and how the name of a
// host that is not ASCII is written.
func address(u *url.URL) (_ string, ok bool) {
	host := u.Hostname()
	for i := range len(host) {
		if host[i] >= 0x80 {
			return "", false
		}
	}
	return net.JoinHostPort(host, u.Port()), u.Scheme == "http" && host != ""
}

// take returns a connection for one request, which is to be sent on it. It is
// given back when the request is over, whatever came of it.
func (c *connections) take(ctx context.Context) (*http.ClientConn, error) {
	conn, w := c.look()
	if conn != nil {
		return conn, nil
	}
	go c.connect(context.WithoutCancel(ctx), w) // if the request ends before, another one takes it
	select {
	case f := <-w.told:
		return f.conn, f.err
	case <-ctx.Done():
		if !c.leave(w) { // it is told at this moment
			if f := <-w.told; f.err == nil {
				f.conn.Release()
				c.give(f.conn)
			}
		}
		return nil, ctx.Err()
	}
}

// look returns the free connection that was used last, or a place to wait at.
func (c *connections) look() (*http.ClientConn, *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = false
	for n := len(c.free) - 1; n >= 0; n-- {
		f := c.free[n]
		c.free[n] = free{}
		c.free = c.free[:n]
		if f.fresh(c.now()) && f.conn.Reserve() == nil {
			return f.conn, nil
		}
		_ = f.conn.Close()
	}
	w := &waiter{told: make(chan found, 1)}
	c.waiting = append(c.waiting, w)
	return nil, w
}

// connect makes a connection for w, or for another request if w waits no more. The
// dialer bounds the time.
func (c *connections) connect(ctx context.Context, w *waiter) {
	conn, err := c.dial(ctx)
	if err == nil {
		err = conn.Reserve()
	}
	switch waits := c.leave(w); {
	case waits:
		w.told <- found{conn, err}
	case err == nil:
		conn.Release()
		c.give(conn)
	}
}

// leave reports whether w still waited: it does no more.
func (c *connections) leave(w *waiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, w)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// give gives a connection back. One that takes no request any more, since it has
// ended or its answer was not read to the end, is net/http's to close.
func (c *connections) give(conn *http.ClientConn) {
	if conn.Available() > 0 && !c.keep(conn) {
		_ = conn.Close() // nothing is under way on it
	}
}

// keep hands a free connection to who waits longest, or keeps it, if it is to be
// kept.
func (c *connections) keep(conn *http.ClientConn) (kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 {
		if conn.Reserve() != nil {
			return false
		}
		c.waiting[0].told <- found{conn: conn}
		c.waiting = slices.Delete(c.waiting, 0, 1)
		return true
	}
	if len(c.free) == maxFree {
		c.dropOld()
	}
	if c.closed || len(c.free) == maxFree {
		return false
	}
	c.free = append(c.free, free{conn, c.now()})
	if c.closing == nil {
		c.closing = time.AfterFunc(freeFor, c.closeOld)
	}
	return true
}

// closeOld closes the connections that no request took for too long.
func (c *connections) closeOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropOld()
	c.closing = nil
	if len(c.free) > 0 {
		c.closing = time.AfterFunc(freeFor-c.now().Sub(c.free[0].since), c.closeOld)
	}
}

// dropOld closes the connections that no request may take. c.mu is held.
func (c *connections) dropOld() {
	now := c.now()
	c.free = slices.DeleteFunc(c.free, func(f free) bool {
		if f.fresh(now) {
			return false
		}
		_ = f.conn.Close()
		return true
	})
}

// closeFree closes the connections that no request uses, and those that become
// free before another one is asked for.
func (c *connections) closeFree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.free {
		_ = c.free[i].conn.Close()
	}
	c.free, c.closed = nil, true
	if c.closing != nil && c.closing.Stop() {
		c.closing = nil
	}
}
