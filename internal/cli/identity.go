package cli

import (
	"context"

	"github.com/holdfast-run/holdfast/journal"
)

// identity is on whose behalf a command looks or acts, as --user and --tenant
// say. A name that was not given excludes nobody: without both a command has
// the view of whoever operates the journal.
type identity struct{ user, tenant string }

// sees reports whether what belongs to o is there for the identity. What it
// does not see reads like what is not there (row 43).
func (w identity) sees(o journal.Owner) bool {
	return (w.user == "" || w.user == o.User) && (w.tenant == "" || w.tenant == o.Tenant)
}

// reaches reports the same for what the identity acts on: what was started
// without a name is nobody's, and whoever acts on it may give theirs.
func (w identity) reaches(o journal.Owner) bool {
	return (w.user == "" || o.User == "" || w.user == o.User) && (w.tenant == "" || w.tenant == o.Tenant)
}

// orOperator is a name for the record where none was given.
func (w identity) orOperator() string {
	if w.user == "" {
		return "operator"
	}
	return w.user
}

// findRun returns the head of a run that is there for whoever looks or acts.
func findRun(ctx context.Context, j journal.RunReader, run string, there func(journal.Owner) bool) (journal.Head, error) {
	h, err := j.Head(ctx, run)
	if err == nil && !there(h.Owner()) {
		err = journal.NotFound(run)
	}
	return h, listedBy(err, run, ofRun)
}
