package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

// world is a journal, workers that crash between any two steps and people who
// resolve what is in doubt, and the world outside, which counts.
type world struct {
	t      *testing.T
	random *rand.Rand
	j      *memory.Journal
	now    time.Duration
	seq    map[string]int64

	done    map[string]int           // effects outside, by key
	working map[string]work          // given, and not settled, by effect
	landed  map[string]time.Duration // when a request landed last
	given   int
}

// work is a claim that a run was given.
type work struct {
	journal.Claim

	run string
}

const repeatWindow = 10 * time.Second

// append adds an entry to a run, without a lease.
func (w *world) append(run string, change func(*journal.Entry)) error {
	h := journal.Head{Run: run, Tenant: "acme", User: "alice", State: journal.Running, StartedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)}
	e := journal.Entry{Head: h, Records: []journal.Record{{Seq: w.seq[run] + 1, At: time.Unix(1, 0), Kind: kernel.KindTimerFired, Payload: []byte("{}")}}}
	change(&e)
	err := w.j.Append(w.t.Context(), e)
	if err == nil {
		w.seq[run]++
	}
	return err
}

func (w *world) at() time.Time { return time.Unix(1000, 0).Add(w.now) }

// begin has a worker claim one of few keys for one of fewer requests; when it
// is given, it does the effect, or crashes before that.
func (w *world) begin() {
	request := pick(w.random, "r1", "r2")
	key := request + pick(w.random, "", "", "-a", "-b") // a key, or those of other calls
	c := journal.Claim{
		ID: journal.EffectID("acme", "pay", key), Call: pick(w.random, "c1", "c2"), Tool: "pay", Key: key, Request: request, Fingerprint: request,
		Class: kernel.Once, Attempt: 1, At: w.at(), Window: repeatWindow, Exclusive: w.random.IntN(8) == 0,
	}
	run := pick(w.random, "one", "two")
	err := w.append(run, func(e *journal.Entry) { e.Claim = &c })
	if err != nil {
		if _, refused := errors.AsType[*journal.Refusal](err); !refused {
			w.t.Fatal(err)
		}
		return
	}
	w.given++
	w.allowed(&c)
	w.working[c.ID] = work{c, run}
	if w.random.IntN(3) > 0 {
		w.done[key]++
	}
}

// allowed holds a claim that was given to what the world knows.
func (w *world) allowed(c *journal.Claim) {
	if w.done[c.Key] > 0 {
		w.t.Fatalf("at %v: %s happened, and is given again", w.now, c.Key)
	}
	for _, other := range w.working {
		if other.Request == c.Request {
			w.t.Fatalf("at %v: %s is given while %s is open", w.now, c.Key, other.Key)
		}
	}
	if last, ever := w.landed[c.Request]; ever && w.now-last < repeatWindow {
		w.t.Fatalf("at %v: %s is given within the window of %v", w.now, c.Key, last)
	}
}

// some returns an open effect, or none.
func (w *world) some() (work, bool) {
	for _, key := range []string{"r1", "r1-a", "r1-b", "r2", "r2-a", "r2-b"} {
		if c, open := w.working[journal.EffectID("acme", "pay", key)]; open && w.random.IntN(2) == 0 {
			return c, true
		}
	}
	return work{}, false
}

// closed notes that an effect is settled for good.
func (w *world) closed(c *work) {
	delete(w.working, c.ID)
	if w.done[c.Key] > 0 {
		w.landed[c.Request] = w.now
	}
}

// report settles an effect: as it was, or in doubt.
func (w *world) report() {
	c, open := w.some()
	if !open {
		return
	}
	as := kernel.DidNotHappen
	if w.done[c.Key] > 0 {
		as = kernel.Landed
	}
	doubt := w.random.IntN(2) == 0
	if doubt {
		as = kernel.InDoubt
	}
	s := journal.Settlement{Effect: c.ID, Call: c.Call, Disposition: as, At: w.at()}
	if err := w.append(c.run, func(e *journal.Entry) { e.Settled = []journal.Settlement{s} }); err != nil {
		w.t.Fatal(err)
	}
	if !doubt {
		w.closed(&c)
	}
}

