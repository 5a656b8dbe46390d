package kernel

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Case 27, row 65: all combinations of what can hold between two turns.
func TestStopsAgainstNaive(t *testing.T) {
	for bits := range 1 << 7 {
		has := func(i int) bool { return bits>>i&1 == 1 }
		f := naiveFacts{verified: has(0), fatal: has(1), turnLimit: has(2), deadline: has(3), repeated: has(4), tokenLimit: has(5), costLimit: has(6)}
		s := standing{
			verified: f.verified, fatal: f.fatal, turn: 2, turns: 3, late: f.deadline, repeats: 1, repeat: 2,
			tokens: 9, tokenLimit: 10, cost: 9, costLimit: 10,
		}
		if f.tokenLimit {
			s.tokens = 10
		}
		if f.costLimit {
			s.cost = 11
		}
		if f.turnLimit {
			s.turns = 2
		}
		if f.repeated {
			s.repeats = 2
		}
		if got, want := s.judge(), naiveStop(f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}

// Case 19, row 60.
func TestBackoffAgainstNaive(t *testing.T) {
	for _, c := range []struct {
		attempt, jitter int
		want            time.Duration
	}{
		{0, 0, 250 * time.Millisecond}, {1, 0, 500 * time.Millisecond}, {2, 0, time.Second}, {3, 0, 2 * time.Second}, {4, 0, 2 * time.Second},
		{0, 10_000, 312500 * time.Microsecond}, {3, 10_000, 2500 * time.Millisecond},
	} {
		if got := backoff(c.attempt, c.jitter); got != c.want {
			t.Errorf("backoff(%d, %d) = %s, want %s", c.attempt, c.jitter, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.IntRange(0, 100).Draw(t, "attempt")
		jitter := rapid.OneOf(rapid.IntRange(0, 10_000), rapid.Int()).Draw(t, "jitter")
		if got, want := backoff(attempt, jitter), naiveBackoff(attempt, jitter); got != want {
			t.Fatalf("backoff(%d, %d) = %s, want %s", attempt, jitter, got, want)
		}
	})
}

func drawTokens(t *rapid.T, name string) int64 {
	return rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, maxUsage), rapid.Just[int64](maxUsage)).Draw(t, name)
}

func drawPrice(t *rapid.T) *Price {
	rate := rapid.OneOf(rapid.Int64Range(0, 20_000_000), rapid.Int64Range(0, 1e13))
	return &Price{rate.Draw(t, "input rate"), rate.Draw(t, "output rate"), rate.Draw(t, "read rate"), rate.Draw(t, "write rate")}
}

func drawUsage(t *rapid.T) Usage {
	u := Usage{Input: drawTokens(t, "input"), Output: drawTokens(t, "output")}
	u.CacheRead = rapid.Int64Range(0, u.Input).Draw(t, "read")
	u.CacheWrite = rapid.Int64Range(0, u.Input-u.CacheRead).Draw(t, "write")
	return u
}

// Cost is exact to the micro-unit, rounded up once over all that was reported,
// and saturates where it cannot be held.
func TestCostAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		var sum Usage
		bill := new(big.Int)
		for range rapid.IntRange(0, 5).Draw(t, "requests") {
			u := drawUsage(t)
			sum = sum.plus(u)
			bill.Add(bill, naiveBill(p, u))
		}
		checkSaturated(t, p.of(sum), naiveMicros(bill))
	})
	huge := Usage{Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64}
	most := &Price{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	if got := most.of(huge); got != math.MaxInt64 {
		t.Errorf("the greatest bill is %d", got)
	}
	if got := (*Price)(nil).of(huge); got != 0 {
		t.Errorf("without a price: %d", got)
	}
}

func checkSaturated(t *rapid.T, got int64, want *big.Int) {
	t.Helper()
	if !want.IsInt64() {
		want = big.NewInt(math.MaxInt64)
	}
	if got != want.Int64() {
		t.Fatalf("%d, want %s", got, want)
	}
}

