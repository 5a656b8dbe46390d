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
	// freeFor is how long one is kept at least that no request takes, and twice
	// that the longest.
	freeFor = 45 * time.Second
)

// connections are those of a client to its endpoint over plain HTTP, where one
// request uses each at a time. net/http makes them, speaks on them and notices
// when the other side ends them; which of them a request takes is decided here.
// An http.Transport looks for one among those of all hosts and sets a timer for
// each that is free, which costs more than all else that this package does around
// a short request. They are safe for concurrent use.
type connections struct {
	dial  func(ctx context.Context) (*http.ClientConn, error)
	every time.Duration // how often those that no request took are looked for

	mu      sync.Mutex
	free    []free // the one that was used last is the last
	round   int    // of looking
	looking *time.Timer
	idle    bool // none was taken since they were closed
}

// free is a connection that no request uses.
type free struct {
	conn  *http.ClientConn
	round int // since which it is
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
	return net.JoinHostPort(host, u.Port()), u.Scheme == "http"
}

// take returns a connection for one request, which is to be sent on it. It is
// given back when the request is over, whatever came of it.
func (c *connections) take(ctx context.Context) (*http.ClientConn, error) {
	for conn := c.last(); conn != nil; conn = c.last() {
		if conn.Reserve() == nil {
			return conn, nil
		}
		_ = conn.Close() // the other side has ended it
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	return conn, conn.Reserve()
}

// last takes out the free one that was used last; nil: there is none.
func (c *connections) last() *http.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
	n := len(c.free) - 1
	if n < 0 {
		return nil
	}
	conn := c.free[n].conn
	c.free[n] = free{}
	c.free = c.free[:n]
	return conn
}

// give gives a connection back. One that takes no request any more, since it has
// ended or its answer was not read to the end, is net/http's to close.
func (c *connections) give(conn *http.ClientConn) {
	if conn.Available() > 0 && !c.keep(conn) {
		_ = conn.Close() // nothing is under way on it
	}
}

// keep keeps a free connection, if it is to be kept.
func (c *connections) keep(conn *http.ClientConn) (kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle || len(c.free) == maxFree {
		return false
	}
	c.free = append(c.free, free{conn, c.round})
	if c.looking == nil {
		c.looking = time.AfterFunc(c.every, c.look)
	}
	return true
}

// look closes the connections that no request took since the look before.
func (c *connections) look() {
	c.mu.Lock()
	old := 0
	for old < len(c.free) && c.free[old].round < c.round {
		old++
	}
	closed := c.free[:old:old]
	c.free = slices.Clone(c.free[old:])
	c.round++
	c.looking = nil
	if len(c.free) > 0 {
		c.looking = time.AfterFunc(c.every, c.look)
	}
	c.mu.Unlock()
	closeAll(closed)
}

// closeIdle closes the free connections, and those that become free before the
// next one is taken.
func (c *connections) closeIdle() {
	c.mu.Lock()
	closed := c.free
	c.free, c.idle = nil, true
	if c.looking != nil && c.looking.Stop() {
		c.looking = nil
	}
	c.mu.Unlock()
	closeAll(closed)
}

func closeAll(all []free) {
	for i := range all {
		_ = all[i].conn.Close() // nothing is under way on it
	}
}
