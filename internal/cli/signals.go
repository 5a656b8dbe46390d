package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

// untilInterrupted returns a context that ends with the first signal that asks
// the process to end: SIGINT, SIGTERM, or SIGHUP of a terminal that closes. The
// second one calls hurry, which kills what would outlive the process. After
// that a signal ends the process at once. Call stop when there is nothing left
// to interrupt.
func untilInterrupted(ctx context.Context, hurry func()) (_ context.Context, stop func()) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(ctx)
	came, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(came, signals...)
	var listener sync.WaitGroup
	listener.Go(func() {
		defer signal.Stop(came)
		for _, answer := range []func(){cancel, hurry} {
			select {
			case <-came:
				answer()
			case <-over:
				return
			}
		}
	})
	return ctx, sync.OnceFunc(func() {
		close(over)
		listener.Wait()
		cancel()
	})
}

// interruptibly carries out what keeps nothing when it is cut short. A signal
// that asks the process to end ends it, with CANCELLED.
func interruptibly(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return &kernel.Error{Code: kernel.CodeCancelled, Message: "interrupted", Hint: "nothing was kept of it", Err: err}
	}
	return err
}
