package cli

import (
	"bytes"
	"context"
)

// A question and the timeline are most likely on the same screen. The question
// is put below what led to it, and the timeline waits for the answer.

// follow begins to show a run's updates. end says that there will be no more.
func (d *display) follow() (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.feed = map[string]chan struct{}{}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, ch := range d.feed {
			closeOnce(ch)
		}
		d.feed = nil
	}
}

// await returns when the decision on a call is shown, so that a question about
// it stands below what led to it, or when it will not be.
func (d *display) await(ctx context.Context, call string) {
	select {
	case <-d.shown(call):
	case <-ctx.Done():
	}
}

// shown returns what is closed once the decision on a call is shown.
func (d *display) shown(call string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := d.feed[call]
	if ch == nil {
		ch = make(chan struct{})
		if d.feed == nil {
			close(ch)
		} else {
			d.feed[call] = ch
		}
	}
	return ch
}

// closeOnce closes ch unless it is closed. Its caller holds the lock.
func closeOnce(ch chan struct{}) {
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// hold keeps back what is printed from now on, so that it does not run over a
// question that waits for its answer on the same screen.
func (d *display) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = &bytes.Buffer{}
}

// release prints what was kept back.
func (d *display) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.held.WriteTo(d.w) // see display
	d.held = nil
}
