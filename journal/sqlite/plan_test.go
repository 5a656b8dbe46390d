package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
)

// The queries of lists use the indexes: no table is sorted or read whole.
func TestListsUseIndexes(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{})
	owner := &journal.Owner{Tenant: "t", User: "u"}
	runs := func(q journal.Query) (string, []any) {
		s := selectHeads(&q)
		return s.of(headColumns), s.args
	}
	approvals := func(q journal.ApprovalQuery) (string, []any) {
		s := selectApprovals(&q)
		return s.of(approvalColumns), s.args
	}
	effects := func(q journal.EffectQuery) (string, []any) {
		s := selectEffects(&q)
		return s.of(effectColumns), s.args
	}
	type query func() (string, []any)
	of := func(text string, args ...any) query { return func() (string, []any) { return text, args } }
	r := func(q journal.Query) query { return func() (string, []any) { return runs(q) } }
	a := func(q journal.ApprovalQuery) query { return func() (string, []any) { return approvals(q) } }
	e := func(q journal.EffectQuery) query { return func() (string, []any) { return effects(q) } }
	for _, c := range []struct {
		query query
		index string
	}{
		{r(journal.Query{}), "runs_by_start"},
		{r(journal.Query{Tenant: "t"}), "runs_by_tenant"},
		{r(journal.Query{User: "u"}), "runs_by_user"},
		{r(journal.Query{Session: "s"}), "runs_by_session"},
		{r(journal.Query{Tenant: "t", User: "u"}), "runs_by_owner"},
		{r(journal.Query{State: journal.Stopped}), "runs_by_start"},
		{r(journal.Query{State: journal.Waiting}), "runs_not_over"},
		{r(journal.Query{State: journal.Running, Owner: owner}), "runs_not_over"},
		{r(journal.Query{Signalled: true}), "runs_signalled"},
		{r(journal.Query{Signalled: true, Owner: owner, State: journal.Waiting}), "runs_signalled"},
		{r(journal.Query{Signalled: true, Session: "s"}), "runs_by_session"},
		{r(journal.Query{Owner: owner}), "runs_by_owner"},
		{r(journal.Query{Owner: owner, Tenant: "t", User: "u"}), "runs_by_owner"},
		{r(journal.Query{Owner: owner, Session: "s"}), "runs_by_session"},
		{r(journal.Query{Tenant: "t", User: "u", Session: "s", Limit: 5}), "runs_by_session"},
		{a(journal.ApprovalQuery{}), "approvals_by_time"},
		{a(journal.ApprovalQuery{State: journal.ApprovalOpen}), "approvals_by_state"},
		{a(journal.ApprovalQuery{Run: "r", State: journal.ApprovalOpen}), "approvals_by_run"},
		{a(journal.ApprovalQuery{Owner: owner, State: journal.ApprovalOpen}), "approvals_by_owner"},
		{e(journal.EffectQuery{}), "effects_by_claim"},
		{e(journal.EffectQuery{Run: "r", Owner: owner}), "effects_by_run"},
		{e(journal.EffectQuery{Owner: owner, State: journal.EffectUnknown}), "effects_by_owner"},
		{of(selectUnstopped, "t", "u", "s"), "runs_of_session"},
		{of(selectEqual, "t", "send", "r"), "effects_open"},
		{of(selectOpen, "t", "send"), "effects_open"},
		{of(selectLanded, "t", "send", "r"), "effects_landed"},
	} {
		text, args := c.query()
		if plan := planOf(t, j, text, args...); !strings.Contains(plan, "USING INDEX "+c.index+" ") && !strings.Contains(plan, "USING INDEX "+c.index+"\n") ||
			strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nwant the index %s:\n%s", text, c.index, plan)
		}
	}
}

// Only runs that may be ready are looked at, and few effects that are open
// sorted, however many others there are.
func TestPollsUseIndexes(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{})
	ready := planOf(t, j, selectReady, 0, 0, 0, 10)
	for _, index := range []string{"runs_to_drive", "runs_signalled", "runs_due"} {
		if !strings.Contains(ready, "INDEX "+index) {
			t.Errorf("want the index %s:\n%s", index, ready)
		}
	}
	for text, index := range map[string]string{selectAny: "INDEX effects_open", selectClaimed: "(id=?)"} {
		if plan := planOf(t, j, text, "id", "t", "send", "r"); !strings.Contains(plan, index) || strings.Contains(plan, "SCAN") {
			t.Errorf("%s\nwant %s and no scan:\n%s", text, index, plan)
		}
	}
	unknown := selectEffects(&journal.EffectQuery{State: journal.EffectUnknown})
	if plan := planOf(t, j, unknown.of(effectColumns), unknown.args...); !strings.Contains(plan, "INDEX effects_open") {
		t.Errorf("want the index effects_open:\n%s", plan)
	}
}

func planOf(t *testing.T, j *Journal, query string, args ...any) string {
	t.Helper()
	rows, err := j.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, detail)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
