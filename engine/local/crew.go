package local

import "sync"

// maxIdle bounds the goroutines that wait for work.
const maxIdle = 8

// crew carries work out, each piece on a goroutine that does nothing else
// meanwhile. One that is through waits a little for the next piece: it has grown
// its stack already. The work may block for ever or end its goroutine, which
// then is lost to the crew. The zero value is not usable: see newCrew.
type crew struct {
	work chan func() // to somebody who waits for it

	mu     sync.Mutex
	idle   int
	home   chan struct{} // closed to send home those who wait
	closed bool
}

func newCrew() *crew { return &crew{work: make(chan func()), home: make(chan struct{})} }

func (c *crew) carryOut(f func()) {
	select {
	case c.work <- f:
	default:
		go c.member(f)
	}
}

func (c *crew) member(f func()) {
	for f != nil {
		f()
		f = c.wait()
	}
}

// wait returns the next piece of work, nil: none is to be waited for.
func (c *crew) wait() (f func()) {
	c.mu.Lock()
	if c.closed || c.idle == maxIdle {
		c.mu.Unlock()
		return nil
	}
	c.idle++
	home := c.home
	c.mu.Unlock()
	select {
	case f = <-c.work:
	case <-home:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle--
	return f
}

// dismiss sends home whoever waits, and for good if the crew is closed by that.
func (c *crew) dismiss(closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = c.closed || closed
	if c.idle > 0 {
		close(c.home)
		c.home = make(chan struct{})
	}
}
