package journaltest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// busy is a run in the middle of everything, and an entry that has every part.
type busy struct {
	*driver

	lease   journal.Lease
	running journal.Claim // c1, to be settled
	granted journal.Approval
	open    journal.Approval
}

func busyRun(t *testing.T, j journal.Journal) *busy {
	t.Helper()
	d, l := held(t, j, "r")
	b := &busy{driver: d, lease: l, running: claimOf("c1", "mail", "k1", "{}")}
	led := func(change func(*journal.Entry)) {
		t.Helper()
		d.must(func(e *journal.Entry) { under(l, time.Second)(e); change(e) })
	}
	b.granted = d.approvalOf("granted", "c2", `{"eur":5}`)
	b.open = d.approvalOf("open", "c3", `{"eur":6}`)
	led(func(e *journal.Entry) { e.Asked = []journal.Approval{b.granted, b.open} })
	led(func(e *journal.Entry) { e.Claim = &b.running })
	mustDecide(t, j, vote("granted", "bob", true))
	send(t, j, say("s", "r"))
	return b
}

// full has every part, and stands.
func (b *busy) full(e *journal.Entry) {
	until := b.lease
	until.Until = after(20 * time.Second)
	under(until, 5*time.Second)(e)
	e.Records = recordsOf(b.seq+1, 3)
	e.Head.Turns, e.Head.UpdatedAt = 9, after(5*time.Second)
	e.Asked = []journal.Approval{b.approvalOf("new", "c4", "{}")}
	e.Closed = []journal.Close{{Approval: "open", As: journal.ApprovalExpired, At: after(5 * time.Second)}}
	e.Settled = []journal.Settlement{settlement(b.running, kernel.Landed, 5*time.Second)}
	c := claimOf("c2", "pay", "k2", `{"eur":5}`)
	e.Claim, e.Spent, e.Applied = &c, "granted", []int64{1, 2}
}

// Row 48: an entry is one transaction. One part that does not stand takes all
// the others with it.
func testAllParts(t *testing.T, j journal.Journal) {
	b := busyRun(t, j)
	for name, c := range map[string]struct {
		spoil func(*journal.Entry)
		want  kernel.Code
	}{
		"no lease":             {func(e *journal.Entry) { e.Lease = nil }, kernel.CodeLeaseLost},
		"another's lease":      {func(e *journal.Entry) { e.Lease.Owner = "w2" }, kernel.CodeLeaseLost},
		"an older lease":       {func(e *journal.Entry) { e.Lease.Token = 7 }, kernel.CodeLeaseLost},
		"a number that exists": {func(e *journal.Entry) { e.Records = recordsOf(1, 3) }, kernel.CodeConflict},
		"a gap":                {func(e *journal.Entry) { e.Records = recordsOf(b.seq+2, 3) }, kernel.CodeConflict},
		"a gap inside":         {func(e *journal.Entry) { e.Records[2].Seq++ }, kernel.CodeConflict},
		"a record without end": {func(e *journal.Entry) { e.Records[2].Payload = nil }, kernel.CodeInvalidArgument},
		"another start":        {func(e *journal.Entry) { e.Head.StartedAt = after(time.Hour) }, kernel.CodeInvalidArgument},
		"no state":             {func(e *journal.Entry) { e.Head.State = "" }, kernel.CodeInvalidArgument},
		"a far due":            {func(e *journal.Entry) { e.Head.Due = epoch().AddDate(1000, 0, 0) }, kernel.CodeInvalidArgument},
		"a question's hash":    {func(e *journal.Entry) { e.Asked[0].Hash = "0000" }, kernel.CodeInvalidArgument},
		"a question's id": {func(e *journal.Entry) {
			e.Asked[0].ID = "granted"
			e.Asked[0].Hash = e.Asked[0].ContentHash()
		}, kernel.CodeConflict},
		"closing what is not there": {func(e *journal.Entry) { e.Closed[0].Approval = "nothing" }, kernel.CodeConflict},
		"closing what is granted":   {func(e *journal.Entry) { e.Closed[0].Approval = "granted" }, kernel.CodeConflict},
		"settling what is not":      {func(e *journal.Entry) { e.Settled[0].Effect = "eff_nothing" }, kernel.CodeConflict},
		"settling as nothing":       {func(e *journal.Entry) { e.Settled[0].Disposition = "" }, kernel.CodeInvalidArgument},
		"a claim without a key":     {func(e *journal.Entry) { e.Claim.Key = "" }, kernel.CodeInvalidArgument},
		"a claim on what landed":    {func(e *journal.Entry) { e.Claim, e.Spent = &b.running, "" }, kernel.CodeEffectRefused},
		"a claim on other content":  {func(e *journal.Entry) { e.Claim.Arguments = []byte("{}") }, kernel.CodeEffectRefused},
		"spending what is open":     {func(e *journal.Entry) { e.Spent = "new" }, kernel.CodeEffectRefused},
		"spending what is not":      {func(e *journal.Entry) { e.Spent = "nothing" }, kernel.CodeEffectRefused},
		"spending what it closes": {func(e *journal.Entry) {
			e.Closed[0] = journal.Close{Approval: "granted", As: journal.ApprovalLapsed, At: after(0)}
		}, kernel.CodeEffectRefused},
		"a signal that is not": {func(e *journal.Entry) { e.Applied = []int64{1, 2, 3} }, kernel.CodeConflict},
		"a signal twice":       {func(e *journal.Entry) { e.Applied = []int64{1, 1} }, kernel.CodeConflict},
	} {
		t.Run(name, func(*testing.T) {
			_ = b.refused(c.want, func(e *journal.Entry) { b.full(e); c.spoil(e) })
		})
	}
	b.must(b.full)
	b.wantFull(t)
}

