package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted returns a context that ends with the first signal that asks
// the process to end: SIGINT, SIGTERM, or SIGHUP of a terminal that closes. The
// second one ends the process at once. Call stop when there is nothing left to
// interrupt.
func untilInterrupted(ctx context.Context) (_ context.Context, stop func()) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop = signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
