package journal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Over every order of votes: what the votes say is what the approval is; nobody
// who may not decide is among them, nobody is among them twice with one answer;
// what was decided stays, whoever comes later.
func TestCount(t *testing.T) {
	seen := map[journal.ApprovalState]int{}
	for seed := range uint64(2500) {
		random := rand.New(rand.NewPCG(seed, 5))
		a := journal.Approval{ID: "a", User: "alice", State: journal.ApprovalOpen, Expires: time.Unix(pick(random, int64(30), 1000), 0)}
		a.Approvers = kernel.Approvers{
			NotAsker: random.IntN(2) == 0, Quorum: random.IntN(4),
			From: pick(random, nil, []string{"alice", "bob", "carol"}), Escalate: pick(random, nil, []string{"dan", "bob"}),
		}
		a.Escalated = random.IntN(4) == 0
		a.Hash = a.ContentHash()
		for n := range 12 {
			v := journal.Vote{
				ID: fmt.Sprint(random.IntN(9)), By: pick(random, "alice", "bob", "carol", "dan", ""), Approve: random.IntN(6) > 0,
				Hash: pick(random, "", "", a.Hash, "stale"), At: time.Unix(int64(3*n), 0).UTC(),
			}
			next, err := journal.Count(a, v)
			if problem := judge(&a, &next, &v, err); problem != "" {
				t.Fatalf("seed %d: %s:\nbefore %+v\nvote %+v\nafter %+v\n%v", seed, problem, a, v, next, err)
			}
			a = next
		}
		seen[a.State]++
	}
	if seen[journal.ApprovalApproved] < 250 || seen[journal.ApprovalRefused] < 250 || seen[journal.ApprovalOpen] < 50 {
		t.Errorf("the votes come to %v: not all is tested", seen)
	}
}

// judge says what is wrong with what a vote made of an approval.
func judge(before, after *journal.Approval, v *journal.Vote, err error) string {
	knows := func(of func(journal.Vote) bool) bool { return slices.ContainsFunc(before.Votes, of) }
	counted := len(after.Votes) - len(before.Votes)
	again := knows(func(old journal.Vote) bool { return old.ID == v.ID })
	same := knows(func(old journal.Vote) bool { return old.By == v.By && old.Approve == v.Approve })
	asked := before.Approvers.From
	if before.Escalated {
		asked = before.Approvers.Escalate
	}
	ruled := before.Approvers.NotAsker || before.Approvers.Quorum > 1 || len(asked) > 0
	forbidden := v.By == "" && ruled || before.Approvers.NotAsker && v.By == "alice" || len(asked) > 0 && !slices.Contains(asked, v.By)
	want := kernel.Code("")
	switch {
	case again:
	case v.Hash == "stale":
		want = kernel.CodeStaleApproval
	case before.State == journal.ApprovalOpen && !v.At.Before(before.Expires):
		want = kernel.CodeExpired
	case before.State != journal.ApprovalOpen:
		want = kernel.CodeAlreadyDecided
	case forbidden:
		want = kernel.CodeForbidden
	}
	switch {
	case kernel.CodeOf(err) != want:
		return "it should be " + string(want)
	case err != nil || again || same:
		if counted != 0 || after.State != before.State || !after.Decided.Equal(before.Decided) {
			return "what does not count changed it"
		}
		return ""
	case counted != 1 || after.Votes[len(after.Votes)-1] != *v:
		return "the vote is not kept"
	}
	yes := map[string]bool{}
	for _, vote := range after.Votes {
		if vote.Approve {
			yes[vote.By] = true
		}
	}
	state := journal.ApprovalOpen
	if !v.Approve {
		state = journal.ApprovalRefused
	} else if len(yes) >= max(1, before.Approvers.Quorum) {
		state = journal.ApprovalApproved
	}
	if after.State != state || (state == journal.ApprovalOpen) != after.Decided.IsZero() {
		return "it should be " + string(state)
	}
	return ""
}

// A vote does not write into the votes of whoever else holds the approval.
func TestCountKeepsItsArgument(t *testing.T) {
	votes := make([]journal.Vote, 1, 8)
	votes[0] = journal.Vote{ID: "1", By: "bob", Approve: true}
	a := journal.Approval{State: journal.ApprovalOpen, Votes: votes, Approvers: kernel.Approvers{Quorum: 3}}
	a.Hash = a.ContentHash()
	for _, by := range []string{"carol", "dan"} {
		if got, err := journal.Count(a, journal.Vote{ID: by, By: by, Approve: true}); err != nil || got.Votes[1].By != by {
			t.Errorf("%s: %+v, %v", by, got.Votes, err)
		}
	}
	if extra := votes[:2][1]; extra != (journal.Vote{}) {
		t.Errorf("a vote was written behind the argument's: %+v", extra)
	}
}