func (b *busy) wantFull(t *testing.T) {
	t.Helper()
	h := mustHead(t, b.j, "r")
	if h.LastSeq != b.seq || h.Turns != 9 || h.Pending != 0 || !h.Lease.Until.Equal(after(20*time.Second)) {
		t.Errorf("head: %+v", h)
	}
	states := map[string]journal.ApprovalState{}
	all, err := b.j.Approvals(t.Context(), journal.ApprovalQuery{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		states[a.ID] = a.State
	}
	want := map[string]journal.ApprovalState{"new": journal.ApprovalOpen, "open": journal.ApprovalExpired, "granted": journal.ApprovalSpent}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
	claimed := mustEffect(t, b.j, journal.EffectID("acme", "pay", "k2"))
	if settled := mustEffect(t, b.j, b.running.ID); settled.State != journal.EffectLanded || claimed.State != journal.EffectRunning {
		t.Errorf("settled is %s, claimed is %s", settled.State, claimed.State)
	}
	if s := mustSignals(t, b.j, "r"); len(s) != 0 {
		t.Errorf("signals that were taken up wait: %v", s)
	}
}

// The first entry of a run may have parts, too.
func testFirstEntry(t *testing.T, j journal.Journal) {
	d := &driver{t: t, j: j, head: headOf("r")}
	c := claimOf("c1", "pay", "k", "{}")
	parts := func(e *journal.Entry) {
		under(leaseOf("w1", 1, time.Minute), 0)(e)
		e.Records = recordsOf(1, 3)
		e.Asked = []journal.Approval{d.approvalOf("a", "c2", "{}")}
		e.Claim = &c
	}
	_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { parts(e); e.Applied = []int64{1} })
	if _, err := j.Head(t.Context(), "r"); kernel.CodeOf(err) != kernel.CodeNotFound {
		t.Errorf("a refused first entry left a head: %v", err)
	}
	d.must(parts)
	wantLease(t, j, "r", leaseOf("w1", 1, time.Minute))
	mustApproval(t, j, "a")
	mustEffect(t, j, c.ID)
}

// What a caller does with its slices afterwards is its own affair.
func testPartsIsolation(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	a := d.approvalOf("a", "c", "{}")
	a.Approvers = kernel.Approvers{From: []string{"bob"}, Escalate: []string{"carol"}}
	d.must(func(e *journal.Entry) { e.Asked = []journal.Approval{a} })
	a.Approvers.From[0], a.Approvers.Escalate[0] = "mallory", "mallory"
	decided := mustDecide(t, j, vote("a", "bob", true))
	decided.Votes[0].By, decided.Approvers.From[0] = "mallory", "mallory"
	c := claimOf("c", "pay", "k", "{}")
	d.reach(c, journal.EffectUnknown)
	resolved, err := j.Resolve(t.Context(), resolution("1", c.ID, kernel.FoundUnknown))
	if err != nil {
		t.Fatal(err)
	}
	resolved.Resolutions[0].By = "mallory"
	refusal := wantRefusal(t, d.claim(c), kernel.ClaimUnknown, c.ID)
	refusal.Effect.Resolutions[0].By = "mallory"
	for range 2 {
		got := mustApproval(t, j, "a")
		if got.Votes[0].By != "bob" || got.Approvers.From[0] != "bob" || got.Approvers.Escalate[0] != "carol" {
			t.Errorf("a caller changed an approval: %+v", got)
		}
		got.Votes[0].By, got.Approvers.Escalate[0] = "mallory", "mallory"
		e := mustEffect(t, j, c.ID)
		if e.Resolutions[0].By != "carol" {
			t.Errorf("a caller changed an effect: %+v", e)
		}
		e.Resolutions[0].By = "mallory"
	}
	seals, err := j.Seals(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	seals[0].Run = "mallory"
	links, err := j.Links(t.Context(), "r", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	links[0] = journal.Hash{}
	if p := picture(t, j); p.Seals[0].Run != "r" || p.Links["r"][0] == (journal.Hash{}) {
		t.Errorf("a caller changed a chain")
	}
}
