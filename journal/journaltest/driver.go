package journaltest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// after is an instant of a test.
func after(d time.Duration) time.Time { return epoch().Add(d) }

// driver appends to one run, a record at a time.
type driver struct {
	t    *testing.T
	j    journal.Journal
	head journal.Head
	seq  int64
}

// start opens a run of acme's alice.
func start(t *testing.T, j journal.Journal, run string) *driver {
	t.Helper()
	return startAs(t, j, headOf(run))
}

func startAs(t *testing.T, j journal.Journal, head journal.Head) *driver {
	t.Helper()
	d := &driver{t: t, j: j, head: head}
	d.must(func(*journal.Entry) {})
	return d
}

// entry is the next one of the run, with one record and nothing else.
func (d *driver) entry() journal.Entry {
	return journal.Entry{Head: d.head, Records: recordsOf(d.seq+1, 1)}
}

// try appends the next entry with what change adds to it.
func (d *driver) try(change func(*journal.Entry)) error {
	e := d.entry()
	change(&e)
	err := d.j.Append(d.t.Context(), e)
	if err == nil {
		d.seq += int64(len(e.Records))
		d.head = e.Head
	}
	return err
}

// must appends the next entry.
func (d *driver) must(change func(*journal.Entry)) {
	d.t.Helper()
	if err := d.try(change); err != nil {
		d.t.Fatalf("run %q after %d: %v", d.head.Run, d.seq, err)
	}
}

// refused appends an entry that must fail with the code and leave the journal
// as it was.
func (d *driver) refused(want kernel.Code, change func(*journal.Entry)) error {
	d.t.Helper()
	before := picture(d.t, d.j)
	err := d.try(change)
	if err == nil {
		d.t.Fatalf("run %q after %d: the append succeeded, want %s", d.head.Run, d.seq, want)
	}
	wantCode(d.t, err, want)
	if diff := cmp.Diff(before, picture(d.t, d.j)); diff != "" {
		d.t.Errorf("a refused entry (%v) changed the journal (-before +after):\n%s", err, diff)
	}
	return err
}

// claim appends a claim.
func (d *driver) claim(c journal.Claim) error {
	return d.try(func(e *journal.Entry) { e.Claim = &c })
}

// settle ends the claim of a call.
func (d *driver) settle(c journal.Claim, as kernel.Disposition, at time.Duration) {
	d.t.Helper()
	d.must(func(e *journal.Entry) { e.Settled = []journal.Settlement{settlement(c, as, at)} })
}

func settlement(c journal.Claim, as kernel.Disposition, at time.Duration) journal.Settlement {
	return journal.Settlement{
		Effect: c.ID, Call: c.Call, Disposition: as, At: after(at),
		Result: []byte("result of " + c.Call), Facts: []byte(`{"status":"ok"}`),
	}
}

// stop ends the run.
func (d *driver) stop() {
	d.t.Helper()
	d.must(func(e *journal.Entry) { e.Head.State, e.Head.Stop = journal.Stopped, kernel.StopAnswered })
}

// claimOf is a claim of acme's alice: once, of a tool and a key, with arguments.
func claimOf(call, tool, key, arguments string) journal.Claim {
	return claimBy("acme", "alice", call, tool, key, arguments)
}

func claimBy(tenant, user, call, tool, key, arguments string) journal.Claim {
	return journal.Claim{
		ID: journal.EffectID(tenant, tool, key), Call: call, Tool: tool, Key: key,
		Request: tool + arguments, Fingerprint: tool + arguments + tenant + "/" + user,
		Arguments: []byte(arguments), Class: kernel.Once, Attempt: 1, At: epoch(),
	}
}

// approvalOf is an open question of the driver's run about a call of pay.
func (d *driver) approvalOf(id, call, arguments string) journal.Approval {
	h := &d.head
	a := journal.Approval{
		ID: id, Run: h.Run, Session: h.Session, Tenant: h.Tenant, User: h.User, Call: call, Cmd: 7,
		Tool: "pay", Arguments: []byte(arguments), Effect: kernel.Once, Reason: "it costs money",
		Asked: epoch(), State: journal.ApprovalOpen,
	}
	a.Hash = a.ContentHash()
	return a
}

