package journaltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func testHeadsState(t *testing.T, j journal.Journal) {
	for i, s := range []journal.State{journal.Running, journal.Waiting, journal.Stopped, journal.Waiting} {
		d := start(t, j, fmt.Sprint("run ", i))
		d.must(func(e *journal.Entry) { e.Head.State = s })
	}
	for _, c := range []struct {
		query journal.Query
		want  []string
	}{
		{journal.Query{State: journal.Running}, []string{"run 0"}},
		{journal.Query{State: journal.Waiting}, []string{"run 3", "run 1"}},
		{journal.Query{State: journal.Waiting, Limit: 1}, []string{"run 3"}},
		{journal.Query{State: journal.Waiting, Session: "session-run 1"}, []string{"run 1"}},
		{journal.Query{State: journal.Waiting, Owner: &journal.Owner{Tenant: "acme", User: "alice"}, Session: "session-run 1"}, []string{"run 1"}},
		{journal.Query{State: journal.Stopped, Owner: &journal.Owner{Tenant: "acme", User: "alice"}, Session: "session-run 1"}, nil},
		{journal.Query{State: journal.Waiting, Owner: &journal.Owner{Tenant: "acme", User: "bob"}}, nil},
		{journal.Query{State: journal.Stopped}, []string{"run 2"}},
		{journal.Query{State: "asleep"}, nil},
	} {
		heads, err := j.Heads(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, runsOf(heads)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.query, diff)
		}
	}
}

// What was sent to a run is for whoever drives it, held or not, until it is
// taken up or the run has stopped.
func testHeadsSignalled(t *testing.T, j journal.Journal) {
	alice := &journal.Owner{Tenant: "acme", User: "alice"}
	want := func(q journal.Query, runs ...string) {
		t.Helper()
		q.Signalled = true
		heads, err := j.Heads(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(runs, runsOf(heads)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", q, diff)
		}
	}
	want(journal.Query{})
	start(t, j, "quiet")
	told, stopped := start(t, j, "told"), start(t, j, "stopped")
	for _, run := range []string{"told", "stopped", "held"} {
		if run == "held" {
			held(t, j, run)
		}
		send(t, j, say("s", run))
	}
	want(journal.Query{}, "told", "stopped", "held")
	stopped.stop()
	want(journal.Query{}, "told", "held")
	want(journal.Query{Limit: 1}, "told")
	want(journal.Query{Session: "session-told"}, "told")
	want(journal.Query{Owner: alice, Session: "session-told"}, "told")
	for _, q := range []journal.Query{
		{Session: "session-stopped"}, {Owner: alice, Session: "session-stopped"}, {Owner: alice, Session: "session-quiet"},
		{State: journal.Stopped}, {State: journal.Waiting}, {Owner: &journal.Owner{Tenant: "globex", User: "alice"}},
	} {
		want(q)
	}
	told.must(func(e *journal.Entry) { e.Head.State = journal.Waiting })
	want(journal.Query{State: journal.Waiting}, "told")
	want(journal.Query{State: journal.Running}, "held")
	told.must(func(e *journal.Entry) { e.Applied = []int64{1} })
	want(journal.Query{}, "held")
}

// ownedRuns starts a run of each of three owners; two have one user name.
func ownedRuns(t *testing.T, j journal.Journal) []*driver {
	t.Helper()
	var drivers []*driver
	for i, o := range []journal.Owner{{Tenant: "acme", User: "alice"}, {Tenant: "globex", User: "alice"}, {Tenant: "acme", User: ""}} {
		h := headOf(fmt.Sprint("run ", i))
		h.Tenant, h.User = o.Tenant, o.User
		drivers = append(drivers, startAs(t, j, h))
	}
	return drivers
}

func testApprovalsQuery(t *testing.T, j journal.Journal) {
	for n, d := range ownedRuns(t, j) {
		for i, minute := range []int{2, 1, 2} {
			d.ask(fmt.Sprint(n, "-", i), func(a *journal.Approval) { a.Asked = after(time.Duration(minute) * time.Minute) })
		}
	}
	mustDecide(t, j, vote("0-0", "bob", true))
	mustDecide(t, j, vote("1-2", "bob", false))
	acme := &journal.Owner{Tenant: "acme", User: "alice"}
	for _, c := range []struct {
		query journal.ApprovalQuery
		want  []string
	}{
		{journal.ApprovalQuery{}, []string{"2-2", "2-0", "1-2", "1-0", "0-2", "0-0", "2-1", "1-1", "0-1"}},
		{journal.ApprovalQuery{Limit: 2}, []string{"2-2", "2-0"}},
		{journal.ApprovalQuery{Run: "run 1"}, []string{"1-2", "1-0", "1-1"}},
		{journal.ApprovalQuery{Run: "run 9"}, nil},
		{journal.ApprovalQuery{State: journal.ApprovalApproved}, []string{"0-0"}},
		{journal.ApprovalQuery{State: journal.ApprovalOpen, Limit: 3}, []string{"2-2", "2-0", "1-0"}},
		{journal.ApprovalQuery{State: journal.ApprovalSpent}, nil},
		{journal.ApprovalQuery{Owner: acme}, []string{"0-2", "0-0", "0-1"}},
		{journal.ApprovalQuery{Owner: acme, State: journal.ApprovalOpen}, []string{"0-2", "0-1"}},
		{journal.ApprovalQuery{Owner: acme, Run: "run 1"}, nil},
		{journal.ApprovalQuery{Owner: &journal.Owner{Tenant: "acme"}}, []string{"2-2", "2-0", "2-1"}},
		{journal.ApprovalQuery{Owner: &journal.Owner{}}, nil},
	} {
		found, err := j.Approvals(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, a := range found {
			ids = append(ids, a.ID)
			if diff := cmp.Diff(mustApproval(t, j, a.ID), a); diff != "" {
				t.Errorf("listed (-alone +listed):\n%s", diff)
			}
		}
		if diff := cmp.Diff(c.want, ids); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.query, diff)
		}
	}
	_, err := j.Approvals(t.Context(), journal.ApprovalQuery{Limit: -1})
	wantCode(t, err, kernel.CodeInvalidArgument)
}

