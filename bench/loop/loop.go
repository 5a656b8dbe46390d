// Package loop holds the contestants: loops that drive the same scripted model
// through the same tool, Holdfast among them.
package loop

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-run/holdfast/bench/scripted"
)

// Config is what a contestant is set up with.
type Config struct {
	BaseURL string // ends in /v1
	Turns   int    // requests of a run, at least 1; all but the last bring a call
	Stream  bool
}

// Result is what came of a run.
type Result struct {
	Answer string
	Calls  int // tool runs
}

// Runner does runs, one after another.
type Runner interface {
	Run(ctx context.Context) (Result, error)
	Close()
}

// Contestant is a way to drive a run.
type Contestant struct {
	Name string
	New  func(Config) (Runner, error)
	// NoStream says that it has no streamed form here.
	NoStream bool
}

// requestTimeout bounds one request of every contestant.
const requestTimeout = 15 * time.Second

// Check reports how a result differs from what the script leads to.
func (r Result) Check(turns int) error {
	if want := (Result{scripted.Answer(turns), turns - 1}); r != want {
		return fmt.Errorf("a run of %d turns came to %q after %d calls, want %q after %d", turns, r.Answer, r.Calls, want.Answer, want.Calls)
	}
	return nil
}

// newTransport is the HTTP transport of the contestants that bring none.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, DisableCompression: true}
}

// entries is the tool: it returns the entry of a number.
type entries []string

func (e entries) lookup(n int64) (string, error) {
	if n < 0 || n >= int64(len(e)) {
		return "", fmt.Errorf("there is no entry %d", n)
	}
	return e[n], nil
}
