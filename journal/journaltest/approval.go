package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Rows 45 and 46: an approval is bound to its content, and comes back as it was
// asked.
func testAsk(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	full := d.approvalOf("full", "c1", "{\"to\": \"\u202e\xff\", \"eur\": 5.00}")
	full.Cmd, full.Escalated, full.Expires, full.Reason = 99, true, after(time.Hour), "报销 \x00'"
	full.Approvers = kernel.Approvers{NotAsker: true, Quorum: 2, From: []string{"bob", "carol", ""}, Escalate: []string{"dan"}}
	full.Hash = full.ContentHash()
	bare := d.approvalOf("bare", "c2", "{}")
	d.must(func(e *journal.Entry) { e.Asked = []journal.Approval{full, bare} })
	for _, want := range []journal.Approval{full, bare} {
		if diff := cmp.Diff(want, mustApproval(t, j, want.ID)); diff != "" {
			t.Errorf("approval (-asked +got):\n%s", diff)
		}
	}
	_, err := j.Approval(t.Context(), "Bare")
	wantCode(t, err, kernel.CodeNotFound)

	// The same question again stays as it is, decided or not.
	decided := mustDecide(t, j, vote("bare", "bob", true))
	d.must(func(e *journal.Entry) { e.Asked = []journal.Approval{bare, full} })
	if diff := cmp.Diff(decided, mustApproval(t, j, "bare")); diff != "" {
		t.Errorf("asked again (-before +after):\n%s", diff)
	}
	other := bare
	other.Arguments = []byte(`{"eur":500}`)
	other.Hash = other.ContentHash()
	_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Asked = []journal.Approval{other} })
	thief := start(t, j, "thief") // under another run's id
	taken := thief.approvalOf("full", "c1", "{}")
	_ = thief.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Asked = []journal.Approval{taken} })
}

func testAskInvalid(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for name, spoil := range map[string]func(*journal.Approval){
		"no id":              func(a *journal.Approval) { a.ID = "" },
		"no call":            func(a *journal.Approval) { a.Call = "" },
		"no tool":            func(a *journal.Approval) { a.Tool = "" },
		"another run":        func(a *journal.Approval) { a.Run = "other" },
		"another session":    func(a *journal.Approval) { a.Session = "other" },
		"another tenant":     func(a *journal.Approval) { a.Tenant = "globex" },
		"another user":       func(a *journal.Approval) { a.User = "bob" },
		"approved already":   func(a *journal.Approval) { a.State = journal.ApprovalApproved },
		"with a vote":        func(a *journal.Approval) { a.Votes = []journal.Vote{vote(a.ID, "bob", true)} },
		"decided already":    func(a *journal.Approval) { a.Decided = after(0) },
		"no instant":         func(a *journal.Approval) { a.Asked = time.Time{} },
		"a far expiry":       func(a *journal.Approval) { a.Expires = epoch().AddDate(1000, 0, 0) },
		"in no state at all": func(a *journal.Approval) { a.State = "" },
	} {
		t.Run(name, func(*testing.T) {
			a := d.approvalOf("a", "c", "{}")
			spoil(&a)
			a.Hash = a.ContentHash()
			_ = d.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Asked = []journal.Approval{a} })
		})
	}
	for name, spoil := range map[string]func(*journal.Approval){ // behind the hash
		"arguments": func(a *journal.Approval) { a.Arguments = []byte("{ }") },
		"tool":      func(a *journal.Approval) { a.Tool = "steal" },
		"call":      func(a *journal.Approval) { a.Call = "c9" },
		"expiry":    func(a *journal.Approval) { a.Expires = after(time.Hour) },
		"id":        func(a *journal.Approval) { a.ID = "b" },
		"no hash":   func(a *journal.Approval) { a.Hash = "" },
	} {
		t.Run("another content: "+name, func(*testing.T) {
			a := d.approvalOf("a", "c", "{}")
			spoil(&a)
			_ = d.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Asked = []journal.Approval{a} })
		})
	}
}

