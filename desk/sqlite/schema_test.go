package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
