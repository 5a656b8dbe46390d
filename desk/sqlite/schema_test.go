package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// A file of the first schema is brought up to date with its policies searchable,
// in their versions and with their viewers.
func TestOpenOlderFile(t *testing.T) {
	f := open(t)
	path := filepath.Join(t.TempDir(), "old.db")
	old := must(sql.Open("sqlite", path))(t)
	_, err := old.ExecContext(t.Context(), string(must(os.ReadFile("testdata/schema1.sql"))(t)))
	if err == nil {
		err = old.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db := must(sqlite.Open(t.Context(), path, sqlite.Options{Now: f.Now}))(t)
	defer db.Close()
	was := f.DB
	f.DB = db
	defer func() { f.DB = was }()
	for who, want := range map[string][]string{"alice": {"P1001", "P1002"}, "bob": {"P1001"}} {
		person := f.bob
		if who == "alice" {
			person = f.alice
		}
		got := f.finds(t, person, "住宿凭据")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", who, got, want)
		}
	}
	found := must(db.FindPolicies(t.Context(), f.bob, "新版 旧版 以后"))(t)
	if len(found) != 1 || found[0].Version != "2" {
		t.Errorf("found %v, want version 2, which is in force", found)
	}
}

// A desk that an application makes holds nothing but what the application puts
// there: fixtures are added by whoever wants them, once, beside what there is.
func TestCreateAddsNothing(t *testing.T) {
	f := open(t) // for its clock and people
	db := create(t, filepath.Join(t.TempDir(), "own.db"), f.clock)
	for _, who := range desk.Fixtures() {
		tickets, policies := must(db.Tickets(t.Context(), who))(t), must(db.Policies(t.Context(), who))(t)
		if len(tickets)+len(policies) != 0 {
			t.Errorf("%v of a new desk has %v and %v", who, tickets, policies)
		}
	}
	if err := db.AddTicket(t.Context(), f.alice, desk.Ticket{ID: "T1001", Subject: "own", Body: "own", Status: desk.Pending}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.AddFixtures(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if own := must(db.Ticket(t.Context(), f.alice, "T1001"))(t); own.Subject != "own" {
		t.Errorf("the fixtures replaced %v", own)
	}
	for _, c := range []struct {
		who               desk.Identity
		tickets, policies int
	}{{f.alice, 1, 2}, {f.bob, 1, 1}, {f.mallory, 1, 1}} {
		tickets, policies := must(db.Tickets(t.Context(), c.who))(t), must(db.Policies(t.Context(), c.who))(t)
		if len(tickets) != c.tickets || len(policies) != c.policies {
			t.Errorf("%v has %v and %v", c.who, tickets, policies)
		}
	}
}
