package journaltest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func testClaim(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	c := claimOf("c1", "pay", "order 1", `{"eur": 5}`)
	c.At = after(time.Second)
	if err := d.claim(c); err != nil {
		t.Fatal(err)
	}
	want := journal.Effect{
		ID: c.ID, Run: "r", Call: "c1", Session: d.head.Session, Tenant: "acme", User: "alice",
		Tool: "pay", Key: "order 1", Fingerprint: c.Fingerprint, Request: c.Request, Arguments: []byte(`{"eur": 5}`),
		Class: kernel.Once, State: journal.EffectRunning, Attempts: 1, ClaimedAt: after(time.Second),
	}
	if diff := cmp.Diff(want, mustEffect(t, j, c.ID)); diff != "" {
		t.Errorf("a claimed effect (-want +got):\n%s", diff)
	}
	_, err := j.Effect(t.Context(), "eff_nothing")
	wantCode(t, err, kernel.CodeNotFound)
}

func testClaimInvalid(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for name, spoil := range map[string]func(*journal.Claim){
		"no key":              func(c *journal.Claim) { c.Key, c.ID = "", journal.EffectID("acme", "pay", "") }, // row 70, case 32
		"an id of its own":    func(c *journal.Claim) { c.ID = "eff_mine" },
		"another tenant's id": func(c *journal.Claim) { c.ID = journal.EffectID("globex", "pay", "k") },
		"no call":             func(c *journal.Claim) { c.Call = "" },
		"no tool":             func(c *journal.Claim) { c.Tool, c.ID = "", journal.EffectID("acme", "", "k") },
		"no fingerprint":      func(c *journal.Claim) { c.Fingerprint = "" },
		"no request":          func(c *journal.Claim) { c.Request = "" },
		"no class":            func(c *journal.Claim) { c.Class = "" },
		"a read":              func(c *journal.Claim) { c.Class = kernel.Read },
		"no attempt":          func(c *journal.Claim) { c.Attempt = 0 },
		"no instant":          func(c *journal.Claim) { c.At = time.Time{} },
		"a negative window":   func(c *journal.Claim) { c.Window = -1 },
	} {
		t.Run(name, func(*testing.T) {
			c := claimOf("c", "pay", "k", "{}")
			spoil(&c)
			_ = d.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Claim = &c })
		})
	}
}

// ledgerCase brings an effect under the key k into a state and claims again.
type ledgerCase struct {
	name  string
	class kernel.EffectClass // of the first claim
	state journal.EffectState
	again func(*journal.Claim)
	why   kernel.ClaimWhy // empty: it is given
}

func sameKeyCases() []ledgerCase {
	as := func(class kernel.EffectClass) func(*journal.Claim) {
		return func(c *journal.Claim) { c.Class = class }
	}
	other := func(change func(*journal.Claim)) func(*journal.Claim) {
		return func(c *journal.Claim) { c.Call = "c2"; change(c) }
	}
	forged := func(c *journal.Claim) { c.Fingerprint += "!" }
	const running, landed, none, unknown = journal.EffectRunning, journal.EffectLanded, journal.EffectNone, journal.EffectUnknown
	const once, keyed, asked = kernel.Once, kernel.Idempotent, kernel.Reconcilable
	return []ledgerCase{
		{"landed, the same call", once, landed, as(once), kernel.ClaimStored},
		{"landed, another call", once, landed, other(as(once)), kernel.ClaimStored},
		{"idempotent landed", keyed, landed, other(as(keyed)), kernel.ClaimStored},
		{"no effect, the same call", once, none, as(once), ""},
		{"no effect, another call", once, none, other(as(once)), ""},
		{"no effect, another class", once, none, other(as(keyed)), ""},
		{"no effect, other fingerprint", once, none, other(forged), kernel.ClaimOther},
		{"landed, other fingerprint", once, landed, other(forged), kernel.ClaimOther},
		{"unknown, other fingerprint", keyed, unknown, func(c *journal.Claim) { as(keyed)(c); forged(c) }, kernel.ClaimOther},
		{"running, other fingerprint", keyed, running, func(c *journal.Claim) { as(keyed)(c); forged(c) }, kernel.ClaimOther},
		{"once unknown", once, unknown, as(once), kernel.ClaimUnknown},
		{"once unknown, another call", once, unknown, other(as(once)), kernel.ClaimUnknown}, // report A14
		{"once running, cut short", once, running, as(once), kernel.ClaimUnknown},           // report A14 (a), (b)
		{"once running, another call", once, running, other(as(once)), kernel.ClaimBusy},
		{"reconcilable unknown", asked, unknown, as(asked), kernel.ClaimUnknown},
		{"reconcilable running, cut short", asked, running, as(asked), kernel.ClaimUnknown},
		{"idempotent unknown", keyed, unknown, as(keyed), ""}, // the same key again
		{"idempotent unknown, another call", keyed, unknown, other(as(keyed)), ""},
		{"idempotent running, cut short", keyed, running, as(keyed), ""},
		{"idempotent running, another call", keyed, running, other(as(keyed)), kernel.ClaimBusy},
		{"once unknown, relabelled", once, unknown, as(keyed), kernel.ClaimUnknown}, // the class as recorded
		{"idempotent unknown, relabelled", keyed, unknown, as(once), kernel.ClaimUnknown},
	}
}

