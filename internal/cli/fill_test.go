package cli

import (
	"context"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// filled is a journal with two waiting runs, written without an engine: what
// people are asked and what the ledger holds.
//
//	run_ann  of ann in acme: apr_1 for two of ben, eve and ann, but not ann; apr_2 for
//	         anyone; apr_3 is over; eff_1 is unknown, eff_2 has landed
//	run_bob  of bob in globex: apr_4 for anyone; eff_3 is unknown
//	run_none of nobody: apr_5 for anyone; eff_4 is unknown
type filled struct {
	ts  *testscript.TestScript
	j   *sqlite.Journal
	now time.Time
}

// fill FILE writes such a journal, and puts each approval's hash and each
// effect's id into a variable: APR_1, EFF_1.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fill FILE")
	}
	j, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), sqlite.Options{})
	ts.Check(err)
	f := filled{ts: ts, j: j, now: time.Now().UTC()}
	defer func() { ts.Check(j.Close()) }()

	ann := journal.Head{Run: "run_ann", Session: "s1", Tenant: "acme", User: "ann"}
	two := kernel.Approvers{NotAsker: true, Quorum: 2, From: []string{"ann", "ben", "eve"}}
	f.run(ann,
		f.ask(ann, "apr_1", two, time.Hour),
		f.ask(ann, "apr_2", kernel.Approvers{}, 0),
		f.ask(ann, "apr_3", kernel.Approvers{}, -time.Minute))
	f.effect(ann, 2, "eff_1", kernel.InDoubt)
	f.effect(ann, 4, "eff_2", kernel.Landed)
	bob := journal.Head{Run: "run_bob", Session: "s1", Tenant: "globex", User: "bob"}
	f.run(bob, f.ask(bob, "apr_4", kernel.Approvers{}, 0))
	f.effect(bob, 2, "eff_3", kernel.InDoubt)
	none := journal.Head{Run: "run_none", Session: "s2"}
	f.run(none, f.ask(none, "apr_5", kernel.Approvers{}, 0))
	f.effect(none, 2, "eff_4", kernel.InDoubt)
}

func (f *filled) append(e journal.Entry, seq int64, kind kernel.EventKind) {
	e.Head.State, e.Head.StartedAt, e.Head.UpdatedAt = journal.Waiting, f.now, f.now
	e.Head.WaitingFor, e.Head.Question = string(kernel.WaitApproval), "May I?"
	e.Records = []journal.Record{{Seq: seq, At: f.now, Kind: kind, Payload: []byte(`{}`)}}
	f.ts.Check(f.j.Append(context.Background(), e))
}

func (f *filled) run(h journal.Head, asked ...journal.Approval) {
	h.Approval = asked[0].ID
	f.append(journal.Entry{Head: h, Asked: asked}, 1, kernel.KindRunStarted)
}

// arguments hold what no screen may be moved by, and no preview may hide.
const arguments = "{\"program\":\"pay\",\"args\":[\"9007199254740993\",\"a\u202eb\",\"\\u001b[2J\"]}"

func (f *filled) ask(h journal.Head, id string, who kernel.Approvers, expires time.Duration) journal.Approval {
	a := journal.Approval{
		ID: id, Run: h.Run, Session: h.Session, Tenant: h.Tenant, User: h.User, Call: "call_" + id, Cmd: 1, Tool: "run_program",
		Arguments: []byte(arguments), Effect: kernel.Once, Reason: "policy rule 1: ask run_program", Approvers: who,
		Asked: f.now.Add(-time.Hour), State: journal.ApprovalOpen,
	}
	if expires != 0 {
		a.Expires = f.now.Add(expires)
	}
	a.Hash = a.ContentHash()
	f.ts.Setenv(strings.ToUpper(id), a.Hash)
	return a
}

func (f *filled) effect(h journal.Head, seq int64, id string, d kernel.Disposition) {
	c := journal.Claim{
		Call: "call_" + id, Tool: "run_program", Key: "call " + h.Run + "/call_" + id, Fingerprint: "f" + id, Request: "r" + id,
		Arguments: []byte(arguments), Class: kernel.Once, Attempt: 1, At: f.now,
	}
	c.ID = journal.EffectID(h.Tenant, c.Tool, c.Key)
	f.ts.Setenv(strings.ToUpper(id), c.ID)
	f.append(journal.Entry{Head: h, Claim: &c}, seq, kernel.KindCallStarted)
	s := journal.Settlement{Effect: c.ID, Call: "call_" + id, Disposition: d, At: f.now}
	if d == kernel.Landed {
		s.Result, s.Facts = []byte(`{"text":"paid","elapsed_ns":5}`), []byte(`{"status":"ok","size":4,"digest":"d"}`)
	}
	f.append(journal.Entry{Head: h, Settled: []journal.Settlement{s}}, seq+1, kernel.KindCallReturned)
}
