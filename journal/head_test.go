package journal_test

import (
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// A run can be taken up when it has something to do and nobody does it.
func TestReady(t *testing.T) {
	now := time.Unix(100, 0)
	for _, state := range []journal.State{journal.Running, journal.Waiting, journal.Stopped} {
		for pending := range 2 {
			for name, due := range map[string]time.Time{"never": {}, "due": now, "later": now.Add(1)} {
				for owner, until := range map[string]time.Time{"": now.Add(1), "held": now.Add(1), "ended": now} {
					h := journal.Head{State: state, Pending: pending, Due: due, Lease: journal.Lease{Owner: owner, Token: 1, Until: until}}
					todo := state == journal.Running || pending > 0 || name == "due"
					if want := todo && state != journal.Stopped && owner != "held"; h.Ready(now) != want {
						t.Errorf("%s, %d signals, %s, lease %q: %v", state, pending, name, owner, !want)
					}
				}
			}
		}
	}
}