func testEffectsQuery(t *testing.T, j journal.Journal) {
	names := map[string]string{} // of effects by id
	claims := map[string]journal.Claim{}
	drivers := ownedRuns(t, j)
	for n, d := range drivers {
		for i, minute := range []int{3, 1, 2} {
			c := claimBy(d.head.Tenant, d.head.User, fmt.Sprint("c", i), "pay", fmt.Sprint("k", n, i), fmt.Sprint(n, i))
			c.At = after(time.Duration(10*minute+n) * time.Minute)
			if err := d.claim(c); err != nil {
				t.Fatal(err)
			}
			names[c.ID], claims[fmt.Sprint(n, "-", i)] = fmt.Sprint(n, "-", i), c
		}
	}
	drivers[0].settle(claims["0-1"], kernel.InDoubt, 0)
	drivers[1].settle(claims["1-0"], kernel.InDoubt, 0)
	if _, err := j.Resolve(t.Context(), resolution("x", claims["0-1"].ID, kernel.FoundUnknown)); err != nil {
		t.Fatal(err)
	}
	acme := &journal.Owner{Tenant: "acme", User: "alice"}
	for _, c := range []struct {
		query journal.EffectQuery
		want  []string
	}{
		{journal.EffectQuery{}, []string{"2-0", "1-0", "0-0", "2-2", "1-2", "0-2", "2-1", "1-1", "0-1"}},
		{journal.EffectQuery{Limit: 2}, []string{"2-0", "1-0"}},
		{journal.EffectQuery{Run: "run 1"}, []string{"1-0", "1-2", "1-1"}},
		{journal.EffectQuery{Run: "run 9"}, nil},
		{journal.EffectQuery{State: journal.EffectUnknown}, []string{"1-0", "0-1"}},
		{journal.EffectQuery{State: journal.EffectRunning, Limit: 1}, []string{"2-0"}},
		{journal.EffectQuery{State: journal.EffectLanded}, nil},
		{journal.EffectQuery{Owner: acme}, []string{"0-0", "0-2", "0-1"}},
		{journal.EffectQuery{Owner: acme, State: journal.EffectUnknown}, []string{"0-1"}},
		{journal.EffectQuery{Owner: acme, Run: "run 1"}, nil},
		{journal.EffectQuery{Owner: &journal.Owner{}}, nil},
	} {
		found, err := j.Effects(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range found {
			got = append(got, names[e.ID])
			if diff := cmp.Diff(mustEffect(t, j, e.ID), e); diff != "" {
				t.Errorf("listed (-alone +listed):\n%s", diff)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.query, diff)
		}
	}
	_, err := j.Effects(t.Context(), journal.EffectQuery{Limit: -1})
	wantCode(t, err, kernel.CodeInvalidArgument)
}

// Of effects claimed at one instant the greater id comes first.
func testEffectsOfOneInstant(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for i := range 6 {
		if err := d.claim(claimOf(fmt.Sprint("c", i), "pay", fmt.Sprint("k", i), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	found, err := j.Effects(t.Context(), journal.EffectQuery{})
	if err != nil || len(found) != 6 {
		t.Fatalf("%d effects, %v", len(found), err)
	}
	for i := 1; i < len(found); i++ {
		if found[i].ID >= found[i-1].ID {
			t.Errorf("%s comes behind %s", found[i].ID, found[i-1].ID)
		}
	}
}

// everyCall makes each call of a journal and returns its errors by name. Run r
// exists, with the open approval a and the unknown effect.
func everyCall(ctx context.Context, j journal.Journal, effect string) map[string]error {
	errs := map[string]error{}
	errs["append"] = j.Append(ctx, journal.Entry{Head: headOf("r"), Records: recordsOf(4, 1)})
	_, errs["acquire"] = j.Acquire(ctx, "r", "w1", after(0), after(1))
	_, errs["renew"] = j.Renew(ctx, "w1", []string{"r"}, after(1))
	errs["release"] = j.Release(ctx, "r", journal.Lease{})
	_, errs["send"] = j.Send(ctx, say("s", "r"))
	_, errs["decide"] = j.Decide(ctx, vote("a", "bob", true))
	_, errs["resolve"] = j.Resolve(ctx, resolution("x", effect, kernel.FoundLanded))
	_, errs["read"] = j.Read(ctx, "r", 0, 0)
	_, errs["head"] = j.Head(ctx, "r")
	_, errs["heads"] = j.Heads(ctx, journal.Query{})
	_, errs["ready"] = j.Ready(ctx, after(0), 0)
	_, errs["signals"] = j.Signals(ctx, "r")
	_, errs["approval"] = j.Approval(ctx, "a")
	_, errs["approvals"] = j.Approvals(ctx, journal.ApprovalQuery{})
	_, errs["effect"] = j.Effect(ctx, effect)
	_, errs["effects"] = j.Effects(ctx, journal.EffectQuery{})
	_, errs["links"] = j.Links(ctx, "r", 0, 0)
	_, errs["seals"] = j.Seals(ctx, 0, 0)
	_, errs["changes"] = j.Changes(ctx)
	return errs
}

// forEveryCall makes what everyCall asks for, and returns the effect.
func forEveryCall(t *testing.T, j journal.Journal) string {
	t.Helper()
	d := start(t, j, "r")
	c := claimOf("c", "pay", "k", "{}")
	d.must(func(e *journal.Entry) {
		e.Asked, e.Claim = []journal.Approval{d.approvalOf("a", "c2", "{}")}, &c
	})
	d.settle(c, kernel.InDoubt, 0)
	return c.ID
}

func testContext(t *testing.T, j journal.Journal) {
	effect := forEveryCall(t, j)
	before := picture(t, j)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range everyCall(ended, j, effect) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the context's error", name, err)
		}
	}
	if diff := cmp.Diff(before, picture(t, j)); diff != "" {
		t.Errorf("a call with a context that has ended changed the journal (-before +after):\n%s", diff)
	}
	for name, err := range everyCall(t.Context(), j, effect) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testClosed(t *testing.T, j journal.Journal) {
	effect := forEveryCall(t, j)
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	for name, err := range everyCall(t.Context(), j, effect) {
		if kernel.CodeOf(err) != kernel.CodeLocalStorage {
			t.Errorf("%s: %v, want LOCAL_STORAGE", name, err)
		}
	}
}