// into brings an approval into a state.
func (d *driver) into(id string, state journal.ApprovalState) journal.Approval {
	d.t.Helper()
	a := d.ask(id, func(a *journal.Approval) { a.Expires = after(time.Hour) })
	shut := func(as journal.ApprovalState) {
		d.must(func(e *journal.Entry) { e.Closed = []journal.Close{{Approval: id, As: as, At: after(2 * time.Hour)}} })
	}
	switch state {
	case journal.ApprovalApproved, journal.ApprovalLapsed, journal.ApprovalSpent:
		mustDecide(d.t, d.j, vote(id, "bob", true))
	case journal.ApprovalRefused:
		mustDecide(d.t, d.j, vote(id, "bob", false))
	case journal.ApprovalExpired, journal.ApprovalWithdrawn:
		shut(state)
	case journal.ApprovalOpen:
	}
	if state == journal.ApprovalLapsed {
		shut(state)
	}
	if state == journal.ApprovalSpent {
		d.must(func(e *journal.Entry) { e.Spent = id })
	}
	if got := mustApproval(d.t, d.j, id).State; got != state {
		d.t.Fatalf("approval %s is %s, want %s", id, got, state)
	}
	return a
}

func approvalStates() []journal.ApprovalState {
	return []journal.ApprovalState{
		journal.ApprovalOpen, journal.ApprovalApproved, journal.ApprovalRefused, journal.ApprovalExpired,
		journal.ApprovalWithdrawn, journal.ApprovalLapsed, journal.ApprovalSpent,
	}
}