// Row 70 and case 32: what a key that is known means.
func testSameKey(t *testing.T, j journal.Journal) {
	for i, c := range sameKeyCases() {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, j, fmt.Sprint("run ", i))
			first := claimOf("c1", fmt.Sprint("tool ", i), "k", `{"n":1}`)
			first.Class = c.class
			d.reach(first, c.state)
			before := mustEffect(t, j, first.ID)

			again := first
			again.At = after(time.Hour)
			c.again(&again)
			if c.why != "" {
				err := d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim = &again })
				r := wantRefusal(t, err, c.why, first.ID)
				if diff := cmp.Diff(before, r.Effect); diff != "" {
					t.Errorf("the effect that stands against it (-stored +told):\n%s", diff)
				}
				return
			}
			if err := d.claim(again); err != nil {
				t.Fatal(err)
			}
			want := before
			want.Call, want.Class, want.State = again.Call, again.Class, journal.EffectRunning
			want.Attempts, want.ClaimedAt, want.SettledAt = 2, after(time.Hour), time.Time{}
			switch before.State {
			case journal.EffectUnknown:
				want.SettledAt = before.SettledAt // it is still in doubt what became of the claim before
			case journal.EffectRunning:
				want.SettledAt = before.ClaimedAt
			}
			if diff := cmp.Diff(want, mustEffect(t, j, first.ID)); diff != "" {
				t.Errorf("claimed again (-want +got):\n%s", diff)
			}
		})
	}
}

// reach claims and settles an effect, so that it is in a state.
func (d *driver) reach(c journal.Claim, state journal.EffectState) {
	d.t.Helper()
	if err := d.claim(c); err != nil {
		d.t.Fatalf("claim of %s: %v", c.Call, err)
	}
	switch state {
	case journal.EffectLanded:
		d.settle(c, kernel.Landed, time.Minute)
	case journal.EffectNone:
		d.settle(c, kernel.DidNotHappen, time.Minute)
	case journal.EffectUnknown:
		d.settle(c, kernel.InDoubt, time.Minute)
	case journal.EffectRunning:
	}
}

// Another run takes the key over, and the effect with it.
func testSameKeyAcrossRuns(t *testing.T, j journal.Journal) {
	one, two := start(t, j, "one"), start(t, j, "two")
	free := claimOf("c1", "pay", "free", "{}")
	one.reach(free, journal.EffectNone)
	again := free
	again.Call = "c9"
	if err := two.claim(again); err != nil {
		t.Fatal(err)
	}
	e := mustEffect(t, j, free.ID)
	if e.Run != "two" || e.Session != two.head.Session || e.Call != "c9" {
		t.Errorf("claimed again by two, the effect is of run %q, session %q, call %q", e.Run, e.Session, e.Call)
	}
	wantRefusal(t, one.claim(free), kernel.ClaimBusy, free.ID)
	same := again
	same.Call = free.Call // the same call id in another run is another call
	wantRefusal(t, one.claim(same), kernel.ClaimBusy, free.ID)
	two.settle(again, kernel.Landed, time.Hour)
	r := wantRefusal(t, one.claim(free), kernel.ClaimStored, free.ID)
	if !bytes.Equal(r.Effect.Result, []byte("result of c9")) || !bytes.Equal(r.Effect.Facts, []byte(`{"status":"ok"}`)) {
		t.Errorf("stored is %q with %q", r.Effect.Result, r.Effect.Facts)
	}
}