// Row 45: the hash covers all that is approved, and no text passes for another.
func TestContentHash(t *testing.T) {
	base := journal.Approval{
		ID: "a", Run: "r", Session: "s", Tenant: "t", User: "u", Call: "c", Tool: "pay", Arguments: []byte(`{"eur":5}`),
		Expires: time.Unix(100, 0),
	}
	hashes := map[string]string{base.ContentHash(): "as it is"}
	for name, change := range map[string]func(*journal.Approval){
		"id":               func(a *journal.Approval) { a.ID = "b" },
		"run":              func(a *journal.Approval) { a.Run = "q" },
		"session":          func(a *journal.Approval) { a.Session = "" },
		"tenant":           func(a *journal.Approval) { a.Tenant = "T" },
		"user":             func(a *journal.Approval) { a.User = "v" },
		"call":             func(a *journal.Approval) { a.Call = "d" },
		"tool":             func(a *journal.Approval) { a.Tool = "steal" },
		"arguments":        func(a *journal.Approval) { a.Arguments = []byte(`{"eur": 5}`) },
		"no arguments":     func(a *journal.Approval) { a.Arguments = nil },
		"expiry":           func(a *journal.Approval) { a.Expires = a.Expires.Add(1) },
		"no expiry":        func(a *journal.Approval) { a.Expires = time.Time{} },
		"tool into call":   func(a *journal.Approval) { a.Call, a.Tool = "cpay", "" },
		"tenant into user": func(a *journal.Approval) { a.Tenant, a.User = "", "tu" },
		"a forged length":  func(a *journal.Approval) { a.Call, a.Tool = "c3:pay", "" },
	} {
		a := base
		change(&a)
		hash := a.ContentHash()
		if other, taken := hashes[hash]; taken {
			t.Errorf("%s has the hash of %s", name, other)
		}
		hashes[hash] = name
	}
	moved := base
	moved.Expires = moved.Expires.In(time.FixedZone("elsewhere", 3600))
	moved.State, moved.Reason, moved.Votes = journal.ApprovalSpent, "another", []journal.Vote{{}}
	if moved.ContentHash() != base.ContentHash() {
		t.Error("what happens to an approval changes its hash")
	}
}

// What people read of a decision names who and when, and nothing else.
func TestAlreadyDecidedSays(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	a := journal.Approval{ID: "a", State: journal.ApprovalOpen}
	a.Hash = a.ContentHash()
	a, err := journal.Count(a, journal.Vote{ID: "1", Approve: true, Reason: "secret", At: at})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, state := range []journal.ApprovalState{journal.ApprovalApproved, journal.ApprovalSpent} {
		a.State = state
		_, err := journal.Count(a, journal.Vote{ID: "2", By: "bob", At: at})
		said = append(said, strings.TrimPrefix(err.Error(), "ALREADY_DECIDED: approval a is already "))
	}
	want := []string{
		"approved by someone without a name at 2023-11-14T22:13:20Z",
		"approved by someone without a name at 2023-11-14T22:13:20Z, and spent since",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

// What was altered since it was asked cannot be decided, whatever hash is given:
// people would see one thing and decide another.
func TestAlteredIsNotDecided(t *testing.T) {
	asked := journal.Approval{ID: "a", Run: "r", Tool: "pay", Call: "c", Arguments: []byte(`{"n":1}`), State: journal.ApprovalOpen}
	asked.Hash = asked.ContentHash()
	for name, alter := range map[string]func(*journal.Approval){
		"arguments": func(a *journal.Approval) { a.Arguments = []byte(`{"n":2}`) },
		"tool":      func(a *journal.Approval) { a.Tool = "pay2" },
		"call":      func(a *journal.Approval) { a.Call = "d" },
		"tenant":    func(a *journal.Approval) { a.Tenant = "globex" },
		"asker":     func(a *journal.Approval) { a.User = "bob" },
		"expiry":    func(a *journal.Approval) { a.Expires = time.Unix(1<<31, 0) },
		"hash":      func(a *journal.Approval) { a.Hash = "5f1d" },
	} {
		for _, approve := range []bool{true, false} {
			a := asked
			alter(&a)
			got, err := journal.Count(a, journal.Vote{ID: "v", By: "carol", Approve: approve, Hash: a.Hash, At: time.Unix(1, 0)})
			if kernel.CodeOf(err) != kernel.CodeStaleApproval || got.State != journal.ApprovalOpen || len(got.Votes) != 0 {
				t.Errorf("%s: %v, %+v", name, err, got)
			}
		}
	}
	if _, err := journal.Count(asked, journal.Vote{ID: "v", By: "carol", Approve: true, Hash: asked.Hash, At: time.Unix(1, 0)}); err != nil {
		t.Error(err)
	}
}

// Nobody is somebody else by what does not show: neither one who asked, nor one
// who voted before.
func TestNamesThatDoNotShow(t *testing.T) {
	for _, by := range []string{"ann ", " ann", "ann\t", "ann\n", "ann\u00a0", "ann\u200b", "\u202eann", "an\x1b[8mn", " ", "\xff", strings.Repeat("a", 201)} {
		if err := journal.CheckVote(&journal.Vote{ID: "v", Approval: "a", By: by, At: time.Unix(1, 0)}); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%q votes: %v", by, err)
		}
		e := journal.Effect{State: journal.EffectUnknown}
		r := journal.Resolution{ID: "r", Effect: "e", As: kernel.FoundNoEffect, By: by, Note: "n", At: time.Unix(1, 0)}
		if _, _, err := journal.Find(&e, &r); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%q finds out: %v", by, err)
		}
	}
	for _, by := range []string{"", "ann", "Анна Ли"} {
		if err := journal.CheckVote(&journal.Vote{ID: "v", Approval: "a", By: by, At: time.Unix(1, 0)}); err != nil {
			t.Errorf("%q: %v", by, err)
		}
	}
}
