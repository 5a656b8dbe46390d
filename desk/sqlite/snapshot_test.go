package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// What a person confirms does not wait until searches of others have ranked
// what they find: here one stands still in its transaction.
func TestConfirmWhileSearching(t *testing.T) {
	f := open(t)
	inside, goOn := make(chan struct{}), make(chan struct{})
	stands := make(chan bool, 1)
	db := must(sqlite.Open(t.Context(), f.path, sqlite.Options{Now: func() time.Time {
		select {
		case <-stands:
			close(inside)
			<-goOn
		default:
		}
		return f.Now()
	}}))(t)
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stands <- true
	searched := make(chan error, 1)
	go func() {
		found, err := db.FindPolicies(ctx, f.bob, "报销")
		if err == nil && len(found) != 1 {
			t.Errorf("found %v", found)
		}
		searched <- err
	}()
	<-inside
	draft, err := db.Prepare(ctx, f.alice, "s", "subject", "body")
	if err == nil {
		_, err = db.Confirm(ctx, f.alice, draft.ID, draft.Hash)
	}
	close(goOn)
	if err != nil {
		t.Errorf("a confirmation beside a search: %v", err)
	}
	if err := <-searched; err != nil {
		t.Error(err)
	}
}

// What leaves no line takes no lock: another program may write meanwhile.
func TestReadingTakesNoLock(t *testing.T) {
	f := open(t).with(t, hashed.Embedder{})
	must(f.EmbedPolicies(t.Context()))(t)
	other := must(raw(t, f.path).Conn(t.Context()))(t)
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	for _, leg := range desk.Legs() {
		if got := f.ranks(t, f.bob, leg, "P1001", 1); len(got) != 1 {
			t.Errorf("%s finds %v", leg, got)
		}
	}
	must(f.Accesses(t.Context(), "acme", 0))(t)
	if _, err := other.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
}

// Row 108: nothing is shown where the line of the audit cannot be written.
func TestNothingIsSeenWithoutItsLine(t *testing.T) {
	f := open(t)
	draft := must(f.Prepare(t.Context(), f.alice, "s", "subject", "body"))(t)
	_, err := raw(t, f.path).ExecContext(t.Context(), `CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT raise(FAIL, 'no room'); END`)
	if err != nil {
		t.Fatal(err)
	}
	for name, see := range map[string]func() (shown bool, err error){
		"Ticket":       func() (bool, error) { v, err := f.Ticket(t.Context(), f.alice, "T1001"); return v.ID != "", err },
		"Tickets":      func() (bool, error) { v, err := f.Tickets(t.Context(), f.alice); return len(v) > 0, err },
		"Draft":        func() (bool, error) { v, err := f.Draft(t.Context(), f.alice, draft.ID); return v.ID != "", err },
		"Drafts":       func() (bool, error) { v, err := f.Drafts(t.Context(), f.alice); return len(v) > 0, err },
		"Policy":       func() (bool, error) { v, err := f.Policy(t.Context(), f.alice, "P1001"); return v.ID != "", err },
		"Policies":     func() (bool, error) { v, err := f.Policies(t.Context(), f.alice); return len(v) > 0, err },
		"FindPolicies": func() (bool, error) { v, err := f.FindPolicies(t.Context(), f.alice, "报销"); return len(v) > 0, err },
	} {
		if shown, err := see(); shown || kernel.CodeOf(err) != kernel.CodeLocalStorage {
			t.Errorf("%s shows something: %v, and says %v", name, shown, err)
		}
	}
}