// Reservation, settlement, holding and late replacement in any order, for one
// budget and one naive ledger.
func TestBudgetAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		limits := Limits{Tokens: rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(1, 5000)).Draw(t, "tokens"), Cost: rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(1, 5000)).Draw(t, "cost")}
		holds := rapid.SampledFrom([]int{3, 50}).Draw(t, "mostly held")
		var b Budget
		n := naiveLedger{price: p}
		for cmd := Seq(1); cmd <= 40; cmd++ {
			input, output := drawTokens(t, "input"), rapid.IntRange(1, 2000).Draw(t, "output")
			tokens, cost := n.fits(limits, n.reservation(input, output))
			over, detail := b.reserve(p.reservation(input, output), &limits, p)
			if want := naiveStop(naiveFacts{tokenLimit: tokens, costLimit: cost}); over != want {
				t.Fatalf("reserve: %q (%s), want %q", over, detail, want)
			}
			if over == "" {
				n.reserve(cmd, n.reservation(input, output))
				settleOne(t, &b, &n, cmd, holds)
			}
			lateOne(t, &b, &n, cmd)
			compareLedgers(t, &b, &n, p)
		}
	})
}

func settleOne(t *rapid.T, b *Budget, n *naiveLedger, cmd Seq, kinds int) {
	u := drawUsage(t)
	switch rapid.IntRange(0, kinds).Draw(t, "what became of it") {
	case 0:
		b.settle(&u)
		n.replied(cmd, &u, false)
	case 1:
		b.settle(nil)
		n.replied(cmd, nil, false)
	case 2:
		b.release()
		n.failed(cmd, Failure{Kind: FailConnection})
	default:
		b.hold(cmd)
		n.failed(cmd, Failure{Kind: FailCut})
	}
}

// lateOne lets usage arrive for any request so far, mostly for none that waits.
func lateOne(t *rapid.T, b *Budget, n *naiveLedger, latest Seq) {
	cmd := Seq(rapid.IntRange(1, int(latest)).Draw(t, "late for"))
	r := n.row(cmd)
	held := r != nil && r.over && !r.reply && !r.free
	open := 0
	for i := range n.rows {
		if later := &n.rows[i]; later.cmd > cmd && later.over && !later.reply && !later.free {
			open++
		}
	}
	u := drawUsage(t)
	if got, want := b.late(cmd, &u), held && open < maxOpen; got != want {
		t.Fatalf("late usage for %d taken: %t, want %t", cmd, got, want)
	} else if got {
		n.replied(cmd, &u, true)
	}
}

func compareLedgers(t *rapid.T, b *Budget, n *naiveLedger, p *Price) {
	t.Helper()
	sum := n.charged()
	checkSaturated(t, b.charged(p).Tokens, sum.tokens)
	checkSaturated(t, b.charged(p).Micros, sum.cost)
	checkSaturated(t, b.Held.Tokens, n.held())
	if all, reported := n.replies(); b.Replies != all || b.Reported != reported {
		t.Fatalf("%d of %d replies, want %d of %d", b.Reported, b.Replies, reported, all)
	}
}

// The state stays small: of a run whose requests are all held, only the latest
// 32 can still be replaced. The charge stays.
func TestOpenIsBounded(t *testing.T) {
	var b Budget
	for cmd := Seq(1); cmd <= maxOpen+1; cmd++ {
		b.Reserved = Amount{Tokens: 10}
		b.hold(cmd)
	}
	if len(b.Open) != maxOpen || b.Held.Tokens != 10*(maxOpen+1) {
		t.Fatalf("%d open, %d tokens held", len(b.Open), b.Held.Tokens)
	}
	if b.late(1, &Usage{Input: 1}) {
		t.Error("the first request is still open")
	}
	if !b.late(2, &Usage{Input: 1}) || b.Held.Tokens != 10*maxOpen {
		t.Errorf("the second request is not open; %d tokens held", b.Held.Tokens)
	}
}
