package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// What is settled leaves the indexes that a claim is held against: a claim does
// not become slower with the number of those before it.
func TestLedgerForgetsWhatIsSettled(t *testing.T) {
	j := New()
	h := journal.Head{Run: "r", Tenant: "acme", State: journal.Running, StartedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)}
	var seq int64
	do := func(change func(*journal.Entry)) {
		seq++
		e := journal.Entry{Head: h, Records: []journal.Record{{Seq: seq, At: time.Unix(seq, 0), Kind: kernel.KindTimerFired, Payload: []byte("{}")}}}
		change(&e)
		if err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 30 {
		key := fmt.Sprint("k", n)
		c := journal.Claim{
			ID: journal.EffectID("acme", "pay", key), Call: "c", Tool: "pay", Key: key, Request: "the same", Fingerprint: "the same",
			Class: kernel.Once, Attempt: 1, At: time.Unix(seq, 0),
		}
		do(func(e *journal.Entry) { e.Claim = &c })
		for _, as := range []kernel.Disposition{kernel.InDoubt, []kernel.Disposition{kernel.Landed, kernel.DidNotHappen}[n%2]} {
			do(func(e *journal.Entry) {
				e.Settled = []journal.Settlement{{Effect: c.ID, Call: "c", Disposition: as, At: time.Unix(seq, 0)}}
			})
		}
	}
	same := j.ledger.equal[request{"acme", "pay", "the same"}]
	if len(j.ledger.rows) != 30 || len(same.open) != 0 || len(j.ledger.unknown) != 0 || same.landed.Key != "k28" {
		t.Errorf("%d rows, %d open, %d tools in doubt, %s landed last", len(j.ledger.rows), len(same.open), len(j.ledger.unknown), same.landed.Key)
	}
}
