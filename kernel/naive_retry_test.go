package kernel

import (
	"fmt"
	"math/big"
	"slices"
	"time"
)

// naivePlan is what to do about a failed request.
type naivePlan struct {
	again  bool
	wait   time.Duration
	stop   Stop
	detail string // "" where the documents name none
}

// naiveSpent is what recovery has used up: attempts of the turn, requests and
// waiting of the run.
type naiveSpent struct {
	attempts, requests int
	waited             time.Duration
}

var naiveTransient = []int{429, 500, 502, 503, 504, 529}

// naiveRetry plans recovery from a failure, as inventory rows 58 to 62 say.
func naiveRetry(r Retry, spent naiveSpent, f Failure) naivePlan {
	switch f.Kind {
	case FailContext:
		return naivePlan{stop: StopContext}
	case FailFilter:
		return naivePlan{stop: StopFiltered}
	case FailConnection, FailTimeout, FailCut, FailLost:
	case FailStatus:
		if !slices.Contains(naiveTransient, f.Status) {
			return naivePlan{stop: StopModelError, detail: fmt.Sprintf("request_error:%d", f.Status)}
		}
	default:
		return naivePlan{stop: StopModelError}
	}
	if spent.attempts >= r.Attempts || spent.requests >= r.PerRun {
		return naivePlan{stop: StopModelError, detail: "request_budget"}
	}
	wait := naiveBackoff(spent.attempts-1, f.Jitter)
	if f.RetryAfter != nil && *f.RetryAfter >= 0 {
		wait = *f.RetryAfter
	}
	if new(big.Int).Add(big.NewInt(int64(spent.waited)), big.NewInt(int64(wait))).Cmp(big.NewInt(int64(r.Wait))) > 0 {
		return naivePlan{stop: StopModelError, detail: "wait_budget"}
	}
	return naivePlan{again: true, wait: wait}
}

// naiveBackoff is min(1/4 s · 2^n, 2 s) · (1 + 1/4 · jitter/10,000), in whole
// nanoseconds. Jitter outside of 0–10,000 counts as the nearest end.
func naiveBackoff(n, jitter int) time.Duration {
	if jitter < 0 {
		jitter = 0
	} else if jitter > 10_000 {
		jitter = 10_000
	}
	seconds := big.NewRat(1, 4)
	for range n {
		seconds.Mul(seconds, big.NewRat(2, 1))
	}
	if most := big.NewRat(2, 1); seconds.Cmp(most) > 0 {
		seconds = most
	}
	share := new(big.Rat).Mul(big.NewRat(int64(jitter), 10_000), big.NewRat(1, 4))
	seconds.Mul(seconds, share.Add(share, big.NewRat(1, 1)))
	ns := seconds.Mul(seconds, big.NewRat(int64(time.Second), 1))
	return time.Duration(new(big.Int).Quo(ns.Num(), ns.Denom()).Int64())
}
