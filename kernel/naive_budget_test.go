package kernel

import "math/big"

// naiveLedger keeps every request of a run as a row and adds the rows up anew
// at each question.
type naiveLedger struct {
	price *Price
	rows  []naiveRow
}

type naiveRow struct {
	cmd      Seq
	reserved naiveAmount
	usage    *Usage // what the provider reported, in the end
	free     bool   // the provider did no work
	over     bool   // the request has ended
	reply    bool   // it brought a reply, late or not
}

type naiveAmount struct{ tokens, cost *big.Int }

var naiveMillion = big.NewInt(1_000_000)

// naiveBill is what usage costs in millionths of a micro-unit.
func naiveBill(p *Price, u Usage) *big.Int {
	sum := new(big.Int)
	if p == nil {
		return sum
	}
	add := func(tokens *big.Int, price int64) { sum.Add(sum, new(big.Int).Mul(tokens, big.NewInt(price))) }
	plain := big.NewInt(u.Input)
	plain.Sub(plain, big.NewInt(u.CacheRead))
	plain.Sub(plain, big.NewInt(u.CacheWrite))
	add(plain, p.Input)
	add(big.NewInt(u.CacheRead), p.CacheRead)
	add(big.NewInt(u.CacheWrite), p.CacheWrite)
	add(big.NewInt(u.Output), p.Output)
	return sum
}

// naiveMicros rounds up: a budget is never charged less than the bill.
func naiveMicros(sum *big.Int) *big.Int {
	quotient, rest := new(big.Int).DivMod(sum, naiveMillion, new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}

func naiveTokens(u Usage) *big.Int {
	return new(big.Int).Add(big.NewInt(u.Input), big.NewInt(u.Output))
}

// reservation is the most that a request can come to: all the output it may
// make, and its input as whatever is dearest.
func (n *naiveLedger) reservation(input int64, maxTokens int) naiveAmount {
	output := int64(maxTokens)
	dearest := new(big.Int)
	for _, u := range []Usage{
		{Input: input, Output: output},
		{Input: input, Output: output, CacheRead: input},
		{Input: input, Output: output, CacheWrite: input},
	} {
		if bill := naiveBill(n.price, u); bill.Cmp(dearest) > 0 {
			dearest = bill
		}
	}
	return naiveAmount{naiveTokens(Usage{Input: input, Output: output}), naiveMicros(dearest)}
}

func (n *naiveLedger) reserve(cmd Seq, a naiveAmount) {
	n.rows = append(n.rows, naiveRow{cmd: cmd, reserved: a})
}

// charged is the sum over all rows: real usage where it is known, nothing
// where nothing was done, else the reservation.
func (n *naiveLedger) charged() naiveAmount {
	sum := naiveAmount{new(big.Int), new(big.Int)}
	bill := new(big.Int) // of all that was reported, rounded once
	for _, r := range n.rows {
		switch {
		case r.usage != nil:
			sum.tokens.Add(sum.tokens, naiveTokens(*r.usage))
			bill.Add(bill, naiveBill(n.price, *r.usage))
		case !r.free:
			sum.tokens.Add(sum.tokens, r.reserved.tokens)
			sum.cost.Add(sum.cost, r.reserved.cost)
		}
	}
	sum.cost.Add(sum.cost, naiveMicros(bill))
	return sum
}

// held is what is charged for requests that ended without telling their usage.
func (n *naiveLedger) held() *big.Int {
	sum := new(big.Int)
	for _, r := range n.rows {
		if r.over && r.usage == nil && !r.free {
			sum.Add(sum, r.reserved.tokens)
		}
	}
	return sum
}

// fits reports which limit a further reservation would break.
func (n *naiveLedger) fits(l Limits, a naiveAmount) (tokenLimit, costLimit bool) {
	sum := n.charged()
	tokens := new(big.Int).Add(sum.tokens, a.tokens)
	cost := new(big.Int).Add(sum.cost, a.cost)
	return l.Tokens > 0 && tokens.Cmp(big.NewInt(l.Tokens)) > 0, l.Cost > 0 && cost.Cmp(big.NewInt(l.Cost)) > 0
}

// usedUp reports which limit leaves nothing to any further request.
func (n *naiveLedger) usedUp(l Limits) (tokenLimit, costLimit bool) {
	sum := n.charged()
	return l.Tokens > 0 && sum.tokens.Cmp(big.NewInt(l.Tokens)) >= 0, l.Cost > 0 && sum.cost.Cmp(big.NewInt(l.Cost)) >= 0
}

func (n *naiveLedger) row(cmd Seq) *naiveRow {
	for i := range n.rows {
		if n.rows[i].cmd == cmd {
			return &n.rows[i]
		}
	}
	return nil
}

// replied takes a whole reply. A late one counts by its usage alone, once.
func (n *naiveLedger) replied(cmd Seq, u *Usage, late bool) {
	r := n.row(cmd)
	if late && (r.usage != nil || u == nil) {
		return
	}
	r.over, r.reply, r.usage = true, true, u
}

// failed settles a request that brought no whole reply. A refusal by status
// and a connection that never was cost nothing, unless the provider says that
// it had begun; what broke off on the way may have cost all of it.
func (n *naiveLedger) failed(cmd Seq, f Failure) {
	r := n.row(cmd)
	r.over = true
	switch f.Kind {
	case FailConnection, FailTLS, FailStatus, FailQuota, FailContext, FailRequest:
		r.free = f.Usage == nil
	}
}

// abandon ends every request whose report will not come.
func (n *naiveLedger) abandon() {
	for i := range n.rows {
		n.rows[i].over = true
	}
}

// total is the usage that was reported, by whatever request.
func (n *naiveLedger) total() (input, output *big.Int) {
	input, output = new(big.Int), new(big.Int)
	for _, r := range n.rows {
		if r.usage != nil {
			input.Add(input, big.NewInt(r.usage.Input))
			output.Add(output, big.NewInt(r.usage.Output))
		}
	}
	return input, output
}

func (n *naiveLedger) replies() (all, reported int) {
	for _, r := range n.rows {
		if r.reply {
			all++
			if r.usage != nil {
				reported++
			}
		}
	}
	return all, reported
}
