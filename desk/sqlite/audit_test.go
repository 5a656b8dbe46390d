package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// The audit says who looked for what and what came of it, without content.
func TestAudit(t *testing.T) {
	f := open(t)
	agent := f.bob
	agent.Through = "R1/call_1"
	_, err := f.Ticket(t.Context(), agent, "T1001")
	wantCode(t, kernel.CodeNotFound, err)
	must(f.FindPolicies(t.Context(), f.alice, "报销"))(t)
	lines := must(f.Accesses(t.Context(), "acme", 0))(t)
	want := []desk.Access{
		{Number: 1, At: f.Now(), Who: agent, Action: "ticket.read", Object: "T1001", Outcome: "NOT_FOUND"},
		{Number: 2, At: f.Now(), Who: f.alice, Action: "policy.search", Object: "P1001 P1002", Outcome: "ok"},
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %+v", lines)
	}
	if lines := must(f.Accesses(t.Context(), "other", 0))(t); len(lines) != 0 {
		t.Errorf("another tenant has %d lines", len(lines))
	}
}

// Row 108: what is asked for in place of an id may be anything, and the audit
// keeps of it what looks like an id alone.
func TestAuditHoldsNoContent(t *testing.T) {
	f := open(t)
	draft := "D" + strings.Repeat("0a", 12)
	for asked, object := range map[string]string{
		"T0000": "T0000", "AC-101": "AC-101", "HR-2026.77_b": "HR-2026.77_b", draft: draft,
		"张三 身份证110101199001011234 病假": "", "110101199001011234": "", "my bank card 6222": "", "sick-leave": "", "T1\nT2": "",
		"张三1": "", "A" + strings.Repeat("1", 40): "",
	} {
		before := len(must(f.Accesses(t.Context(), "acme", 0))(t))
		_, noTicket := f.Ticket(t.Context(), f.alice, asked)
		_, noDraft := f.Draft(t.Context(), f.alice, asked)
		_, noPolicy := f.Policy(t.Context(), f.alice, asked)
		_, noEdit := f.Edit(t.Context(), f.alice, asked, "s", "b")
		_, noConfirm := f.Confirm(t.Context(), f.alice, asked, "h")
		for _, err := range []error{noTicket, noDraft, noPolicy, noEdit, noConfirm} {
			wantCode(t, kernel.CodeNotFound, err)
		}
		lines := must(f.Accesses(t.Context(), "acme", before))(t)
		if len(lines) != 5 {
			t.Errorf("%q left %d lines", asked, len(lines))
		}
		for _, l := range lines {
			digest := strings.HasPrefix(l.Object, "sha256:") && len(l.Object) == len("sha256:")+16 && l.Object == lines[0].Object
			if l.Object != object && (object != "" || !digest) {
				t.Errorf("%s of %q says %q", l.Action, asked, l.Object)
			}
		}
	}
}

// The audit is read a page at a time, from the number of the last line on, with
// lines of another tenant between.
func TestAuditInPages(t *testing.T) {
	f := open(t)
	_, err := raw(t, f.path).ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO audit (at, tenant, user, through, action, object, outcome) SELECT i, iif(i % 3, 'acme', 'other'), 'u', '', 'ticket.read', 'T' || i, 'ok' FROM n`, 3*desk.MaxAccesses)
	if err != nil {
		t.Fatal(err)
	}
	after, sizes := 0, []int{}
	for page := -1; page != 0; sizes = append(sizes, page) {
		lines := must(f.Accesses(t.Context(), "acme", after))(t)
		for _, l := range lines {
			if l.Number <= after || l.Object != fmt.Sprint("T", l.Number) || l.Who.Tenant != "acme" {
				t.Fatalf("after line %d: %+v", after, l)
			}
			after = l.Number
		}
		page = len(lines)
	}
	if want := []int{desk.MaxAccesses, desk.MaxAccesses, 0}; !slices.Equal(sizes, want) {
		t.Errorf("pages of %v lines, want %v", sizes, want)
	}
	for _, bad := range []struct {
		tenant string
		after  int
	}{{"", 0}, {"acme", -1}} {
		_, err := f.Accesses(t.Context(), bad.tenant, bad.after)
		wantCode(t, kernel.CodeInvalidArgument, err)
		wantHint(t, err)
	}
}