func testCloseApproval(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	const stays = "stays"
	allowed := map[string]journal.ApprovalState{ // the rest is CONFLICT
		"open expired": journal.ApprovalExpired, "open withdrawn": journal.ApprovalWithdrawn,
		"approved withdrawn": journal.ApprovalWithdrawn, "approved lapsed": journal.ApprovalLapsed,
		"refused withdrawn": stays,
	}
	for _, from := range approvalStates() {
		for _, as := range []journal.ApprovalState{journal.ApprovalExpired, journal.ApprovalWithdrawn, journal.ApprovalLapsed} {
			t.Run(fmt.Sprint(from, " ", as), func(t *testing.T) {
				id := fmt.Sprint("from ", from, " as ", as)
				d.into(id, from)
				want := mustApproval(t, j, id)
				closed := func(e *journal.Entry) {
					e.Closed = []journal.Close{{Approval: id, As: as, At: after(3 * time.Hour)}}
				}
				state, may := allowed[fmt.Sprint(from, " ", as)]
				if !may {
					_ = d.refused(kernel.CodeConflict, closed)
					return
				}
				d.must(closed)
				if state != stays {
					want.State = state
				}
				if from == journal.ApprovalOpen {
					want.Decided = after(3 * time.Hour)
				}
				if diff := cmp.Diff(want, mustApproval(t, j, id)); diff != "" {
					t.Errorf("closed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func testCloseRefused(t *testing.T, j journal.Journal) {
	d, other := start(t, j, "r"), start(t, j, "other")
	d.ask("a", asIs)
	good := journal.Close{Approval: "a", As: journal.ApprovalWithdrawn, At: after(0)}
	for name, c := range map[string]struct {
		change func(*journal.Close)
		want   kernel.Code
	}{
		"unknown":     {func(c *journal.Close) { c.Approval = "b" }, kernel.CodeConflict},
		"no approval": {func(c *journal.Close) { c.Approval = "" }, kernel.CodeInvalidArgument},
		"as approved": {func(c *journal.Close) { c.As = journal.ApprovalApproved }, kernel.CodeInvalidArgument},
		"as spent":    {func(c *journal.Close) { c.As = journal.ApprovalSpent }, kernel.CodeInvalidArgument},
		"as open":     {func(c *journal.Close) { c.As = journal.ApprovalOpen }, kernel.CodeInvalidArgument},
		"as nothing":  {func(c *journal.Close) { c.As = "" }, kernel.CodeInvalidArgument},
		"no instant":  {func(c *journal.Close) { c.At = time.Time{} }, kernel.CodeInvalidArgument},
	} {
		t.Run(name, func(*testing.T) {
			bad := good
			c.change(&bad)
			_ = d.refused(c.want, func(e *journal.Entry) { e.Closed = []journal.Close{bad} })
		})
	}
	_ = other.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Closed = []journal.Close{good} })
	_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Closed = []journal.Close{good, good} })
	d.must(func(e *journal.Entry) { // asked and taken back in one entry
		e.Asked = []journal.Approval{d.approvalOf("b", "c", "{}")}
		e.Closed = []journal.Close{{Approval: "b", As: journal.ApprovalWithdrawn, At: after(0)}}
	})
	if a := mustApproval(t, j, "b"); a.State != journal.ApprovalWithdrawn {
		t.Errorf("asked and taken back, it is %s", a.State)
	}
}

// Reports A15 and A16: an approval is spent once, by the run that asked, and on
// the call that was approved.
func testSpend(t *testing.T, j journal.Journal) {
	d, other := start(t, j, "r"), start(t, j, "other")
	a := d.into("a", journal.ApprovalApproved)
	claim := claimOf(a.Call, a.Tool, "k", string(a.Arguments))
	for name, spoil := range map[string]func(*journal.Claim){
		"other arguments": func(c *journal.Claim) { c.Arguments = []byte(`{"for": "a"}`) }, // A15 (a), by one blank
		"another tool":    func(c *journal.Claim) { c.Tool, c.ID = "steal", journal.EffectID("acme", "steal", "k") },
		"another call":    func(c *journal.Claim) { c.Call = "c9" },
	} {
		t.Run(name, func(t *testing.T) {
			c := claim
			spoil(&c)
			err := d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim, e.Spent = &c, "a" })
			if r := wantRefusal(t, err, kernel.ClaimApproval, ""); r.Approval != "a" {
				t.Errorf("the refusal names approval %q", r.Approval)
			}
		})
	}
	theirs := claim
	theirs.ID, theirs.Key = journal.EffectID("acme", a.Tool, "theirs"), "theirs"
	wantRefusal(t, other.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim, e.Spent = &theirs, "a" }), kernel.ClaimApproval, "")
	wantRefusal(t, d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim, e.Spent = &claim, "b" }), kernel.ClaimApproval, "")

	d.must(func(e *journal.Entry) { e.Claim, e.Spent = &claim, "a" })
	spent := mustApproval(t, j, "a")
	if spent.State != journal.ApprovalSpent || len(spent.Votes) != 1 || !spent.Decided.Equal(after(time.Minute)) {
		t.Errorf("spent: %+v", spent)
	}
	d.settle(claim, kernel.DidNotHappen, 0)
	err := d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim, e.Spent = &claim, "a" }) // A15 (d)
	wantRefusal(t, err, kernel.ClaimApproval, "")
	_, err = j.Decide(t.Context(), vote("a", "carol", true))
	wantCode(t, err, kernel.CodeAlreadyDecided)
}

func testSpendStates(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for _, from := range approvalStates() {
		t.Run(string(from), func(t *testing.T) {
			a := d.into("a "+string(from), from)
			spend := func(e *journal.Entry) { e.Spent = a.ID } // of a call that needs no claim
			if from == journal.ApprovalApproved {
				d.must(spend)
				return
			}
			wantRefusal(t, d.refused(kernel.CodeEffectRefused, spend), kernel.ClaimApproval, "")
		})
	}
	// The claim that the ledger refuses leaves the approval as it was.
	a := d.into("unused", journal.ApprovalApproved)
	stands := claimOf("c1", a.Tool, "k1", string(a.Arguments))
	d.reach(stands, journal.EffectUnknown)
	c := claimOf(a.Call, a.Tool, "k2", string(a.Arguments))
	err := d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) { e.Claim, e.Spent = &c, a.ID })
	wantRefusal(t, err, kernel.ClaimUnknown, stands.ID)
}
