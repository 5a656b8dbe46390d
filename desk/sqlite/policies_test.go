package sqlite_test

import (
	"testing"

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
	if found := must(f.FindPolicies(t.Context(), f.alice, "宿"))(t); len(found) != 1 {
		t.Errorf("alice finds %v", found)
	}
	if found := must(f.FindPolicies(t.Context(), f.mallory, "宿"))(t); len(found) != 0 {
		t.Errorf("another tenant finds %v", found)
	}
}
