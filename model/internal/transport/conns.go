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
	// maxFree is how many connections are kept for requests to come, those that
	// take several at a time not counted.
	maxFree = 64
	// freeFor is how long one is kept at least that no request takes, and twice
	// that the longest.
	freeFor = 45 * time.Second
)

// connections are those of a client to its endpoint. net/http makes them, speaks
// on them and notices when the other side ends them; which of them a request
// takes is decided here. An http.Transport would look for one among those of all
// hosts and set a timer for each that is free, which costs more than the rest of
// what stands before and behind a request. They are safe for concurrent use.
type connections struct {
	dial  func(ctx context.Context) (*http.ClientConn, error)
	every time.Duration // how often those that were not taken are looked for

	mu      sync.Mutex
	kept    []kept      // the one that was taken last is the last
	round   int         // of looking
	looking *time.Timer // nil: there is nothing to look for
	idle    bool        // none was taken since they were closed
}

// kept is a connection that can take a request, or will once it is through with
// some of those that it has.
type kept struct {
	conn   *http.ClientConn
	shared bool // it takes several requests at a time, as HTTP/2 does
	round  int  // in which it was taken last
}

// address is where the connections to u lead; false: net/http alone can say, since
// the name of the host is to be converted.
func address(u *url.URL) (_ string, ok bool) {
	host := u.Hostname()
	for i := range len(host) {
		if host[i] >= 0x80 {
			return "", false
		}
	}
	return net.JoinHostPort(host, u.Port()), true
}

// take returns a connection that has room for one request, which is to be sent
// on it. It is given back when the request is over, whatever came of it.
func (c *connections) take(ctx context.Context) (*http.ClientConn, error) {
	if conn := c.reserve(); conn != nil {
		return conn, nil
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := conn.Reserve(); err != nil { // it is ending
		_ = conn.Close()
		return nil, err
	}
	if conn.Available() > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.keep(kept{conn: conn, shared: true})
	}
	return conn, nil
}

// reserve takes one of those that are kept; nil: there is none. One that has
// ended is not kept any more.
func (c *connections) reserve() *http.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
	for i := len(c.kept) - 1; i >= 0; i-- {
		k := &c.kept[i]
		err := k.conn.Reserve()
		if err == nil && k.shared {
			k.round = c.round
			return k.conn
		}
		if err != nil && k.conn.Err() == nil {
			continue // it has as many as it takes
		}
		conn := k.conn
		c.kept = slices.Delete(c.kept, i, i+1)
		if err == nil {
			return conn
		}
	}
	return nil
}

// give gives a connection back. One that takes no request any more is net/http's
// to close.
func (c *connections) give(conn *http.ClientConn) {
	if conn.Available() == 0 {
		return
	}
	c.mu.Lock()
	var over []kept
	switch known, single := c.find(conn); {
	case c.idle:
		over = c.drop(func(*kept) bool { return true })
		if !known {
			over = append(over, kept{conn: conn})
		}
	case known:
	case single < maxFree:
		c.keep(kept{conn: conn})
	default:
		over = []kept{{conn: conn}}
	}
	c.mu.Unlock()
	closeAll(over)
}

// find reports whether a connection is kept, and how many are that take one
// request at a time. c.mu is held.
func (c *connections) find(conn *http.ClientConn) (known bool, single int) {
	for i := range c.kept {
		known = known || c.kept[i].conn == conn
		if !c.kept[i].shared {
			single++
		}
	}
	return known, single
}

// keep keeps a connection. c.mu is held.
func (c *connections) keep(k kept) {
	k.round = c.round
	c.kept = append(c.kept, k)
	if c.looking == nil {
		c.looking = time.AfterFunc(c.every, c.look)
	}
}

// look closes the connections that no request took since the look before.
func (c *connections) look() {
	c.mu.Lock()
	old := c.drop(func(k *kept) bool { return k.round < c.round })
	c.round++
	c.looking = nil
	if len(c.kept) > 0 {
		c.looking = time.AfterFunc(c.every, c.look)
	}
	c.mu.Unlock()
	closeAll(old)
}

// closeIdle closes the connections that have no request under way, and those
// that come to that before the next one is taken.
func (c *connections) closeIdle() {
	c.mu.Lock()
	idle := c.drop(func(*kept) bool { return true })
	c.idle = true
	if c.looking != nil && len(c.kept) == 0 && c.looking.Stop() {
		c.looking = nil
	}
	c.mu.Unlock()
	closeAll(idle)
}

// drop keeps those no longer that which is of, and that have no request under
// way. c.mu is held.
func (c *connections) drop(which func(*kept) bool) (dropped []kept) {
	rest := c.kept[:0]
	for i := range c.kept {
		if k := c.kept[i]; which(&k) && k.conn.InFlight() == 0 {
			dropped = append(dropped, k)
		} else {
			rest = append(rest, k)
		}
	}
	clear(c.kept[len(rest):])
	c.kept = rest
	return dropped
}

func closeAll(all []kept) {
	for i := range all {
		_ = all[i].conn.Close() // nothing is under way on it
	}
}