func equalCases() []ledgerCase {
	hour := func(at time.Duration) func(*journal.Claim) { // its window, and when it is claimed
		return func(c *journal.Claim) { c.Window, c.At = time.Hour, after(at) }
	}
	exclusive := func(c *journal.Claim) { c.Exclusive = true }
	asIs := func(*journal.Claim) {}
	const running, landed, none, unknown = journal.EffectRunning, journal.EffectLanded, journal.EffectNone, journal.EffectUnknown
	const once = kernel.Once
	return []ledgerCase{
		{"unknown", once, unknown, asIs, kernel.ClaimUnknown},
		{"idempotent unknown", kernel.Idempotent, unknown, asIs, kernel.ClaimUnknown},
		{"running", once, running, asIs, kernel.ClaimBusy},
		{"no effect", once, none, hour(time.Minute), ""},
		{"no effect, exclusive", once, none, exclusive, ""},
		{"landed, without a window", once, landed, asIs, ""},
		{"landed, within the window", once, landed, hour(2 * time.Minute), kernel.ClaimWindow},
		{"landed, at its last instant", once, landed, hour(time.Hour + time.Minute - 1), kernel.ClaimWindow},
		{"landed, after the window", once, landed, hour(time.Hour + time.Minute), ""},
		{"landed, by a clock behind", once, landed, hour(-time.Hour), kernel.ClaimWindow},
		{"landed, exclusive", once, landed, exclusive, ""},
	}
}

// Report A14, and the model that is told "pending" and asks again: an equal
// request under another key, in another run, does not slip past.
func testEqualRequest(t *testing.T, j journal.Journal) {
	for i, c := range equalCases() {
		t.Run(c.name, func(t *testing.T) {
			tool := fmt.Sprint("tool ", i)
			first := claimOf("c1", tool, "k1", `{"n":1}`)
			first.Class = c.class
			start(t, j, fmt.Sprint("first ", i)).reach(first, c.state)
			d := start(t, j, fmt.Sprint("second ", i))
			again := claimOf("c1", tool, "k2", `{"n":1}`)
			c.again(&again)
			different := claimOf("c2", tool, "k3", `{"n":2}`)
			different.Window = again.Window
			if err := d.claim(different); err != nil {
				t.Errorf("another request: %v", err)
			}
			d.settle(different, kernel.DidNotHappen, 0)
			if c.why == "" {
				if err := d.claim(again); err != nil {
					t.Error(err)
				}
				return
			}
			err := d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim = &again })
			wantRefusal(t, err, c.why, first.ID)
		})
	}
}

// A key that is free again is no way past an equal request.
func testFreeKeyIsNoWayPast(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	one, two := claimOf("c1", "pay", "k1", "{}"), claimOf("c2", "pay", "k2", "{}")
	one.Window, two.Window = time.Hour, time.Hour
	d.reach(one, journal.EffectNone)
	d.reach(two, journal.EffectRunning)
	wantRefusal(t, d.claim(one), kernel.ClaimBusy, two.ID)
	d.settle(two, kernel.InDoubt, 0)
	wantRefusal(t, d.claim(one), kernel.ClaimUnknown, two.ID)
	d.settle(two, kernel.Landed, 0)
	wantRefusal(t, d.claim(one), kernel.ClaimWindow, two.ID)
}

// The window runs from the latest of the equal requests.
func testWindowOfTheLatest(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	claims := make([]journal.Claim, 3)
	for i := range claims {
		claims[i] = claimOf(fmt.Sprint("c", i), "pay", fmt.Sprint("k", i), "{}")
		if err := d.claim(claims[i]); err != nil {
			t.Fatal(err)
		}
		d.settle(claims[i], kernel.Landed, []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour}[i])
	}
	c := claimOf("c", "pay", "k", "{}")
	c.Window, c.At = time.Hour, after(4*time.Hour-1)
	wantRefusal(t, d.claim(c), kernel.ClaimWindow, claims[1].ID)
	c.At = after(4 * time.Hour)
	if err := d.claim(c); err != nil {
		t.Error(err)
	}
}

