package kernel

import (
	"fmt"
	"math"
	"math/bits"
)

// Amount is what a request may use or did use. Both parts are at least 0 and
// saturate instead of overflowing.
type Amount struct {
	Tokens int64 `json:"tokens"`
	Micros int64 `json:"micros,omitempty"` // cost, where there is a price
}

func (a Amount) plus(b Amount) Amount {
	return Amount{addSat(a.Tokens, b.Tokens), addSat(a.Micros, b.Micros)}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{max(0, a.Tokens-b.Tokens), max(0, a.Micros-b.Micros)}
}

// Budget is what a run has used. A request is reserved before it is sent and
// settled by its report; where the report does not say what it used, the
// reservation stays charged as held.
type Budget struct {
	Usage    Usage  `json:"usage"`    // reported
	Replies  int    `json:"replies"`  // whole ones
	Reported int    `json:"reported"` // of these, how many told their usage
	Reserved Amount `json:"reserved"` // of the request that is out
	Held     Amount `json:"held"`     // all that is held, Open included
	// Open are the held requests whose usage may still arrive, latest last.
	Open []HeldRequest `json:"open,omitempty"`
}

// HeldRequest is a request that is charged by its reservation.
type HeldRequest struct {
	Cmd    Seq    `json:"cmd"`
	Amount Amount `json:"amount"`
}

// maxOpen bounds the held requests whose usage may still replace the charge.
const maxOpen = 32

// maxUsage is the largest number of tokens that one request is believed to
// have: far above any model, and small enough to add up many.
const maxUsage = 1 << 32

// charged is what counts against the limits.
func (b *Budget) charged(p *Price) Amount {
	used := Amount{Tokens: addSat(b.Usage.Input, b.Usage.Output), Micros: p.of(b.Usage)}
	return used.plus(b.Held).plus(b.Reserved)
}

// reserve charges a request that is about to be sent. It names the limit that
// the request would break, and then charges nothing.
func (b *Budget) reserve(a Amount, l *Limits, p *Price) (over Stop, detail string) {
	total := b.charged(p).plus(a)
	switch {
	case l.Tokens > 0 && total.Tokens > l.Tokens:
		return StopTokenLimit, fmt.Sprintf("%d tokens charged, %d more needed, limit %d", total.minus(a).Tokens, a.Tokens, l.Tokens)
	case l.Cost > 0 && total.Micros > l.Cost:
		return StopCostLimit, fmt.Sprintf("%d micros charged, %d more needed, limit %d", total.minus(a).Micros, a.Micros, l.Cost)
	}
	b.Reserved = a
	return "", ""
}

// release gives a reservation back: nothing was used.
func (b *Budget) release() { b.Reserved = Amount{} }

// settle takes a reply: what it reports replaces the reservation, which stays
// charged when it reports nothing.
func (b *Budget) settle(u *Usage) {
	b.Replies++
	if u == nil || !u.plausible() {
		b.Held = b.Held.plus(b.Reserved)
		b.Reserved = Amount{}
		return
	}
	b.Reserved = Amount{}
	b.Usage = b.Usage.plus(*u)
	b.Reported++
}

// hold takes a request whose reply is unknown: its reservation stays charged
// until its usage arrives after all.
func (b *Budget) hold(cmd Seq) {
	b.Held = b.Held.plus(b.Reserved)
	open := append(b.Open[:len(b.Open):len(b.Open)], HeldRequest{cmd, b.Reserved})
	b.Open = open[max(0, len(open)-maxOpen):]
	b.Reserved = Amount{}
}

// late replaces what is held for a request by the usage that arrived after
// all, once. It reports whether it did.
func (b *Budget) late(cmd Seq, u *Usage) bool {
	if u == nil || !u.plausible() {
		return false
	}
	for i, h := range b.Open {
		if h.Cmd != cmd {
			continue
		}
		b.Open = append(b.Open[:i:i], b.Open[i+1:]...)
		b.Held = b.Held.minus(h.Amount)
		b.Usage = b.Usage.plus(*u)
		b.Replies++
		b.Reported++
		return true
	}
	return false
}

func (u Usage) plus(o Usage) Usage {
	return Usage{addSat(u.Input, o.Input), addSat(u.Output, o.Output), addSat(u.CacheRead, o.CacheRead), addSat(u.CacheWrite, o.CacheWrite)}
}

// plausible reports whether the counts can be what their names say.
func (u Usage) plausible() bool {
	low := min(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	high := max(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	return low >= 0 && high <= maxUsage && u.CacheRead+u.CacheWrite <= u.Input
}

// of is the cost of u, rounded up; 0 without a price.
func (p *Price) of(u Usage) int64 {
	if p == nil {
		return 0
	}
	var b bill
	b.add(max(0, u.Input-u.CacheRead-u.CacheWrite), p.Input)
	b.add(u.Output, p.Output)
	b.add(u.CacheRead, p.CacheRead)
	b.add(u.CacheWrite, p.CacheWrite)
	return b.micros()
}

// reservation is the most that a request may use: its input at the dearest
// rate, and all the output that it allows.
func (p *Price) reservation(input int64, maxOutput int) Amount {
	a := Amount{Tokens: addSat(input, int64(maxOutput))}
	if p != nil {
		var b bill
		b.add(input, max(p.Input, p.CacheRead, p.CacheWrite))
		b.add(int64(maxOutput), p.Output)
		a.Micros = b.micros()
	}
	return a
}

// bill is a sum of tokens times price, in 128 bits: up to four products of
// numbers that are at least 0 fit.
type bill struct{ hi, lo uint64 }

func (b *bill) add(tokens, price int64) {
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	b.lo, carry = bits.Add64(b.lo, lo, 0)
	b.hi, _ = bits.Add64(b.hi, hi, carry)
}

// micros is the sum in micro-units, rounded up and saturated. Prices are for a
// million tokens.
func (b bill) micros() int64 {
	const million = 1_000_000
	if b.hi >= million {
		return math.MaxInt64
	}
	whole, rest := bits.Div64(b.hi, b.lo, million)
	if whole >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(whole + min(1, rest))
}

// addSat adds numbers that are at least 0.
func addSat(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