// ask stores an approval, as change makes it.
func (d *driver) ask(id string, change func(*journal.Approval)) journal.Approval {
	d.t.Helper()
	a := d.approvalOf(id, "call of "+id, `{"for":"`+id+`"}`)
	change(&a)
	a.Hash = a.ContentHash()
	d.must(func(e *journal.Entry) { e.Asked = []journal.Approval{a} })
	return a
}

func asIs(*journal.Approval) {}

// vote is a person's answer, a minute after the question.
func vote(approval, by string, approve bool) journal.Vote {
	return journal.Vote{
		ID: fmt.Sprintf("vote of %s on %s: %v", by, approval, approve), Approval: approval, By: by,
		Approve: approve, Reason: "because", At: after(time.Minute),
	}
}

func mustDecide(t *testing.T, j journal.Journal, v journal.Vote) journal.Approval {
	t.Helper()
	a, err := j.Decide(t.Context(), v)
	if err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	return a
}

func mustHead(t *testing.T, j journal.Reader, run string) journal.Head {
	t.Helper()
	h, err := j.Head(t.Context(), run)
	if err != nil {
		t.Fatalf("head of %q: %v", run, err)
	}
	return h
}

func mustSignals(t *testing.T, j journal.Reader, run string) []journal.Signal {
	t.Helper()
	s, err := j.Signals(t.Context(), run)
	if err != nil {
		t.Fatalf("signals of %q: %v", run, err)
	}
	return s
}

func mustApproval(t *testing.T, j journal.Reader, id string) journal.Approval {
	t.Helper()
	a, err := j.Approval(t.Context(), id)
	if err != nil {
		t.Fatalf("approval %q: %v", id, err)
	}
	return a
}

func mustEffect(t *testing.T, j journal.Reader, id string) journal.Effect {
	t.Helper()
	e, err := j.Effect(t.Context(), id)
	if err != nil {
		t.Fatalf("effect %q: %v", id, err)
	}
	return e
}

// wantRefusal checks why the ledger did not give a claim, and by which effect.
func wantRefusal(t *testing.T, err error, why kernel.ClaimWhy, effect string) *journal.Refusal {
	t.Helper()
	r, ok := errors.AsType[*journal.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal: %s", err, why)
	}
	if r.Why != why || r.Effect.ID != effect {
		t.Errorf("refused as %s because of effect %q, want %s because of %q", r.Why, r.Effect.ID, why, effect)
	}
	wantCode(t, err, kernel.CodeEffectRefused)
	return r
}

// everything is what a journal shows.
type everything struct {
	Heads     []journal.Head
	Records   map[string][]journal.Record
	Links     map[string][]journal.Hash
	Signals   map[string][]journal.Signal
	Approvals []journal.Approval
	Effects   []journal.Effect
	Seals     []journal.Seal
}

// picture reads all of a journal.
func picture(t *testing.T, j journal.Reader) everything {
	t.Helper()
	p := everything{
		Records: map[string][]journal.Record{}, Links: map[string][]journal.Hash{}, Signals: map[string][]journal.Signal{},
	}
	ctx := t.Context()
	var errs [6]error
	p.Heads, errs[0] = j.Heads(ctx, journal.Query{})
	p.Approvals, errs[1] = j.Approvals(ctx, journal.ApprovalQuery{})
	p.Effects, errs[2] = j.Effects(ctx, journal.EffectQuery{})
	p.Seals, errs[3] = j.Seals(ctx, 0, 0)
	for _, h := range p.Heads {
		p.Records[h.Run] = mustRead(t, j, h.Run)
		p.Signals[h.Run] = mustSignals(t, j, h.Run)
		links, err := j.Links(ctx, h.Run, 0, 0)
		errs[4] = errors.Join(errs[4], err)
		p.Links[h.Run] = links
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatalf("reading everything: %v", err)
	}
	return p
}