func testExclusive(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	exclusive := func(call, tool, arguments string) journal.Claim {
		c := claimOf(call, tool, call, arguments)
		c.Exclusive = true
		return c
	}
	doubtful := claimOf("c1", "pay", "k1", `{"n":1}`)
	d.reach(doubtful, journal.EffectRunning)
	if err := d.claim(exclusive("c2", "pay", `{"n":2}`)); err != nil {
		t.Errorf("what is under way blocks another request: %v", err)
	}
	d.settle(exclusive("c2", "pay", ""), kernel.Landed, 0)
	d.settle(doubtful, kernel.InDoubt, 0)
	wantRefusal(t, d.claim(exclusive("c3", "pay", `{"n":3}`)), kernel.ClaimBlocked, doubtful.ID)
	wantRefusal(t, d.claim(exclusive("c4", "pay", `{"n":1}`)), kernel.ClaimUnknown, doubtful.ID) // equal is graver
	if err := d.claim(exclusive("c5", "mail", `{"n":3}`)); err != nil {
		t.Errorf("another tool: %v", err)
	}
	if err := d.claim(claimOf("c6", "pay", "k6", `{"n":6}`)); err != nil {
		t.Errorf("a claim that is not exclusive: %v", err)
	}
	if _, err := j.Resolve(t.Context(), resolution("x", doubtful.ID, kernel.FoundUnknown)); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, d.claim(exclusive("c7", "pay", `{"n":7}`)), kernel.ClaimBlocked, doubtful.ID)
	if _, err := j.Resolve(t.Context(), resolution("y", doubtful.ID, kernel.FoundNoEffect)); err != nil {
		t.Fatal(err)
	}
	if err := d.claim(exclusive("c7", "pay", `{"n":7}`)); err != nil {
		t.Errorf("after the resolution: %v", err)
	}
}

// Two effects of one tool in doubt do not keep each other from being run again
// under their keys.
func testExclusiveIdempotent(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	var claims []journal.Claim
	for i := range 2 {
		c := claimOf(fmt.Sprint("c", i), "put", fmt.Sprint("k", i), fmt.Sprint(i))
		c.Class, c.Exclusive = kernel.Idempotent, true
		claims = append(claims, c)
	}
	for _, c := range claims {
		d.reach(c, journal.EffectRunning)
	}
	for _, c := range claims {
		d.settle(c, kernel.InDoubt, 0)
	}
	for _, c := range claims {
		c.Attempt = 2
		if err := d.claim(c); err != nil {
			t.Error(err)
		}
	}
}

// Invariant I15: what another tenant does stands against nothing here, and is
// not given away; another user of the tenant does not get past a doubt.
func testClaimsOfOthers(t *testing.T, j journal.Journal) {
	for i, state := range []journal.EffectState{journal.EffectRunning, journal.EffectLanded, journal.EffectNone, journal.EffectUnknown} {
		t.Run(string(state), func(t *testing.T) {
			tool := fmt.Sprint("tool ", i)
			theirs := headOf(fmt.Sprint("theirs ", i))
			theirs.Tenant = "globex"
			startAs(t, j, theirs).reach(claimBy("globex", "alice", "c", tool, "k", "{}"), state)
			d := start(t, j, fmt.Sprint("ours ", i))
			c := claimOf("c", tool, "k", "{}")
			c.Window, c.Exclusive = time.Hour, true
			if err := d.claim(c); err != nil {
				t.Fatalf("another tenant's effect stands against ours: %v", err)
			}
			d.settle(c, kernel.InDoubt, time.Minute)

			head := headOf(fmt.Sprint("bob's ", i))
			head.User = "bob"
			bob := startAs(t, j, head)
			wantRefusal(t, bob.claim(claimBy("acme", "bob", "c", tool, "k", "{}")), kernel.ClaimOther, c.ID)
			wantRefusal(t, bob.claim(claimBy("acme", "bob", "c", tool, "bob's", "{}")), kernel.ClaimUnknown, c.ID)
		})
	}
}

// Of many who want one effect at once, under one key or under many, one gets it.
func testClaimRace(t *testing.T, j journal.Journal) {
	const runs = 8
	drivers := make([]*driver, runs)
	for n := range drivers {
		drivers[n] = start(t, j, fmt.Sprint("run ", n))
	}
	for _, sameKey := range []bool{true, false} {
		for round := range 5 {
			errs := make([]error, runs)
			var wg sync.WaitGroup
			for n, d := range drivers {
				key := "k"
				if !sameKey {
					key = fmt.Sprint("k", n)
				}
				c := claimOf("c", fmt.Sprint("tool ", sameKey, round), key, "{}")
				wg.Go(func() { errs[n] = d.claim(c) })
			}
			wg.Wait()
			given := 0
			for _, err := range errs {
				if err == nil {
					given++
				} else {
					wantCode(t, err, kernel.CodeEffectRefused)
				}
			}
			if given != 1 {
				t.Fatalf("%d of %d got the claim", given, runs)
			}
		}
	}
}
