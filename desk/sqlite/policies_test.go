package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

func TestPutPoliciesAllOrNone(t *testing.T) {
	f := open(t)
	a := desk.Policy{ID: "P7", Version: "1", Title: "Travel", Body: "住宿凭据", ValidFrom: f.Now()}
	b := a
	b.Body = "another text of the same version"
	_, err := f.PutPolicies(t.Context(), []string{"acme", "acme"}, []desk.Policy{a, b})
	wantCode(t, kernel.CodeConflict, err)
	if found := must(f.FindPolicies(t.Context(), f.alice, "住宿凭据"))(t); len(found) != 0 {
		t.Fatalf("a refused import left %v", found)
	}
	for i, want := range []bool{true, false} { // again with equal content: nothing to do
		if got := must(f.PutPolicies(t.Context(), []string{"acme"}, []desk.Policy{a}))(t); got[0] != want {
			t.Errorf("import %d changed: %v", i, got)
		}
	}
	for _, tenants := range [][]string{nil, {"acme"}, {"acme", "acme", "acme"}} {
		_, err := f.PutPolicies(t.Context(), tenants, []desk.Policy{a, a})
		wantCode(t, kernel.CodeInvalidArgument, err)
		wantHint(t, err)
	}
	if found := must(f.FindPolicies(t.Context(), f.alice, "宿"))(t); len(found) != 1 {
		t.Errorf("alice finds %v", found)
	}
	if found := must(f.FindPolicies(t.Context(), f.mallory, "宿"))(t); len(found) != 0 {
		t.Errorf("another tenant finds %v", found)
	}
}

// Row 103: what only some could see does not become everybody's by a version that
// says nothing of viewers.
func TestViewersAreNotDropped(t *testing.T) {
	f := open(t)
	at := func(days int) time.Time { return f.Now().AddDate(0, 0, days) }
	some, everybody := []string{"alice"}, desk.Policy{Everybody: true}
	for i, c := range []struct {
		version string
		from    int
		seen    desk.Policy
		want    kernel.Code
	}{
		{"2", -20, desk.Policy{Viewers: some}, ""},
		{"3", -10, desk.Policy{}, kernel.CodeConflict},
		{"1", -30, desk.Policy{}, kernel.CodeConflict}, // before the first one
		{"3", -10, everybody, ""},
		{"4", -5, desk.Policy{}, ""},
		{"5", -15, desk.Policy{}, kernel.CodeConflict}, // between them it is the first one that counts
		{"6", -5, desk.Policy{Viewers: some}, ""},
		{"7", -5, desk.Policy{}, kernel.CodeConflict}, // of one day the last one
		{"4", -5, desk.Policy{}, ""},                  // which is there already
	} {
		p := desk.Policy{ID: "P7", Version: c.version, Title: "T", Body: "text", ValidFrom: at(c.from), Viewers: c.seen.Viewers, Everybody: c.seen.Everybody}
		if _, err := f.PutPolicy(t.Context(), "acme", p); kernel.CodeOf(err) != c.want {
			t.Errorf("import %d: %v, want %q", i, err, c.want)
		}
	}
	// Another tenant has a policy of its own by that id.
	must(f.PutPolicy(t.Context(), "other", desk.Policy{ID: "P7", Version: "1", Title: "T", Body: "text", ValidFrom: f.Now()}))(t)
	_, err := f.PutPolicy(t.Context(), "acme", desk.Policy{ID: "P8", Version: "1", Title: "T", Body: "text", Viewers: some, Everybody: true})
	wantCode(t, kernel.CodeInvalidArgument, err)
}

// Row 103: a version without a day was always in force, and one of a day that no
// number of nanoseconds holds is refused and not in force.
func TestVersionsOutOfTime(t *testing.T) {
	f := open(t)
	p := desk.Policy{ID: "V1", Version: "1", Title: "x", Body: "螃蟹"}
	must(f.PutPolicy(t.Context(), "acme", p))(t)
	if got := must(f.Policy(t.Context(), f.bob, "V1"))(t); !got.ValidFrom.Equal(time.Unix(0, 0)) {
		t.Errorf("it is valid from %s", got.ValidFrom)
	}
	p.Version, p.ValidFrom = "2", time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := f.PutPolicy(t.Context(), "acme", p)
	wantCode(t, kernel.CodeInvalidArgument, err)
	if got := must(f.Policy(t.Context(), f.bob, "V1"))(t); got.Version != "1" {
		t.Errorf("version %s is in force", got.Version)
	}
}

// Report A45: an import keeps nobody from the desk for long: it has bounds, and its words
// go into the index at once, in one piece.
func TestImportsAreBounded(t *testing.T) {
	f := open(t)
	p := desk.Policy{ID: "P7", Version: "1", Title: "T", Body: "text"}
	long := p
	long.Body = strings.Repeat("报", desk.MaxPolicyBody)
	for name, policies := range map[string][]desk.Policy{"too many": slices.Repeat([]desk.Policy{p}, desk.MaxImport+1), "too long": {long, long, long}} {
		_, err := f.PutPolicies(t.Context(), slices.Repeat([]string{"acme"}, len(policies)), policies)
		wantCode(t, kernel.CodeInvalidArgument, err)
		if err != nil && !strings.Contains(err.Error(), "10000 policies, and 8 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
	segments := func() (n int) {
		if err := raw(t, f.path).QueryRowContext(t.Context(), `SELECT count(DISTINCT segid) FROM words_idx`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := segments()
	var policies []desk.Policy
	for i := range 40 {
		p.ID, p.Body = fmt.Sprint("Q", i), fmt.Sprint("螃蟹 ", i)
		policies = append(policies, p)
	}
	must(f.PutPolicies(t.Context(), slices.Repeat([]string{"acme"}, len(policies)), policies))(t)
	if after := segments(); after != before+1 {
		t.Errorf("the index was written in %d pieces", after-before)
	}
	if found := must(f.FindPolicies(t.Context(), f.bob, "螃蟹 27"))(t); len(found) == 0 || found[0].ID != "Q27" {
		t.Errorf("bob finds %v", found)
	}
}