// resolve has somebody look outside and say what is there.
func (w *world) resolve(n int) {
	c, open := w.some()
	if !open {
		return
	}
	as := kernel.FoundNoEffect
	if w.done[c.Key] > 0 {
		as = kernel.FoundLanded
	}
	as = pick(w.random, as, as, kernel.FoundUnknown)
	e, err := w.j.Resolve(w.t.Context(), journal.Resolution{ID: fmt.Sprint(n), Effect: c.ID, As: as, Note: "looked", By: "carol", At: w.at()})
	switch {
	case kernel.CodeOf(err) == kernel.CodeConflict: // it is under way
	case err != nil:
		w.t.Fatal(err)
	case e.State != journal.EffectUnknown:
		w.closed(&c)
	}
}

// Invariant I6, over every order of claims, crashes, late reports and
// resolutions: one effect a key, nothing beside what is open, no repeat within
// the window.
func TestAtMostOnce(t *testing.T) {
	given := 0
	for seed := range uint64(150) {
		w := &world{
			t: t, random: rand.New(rand.NewPCG(seed, 3)), j: memory.New(), seq: map[string]int64{},
			done: map[string]int{}, working: map[string]work{}, landed: map[string]time.Duration{},
		}
		for n := range 150 {
			w.now += time.Duration(w.random.IntN(4)) * time.Second
			switch w.random.IntN(3) {
			case 0:
				w.begin()
			case 1:
				w.report()
			case 2:
				w.resolve(n)
			}
		}
		given += w.given
		for key, n := range w.done {
			if n > 1 {
				t.Fatalf("seed %d: %s happened %d times", seed, key, n)
			}
		}
	}
	if given < 1000 {
		t.Errorf("only %d claims were given: too few to tell", given)
	}
}

// A token that was handed out later wins for good: whoever holds an older lease
// appends nothing, in whatever order leases are taken, renewed, given back and
// left to end.
func TestOneDriver(t *testing.T) {
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 4))
		w := &world{t: t, random: random, j: memory.New(), seq: map[string]int64{}}
		if err := w.append("r", func(*journal.Entry) {}); err != nil {
			t.Fatal(err)
		}
		var leases []journal.Lease // handed out, oldest first
		released := map[int64]bool{}
		for range 120 {
			w.now += time.Duration(random.IntN(3)) * time.Second
			owner := pick(random, "w1", "w2", "w3")
			until := w.at().Add(4 * time.Second)
			switch random.IntN(4) {
			case 0:
				l, err := w.j.Acquire(t.Context(), "r", owner, w.at(), until)
				if err != nil && kernel.CodeOf(err) != kernel.CodeConflict {
					t.Fatal(err)
				}
				if n := len(leases); err == nil && (n == 0 || leases[n-1].Token != l.Token) {
					if n > 0 && l.Token <= leases[n-1].Token {
						t.Fatalf("seed %d: token %d after %d", seed, l.Token, leases[n-1].Token)
					}
					leases = append(leases, l)
				}
			case 1:
				if len(leases) == 0 {
					continue
				}
				n := random.IntN(len(leases))
				l := leases[n]
				l.Until = until
				err := w.append("r", func(e *journal.Entry) { e.Lease, e.Now = &l, w.at() })
				latest := n == len(leases)-1 && !released[l.Token]
				if latest != (err == nil) || err != nil && kernel.CodeOf(err) != kernel.CodeLeaseLost {
					t.Fatalf("seed %d: lease %d of %d appends: %v", seed, n+1, len(leases), err)
				}
			case 2:
				if _, err := w.j.Renew(t.Context(), owner, []string{"r"}, until); err != nil {
					t.Fatal(err)
				}
			case 3:
				if len(leases) == 0 || random.IntN(3) > 0 {
					continue
				}
				l := leases[random.IntN(len(leases))]
				if err := w.j.Release(t.Context(), "r", l); err != nil {
					t.Fatal(err)
				}
				released[l.Token] = true
			}
		}
		if records, err := w.j.Read(t.Context(), "r", 0, 0); err != nil || int64(len(records)) != w.seq["r"] {
			t.Fatalf("seed %d: %d records, %v, want %d", seed, len(records), err, w.seq["r"])
		}
	}
}
