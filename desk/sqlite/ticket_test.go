package sqlite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Case 34, rows 43 and 44: a ticket is there for its owner alone, and for
// anybody else it is as if it were not.
func TestTicketsAreTheirOwners(t *testing.T) {
	f := open(t)
	own := must(f.Ticket(t.Context(), f.alice, "T1001"))(t)
	if own.Status != desk.NeedsInformation {
		t.Errorf("status %s", own.Status)
	}
	_, none := f.Ticket(t.Context(), f.bob, "T0000")
	for _, who := range []desk.Identity{f.bob, f.mallory} {
		_, err := f.Ticket(t.Context(), who, "T1001")
		wantCode(t, kernel.CodeNotFound, err)
		if err.Error() != none.Error() {
			t.Errorf("somebody else's ticket reads %q, and none reads %q", err, none)
		}
	}
	for _, id := range []string{"", " ", strings.Repeat("T", desk.MaxTicketID+1), "T\x00", "\xff"} {
		_, err := f.Ticket(t.Context(), f.alice, id)
		wantCode(t, kernel.CodeInvalidArgument, err)
	}
	all := must(f.Tickets(t.Context(), f.alice))(t)
	if len(all) != 1 || all[0].ID != "T1001" || all[0].Body != "" {
		t.Errorf("alice's tickets: %+v", all)
	}
}

// Row 43: whoever is nobody, or of no tenant, is refused before anything is
// looked up.
func TestNobodySeesNothing(t *testing.T) {
	f := open(t)
	for _, who := range []desk.Identity{{}, {Tenant: "acme"}, {User: "alice"}, {Tenant: " acme", User: "alice"}} {
		calls := map[string]func() error{
			"Ticket":       func() error { _, err := f.Ticket(t.Context(), who, "T1001"); return err },
			"Tickets":      func() error { _, err := f.Tickets(t.Context(), who); return err },
			"FindPolicies": func() error { _, err := f.FindPolicies(t.Context(), who, "报销"); return err },
			"Policies":     func() error { _, err := f.Policies(t.Context(), who); return err },
			"Drafts":       func() error { _, err := f.Drafts(t.Context(), who); return err },
			"Prepare":      func() error { _, err := f.Prepare(t.Context(), who, "s", "a", "b"); return err },
			"Confirm":      func() error { _, err := f.Confirm(t.Context(), who, "D1", "h"); return err },
		}
		for name, call := range calls {
			if err := call(); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
				t.Errorf("%s for %+v: %v", name, who, err)
			}
		}
	}
	if lines := must(f.Accesses(t.Context(), "acme", 0))(t); len(lines) != 0 {
		t.Errorf("nobody left %d lines", len(lines))
	}
}

// Case 34: what each person finds, and that wildcards are letters.
func TestFindPolicies(t *testing.T) {
	f := open(t)
	for _, tt := range []struct {
		who   desk.Identity
		query string
		want  []string
	}{
		{f.alice, "报销", []string{"P1001", "P1002"}},
		{f.bob, "报销", []string{"P1001"}},
		{f.mallory, "报销", []string{"P9001"}},
		{f.alice, "P1001", []string{"P1001"}}, // ids are found too
		{f.bob, "P1002", nil},
		{f.alice, "%", nil}, {f.alice, "_", nil}, {f.alice, `\`, nil}, {f.alice, "' OR 1=1 --", nil},
	} {
		var ids []string
		for _, p := range must(f.FindPolicies(t.Context(), tt.who, tt.query))(t) {
			ids = append(ids, p.ID)
		}
		if !slices.Equal(ids, tt.want) {
			t.Errorf("%s finds %v for %q, want %v", tt.who.User, ids, tt.query, tt.want)
		}
	}
	_, err := f.FindPolicies(t.Context(), f.alice, strings.Repeat("报", desk.MaxQuery+1))
	wantCode(t, kernel.CodeInvalidArgument, err)
	if n := len(must(f.FindPolicies(t.Context(), f.alice, strings.Repeat("报", desk.MaxQuery)))(t)); n != 0 {
		t.Errorf("found %d", n)
	}
}
