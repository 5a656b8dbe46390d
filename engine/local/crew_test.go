package local

import (
	"runtime"
	"sync"
	"testing"
)

// Whoever is through waits for the next piece, so that work which comes piece
// by piece begins no goroutine; what blocks or ends its goroutine keeps no other
// piece from being carried out.
func TestCrew(t *testing.T) {
	c := newCrew()
	t.Cleanup(func() { c.dismiss(true) })

	var ended sync.WaitGroup
	block := make(chan struct{})
	ended.Add(1)
	c.carryOut(func() { defer ended.Done(); <-block })
	ended.Add(1)
	c.carryOut(func() { defer ended.Done(); runtime.Goexit() })
	c.rested(t, 0)

	for range 3 * maxIdle {
		ended.Add(1)
		done := make(chan struct{})
		c.carryOut(func() { defer ended.Done(); close(done) })
		<-done
		c.rested(t, 1)
	}

	close(block)
	ended.Wait()
	c.rested(t, 2)
	c.dismiss(false)
	c.rested(t, 0)
}

// No more wait than maxIdle, and nobody once the crew is closed, whoever is still
// busy then included.
func TestCrewIsBounded(t *testing.T) {
	c := newCrew()
	block := make(chan struct{})
	var busy sync.WaitGroup
	for range 2 * maxIdle {
		busy.Add(1)
		c.carryOut(func() { busy.Done(); <-block })
	}
	busy.Wait()
	close(block)
	c.rested(t, maxIdle)
	later := make(chan struct{})
	began := make(chan struct{})
	c.carryOut(func() { close(began); <-later })
	<-began
	c.dismiss(true)
	close(later)
	c.rested(t, 0)
}

// rested waits until so many members wait for work, or the test's time is over.
func (c *crew) rested(t *testing.T, want int) {
	t.Helper()
	for {
		c.mu.Lock()
		idle := c.idle
		c.mu.Unlock()
		if idle == want {
			return
		}
		runtime.Gosched()
	}
}
