package journal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// someEffect is an effect of one tool that may or may not have to do with a
// claim of k1, r1 by call c1 of run r.
func someEffect(random *rand.Rand, id string) journal.Effect {
	e := journal.Effect{
		ID: id, Run: pick(random, "r", "other"), Call: pick(random, "c1", "c2"), Tenant: "acme", Tool: "pay", Key: id,
		Request: pick(random, "r1", "r2"), Fingerprint: pick(random, "f1", "f1", "f2"),
		Class:     pick(random, kernel.Idempotent, kernel.Reconcilable, kernel.Once),
		State:     pick(random, journal.EffectRunning, journal.EffectLanded, journal.EffectNone, journal.EffectUnknown),
		ClaimedAt: time.Unix(int64(random.IntN(3)), 0),
	}
	if e.State != journal.EffectRunning {
		e.SettledAt = time.Unix(int64(random.IntN(60)), 0)
	}
	return e
}

// naive is the rule in the words of the design, one sentence after another,
// each asking of all effects.
func naive(c *journal.Claim, run string, own *journal.Effect, others []journal.Effect) (kernel.ClaimWhy, []string) {
	some := func(holds func(*journal.Effect) bool) (ids []string) {
		for i := range others {
			if (own == nil || others[i].ID != own.ID) && holds(&others[i]) {
				ids = append(ids, others[i].ID)
			}
		}
		return ids
	}
	if own != nil && own.Fingerprint != c.Fingerprint {
		return kernel.ClaimOther, []string{own.ID} // same key, other fingerprint: refused
	}
	if own != nil && own.State == journal.EffectLanded {
		return kernel.ClaimStored, []string{own.ID} // same key, same fingerprint: the stored result
	}
	if own != nil && own.State != journal.EffectNone {
		mine := own.Run == run && own.Call == c.Call
		if own.State == journal.EffectRunning && !mine {
			return kernel.ClaimBusy, []string{own.ID} // an exclusive claim
		}
		if own.Class != kernel.Idempotent || c.Class != kernel.Idempotent {
			return kernel.ClaimUnknown, []string{own.ID} // never again by itself
		}
		return "", nil // again with the same key
	}
	equal := func(e *journal.Effect) bool { return e.Request == c.Request }
	if ids := some(func(e *journal.Effect) bool { return equal(e) && e.State == journal.EffectUnknown }); ids != nil {
		return kernel.ClaimUnknown, ids // a new call id does not evade it
	}
	if ids := some(func(e *journal.Effect) bool {
		harmless := e.Class == kernel.Idempotent && c.Class == kernel.Idempotent && c.Window == 0
		return equal(e) && e.State == journal.EffectRunning && !harmless
	}); ids != nil {
		return kernel.ClaimBusy, ids
	}
	if ids := some(func(e *journal.Effect) bool { return c.Exclusive && e.State == journal.EffectUnknown }); ids != nil {
		return kernel.ClaimBlocked, ids // any unknown blocks
	}
	if ids := some(func(e *journal.Effect) bool {
		return equal(e) && e.State == journal.EffectLanded && c.At.Sub(e.SettledAt) < c.Window
	}); c.Window > 0 && ids != nil {
		return kernel.ClaimWindow, ids
	}
	return "", nil
}

// The rule says what the design says, in whatever order effects are given to it.
func TestRule(t *testing.T) {
	seen := map[kernel.ClaimWhy]int{}
	for seed := range uint64(6_000) {
		random := rand.New(rand.NewPCG(seed, 2))
		c := journal.Claim{
			ID: "own", Call: "c1", Tool: "pay", Key: "own", Request: "r1", Fingerprint: "f1",
			Class: pick(random, kernel.Idempotent, kernel.Reconcilable, kernel.Once), Exclusive: random.IntN(3) == 0,
			Window: time.Duration(random.IntN(3)) * 10 * time.Second, At: time.Unix(int64(random.IntN(60)), 0),
		}
		var others []journal.Effect
		for i := range random.IntN(4) {
			others = append(others, someEffect(random, fmt.Sprint("e", i)))
		}
		var own *journal.Effect
		if random.IntN(2) == 0 {
			e := someEffect(random, "own")
			own = &e
			others = append(others, e) // as an index of what is running or unknown has it
		}
		why, ids := naive(&c, "r", own, others)
		seen[why]++
		got := journal.Rule(&c, "r", own, others)
		random.Shuffle(len(others), func(i, k int) { others[i], others[k] = others[k], others[i] })
		again := journal.Rule(&c, "r", own, others)
		switch {
		case got == nil && why != "", got != nil && (got.Why != why || !slices.Contains(ids, got.Effect.ID)):
			t.Fatalf("seed %d: got %v, want %q by one of %v", seed, got, why, ids)
		case (got == nil) != (again == nil), got != nil && got.Effect.ID != again.Effect.ID:
			t.Fatalf("seed %d: in another order %v, was %v", seed, again, got)
		}
	}
	for _, why := range []kernel.ClaimWhy{
		"", kernel.ClaimStored, kernel.ClaimOther, kernel.ClaimUnknown, kernel.ClaimBusy, kernel.ClaimWindow, kernel.ClaimBlocked,
	} {
		if seen[why] < 50 {
			t.Errorf("%q came up %d times: it is not tested", why, seen[why])
		}
	}
}

// A refusal is told to people and written to logs: it holds no content.
func TestRefusalHoldsNoContent(t *testing.T) {
	r := journal.Refusal{Why: kernel.ClaimStored, Effect: journal.Effect{
		ID: "eff_1", Arguments: []byte("secret"), Result: []byte("secret"), Facts: []byte("secret"), Key: "secret", User: "secret",
	}}
	if text := r.Error(); strings.Contains(text, "secret") || !strings.Contains(text, "eff_1") || !strings.Contains(text, "stored") {
		t.Errorf("%q", text)
	}
	if text := (&journal.Refusal{Why: kernel.ClaimApproval, Approval: "app_1"}).Error(); !strings.Contains(text, "app_1") {
		t.Errorf("%q", text)
	}
}

// A resolution does not write into those of whoever else holds the effect.
func TestFindKeepsItsArgument(t *testing.T) {
	resolutions := make([]journal.Resolution, 0, 8)
	e := journal.Effect{ID: "e", State: journal.EffectUnknown, Resolutions: resolutions}
	for _, id := range []string{"1", "2"} {
		r := journal.Resolution{ID: id, Effect: "e", As: kernel.FoundUnknown, Note: "looked", At: time.Unix(1, 0)}
		if got, fresh, err := journal.Find(&e, &r); err != nil || !fresh || got.Resolutions[0].ID != id {
			t.Errorf("%s: %+v, %v, %v", id, got.Resolutions, fresh, err)
		}
	}
	if extra := resolutions[:1][0]; extra.ID != "" {
		t.Errorf("a resolution was written behind the argument's: %+v", extra)
	}
}
