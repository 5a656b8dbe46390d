package journaltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// A decision is told to the run, once and in the same transaction.
func testDecide(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for i, approve := range []bool{true, false} {
		t.Run(fmt.Sprint(approve), func(t *testing.T) {
			id := fmt.Sprint("a", i)
			want := d.ask(id, asIs)
			v := vote(id, "bob", approve)
			v.Hash = want.Hash
			want.State, want.Decided, want.Votes = journal.ApprovalRefused, v.At, []journal.Vote{v}
			if approve {
				want.State = journal.ApprovalApproved
			}
			for range 2 { // delivered again it is the same vote
				if diff := cmp.Diff(want, mustDecide(t, j, v)); diff != "" {
					t.Errorf("decided (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want, mustApproval(t, j, id)); diff != "" {
					t.Errorf("decided and read (-want +got):\n%s", diff)
				}
			}
			signals := mustSignals(t, j, "r")
			if len(signals) != i+1 {
				t.Fatalf("%d signals after %d decisions", len(signals), i+1)
			}
			s := want.Signal(v)
			s.Number = int64(i) + 1
			if diff := cmp.Diff(s, signals[i]); diff != "" {
				t.Errorf("signal (-want +got):\n%s", diff)
			}
			wantTold(t, s, approve, want)
		})
	}
	if n := mustHead(t, j, "r").Pending; n != 2 {
		t.Errorf("%d signals pending, want 2", n)
	}
}

func wantTold(t *testing.T, s journal.Signal, approve bool, a journal.Approval) {
	t.Helper()
	var told journal.Decision
	if err := json.Unmarshal(s.Payload, &told); err != nil {
		t.Fatal(err)
	}
	want := journal.Decision{Approval: a.ID, Cmd: a.Cmd, Call: a.Call, Reason: "because", By: []string{"bob"}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if (s.Kind == journal.SignalApprove) != approve || (s.Kind == journal.SignalRefuse) == approve || s.By != "bob" {
		t.Errorf("%v is told as %s by %s", approve, s.Kind, s.By)
	}
}

// voteCase is a vote on an approval of alice's that is asked with a rule.
type voteCase struct {
	name string
	rule func(*journal.Approval)
	vote func(*journal.Vote)
	want kernel.Code // empty: it counts
}

func voteCases() []voteCase {
	by := func(name string) func(*journal.Vote) { return func(v *journal.Vote) { v.By = name } }
	hash := func(h string) func(*journal.Vote) { return func(v *journal.Vote) { v.Hash = h } }
	at := func(d time.Duration) func(*journal.Vote) { return func(v *journal.Vote) { v.At = after(d) } }
	rule := func(r kernel.Approvers) func(*journal.Approval) {
		return func(a *journal.Approval) { a.Approvers = r }
	}
	escalated := func(r kernel.Approvers) func(*journal.Approval) {
		return func(a *journal.Approval) { a.Approvers, a.Escalated = r, true }
	}
	expires := func(a *journal.Approval) { a.Expires = after(time.Hour) }
	notAsker := rule(kernel.Approvers{NotAsker: true})
	from := kernel.Approvers{From: []string{"bob", "carol"}, Escalate: []string{"dan"}}
	return []voteCase{
		{"anyone", asIs, by("bob"), ""},
		{"the asker", asIs, by("alice"), ""},
		{"nobody by name", asIs, by(""), ""},
		{"not the asker: another", notAsker, by("bob"), ""},
		{"not the asker: the asker", notAsker, by("alice"), kernel.CodeForbidden},
		{"not the asker: nobody by name", notAsker, by(""), kernel.CodeForbidden},
		{"from a list: one of it", rule(from), by("carol"), ""},
		{"from a list: another", rule(from), by("dan"), kernel.CodeForbidden},
		{"from a list: a name that differs in case", rule(from), by("Bob"), kernel.CodeForbidden},
		{"from a list: nobody by name", rule(from), by(""), kernel.CodeForbidden},
		{"from a list that holds no name: nobody", rule(kernel.Approvers{From: []string{""}}), by(""), kernel.CodeForbidden},
		{"escalated: those who are asked then", escalated(from), by("dan"), ""},
		{"escalated: those who were asked before", escalated(from), by("bob"), kernel.CodeForbidden},
		{"escalated to nobody in particular", escalated(kernel.Approvers{From: []string{"bob"}}), by("dan"), ""},
		{"escalated, not the asker", escalated(kernel.Approvers{NotAsker: true}), by("alice"), kernel.CodeForbidden},
		{"a quorum: nobody by name", rule(kernel.Approvers{Quorum: 2}), by(""), kernel.CodeForbidden},
		{"other content", asIs, hash("0000"), kernel.CodeStaleApproval}, // case 36
		{"in time", expires, at(time.Hour - 1), ""},
		{"at the expiry", expires, at(time.Hour), kernel.CodeExpired}, // case 36: now = expires_at
		{"after the expiry", expires, at(48 * time.Hour), kernel.CodeExpired},
		{"other content, after the expiry", expires, func(v *journal.Vote) { hash("0000")(v); at(time.Hour)(v) }, kernel.CodeStaleApproval}, // row 47
		{"nobody's vote", asIs, func(v *journal.Vote) { v.ID = "" }, kernel.CodeInvalidArgument},
		{"without an instant", asIs, func(v *journal.Vote) { v.At = time.Time{} }, kernel.CodeInvalidArgument},
		{"on nothing", asIs, func(v *journal.Vote) { v.Approval = "" }, kernel.CodeInvalidArgument},
		{"on another one", asIs, func(v *journal.Vote) { v.Approval = "nothing" }, kernel.CodeNotFound},
	}
}

// Rows 45 and 47, case 36: who may decide, on what, until when; a yes and a no
// alike.
func testVotes(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for i, c := range voteCases() {
		for _, approve := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, ": ", approve), func(t *testing.T) {
				a := d.ask(fmt.Sprint(i, approve), c.rule)
				v := vote(a.ID, "bob", approve)
				c.vote(&v)
				before := picture(t, j)
				got, err := j.Decide(t.Context(), v)
				if c.want == "" {
					if err != nil || len(got.Votes) != 1 || got.State == journal.ApprovalOpen {
						t.Errorf("it does not count: %+v, %v", got, err)
					}
					return
				}
				wantCode(t, err, c.want)
				if diff := cmp.Diff(before, picture(t, j)); diff != "" {
					t.Errorf("a refused vote (%v) changed the journal (-before +after):\n%s", err, diff)
				}
			})
		}
	}
}

// One person, one vote; k people approve, one no refuses.
func testQuorum(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	quorum := func(n int) func(*journal.Approval) {
		return func(a *journal.Approval) { a.Approvers = kernel.Approvers{Quorum: n, NotAsker: true} }
	}
	d.ask("a", quorum(2))
	first := vote("a", "bob", true)
	if a := mustDecide(t, j, first); a.State != journal.ApprovalOpen || len(a.Votes) != 1 || !a.Decided.IsZero() {
		t.Errorf("after one of two: %+v", a)
	}
	again := first
	again.ID, again.Reason = "again", "once more"
	if a := mustDecide(t, j, again); a.State != journal.ApprovalOpen || len(a.Votes) != 1 || a.Votes[0] != first {
		t.Errorf("the same person's vote counts twice: %+v", a)
	}
	if s := mustSignals(t, j, "r"); len(s) != 0 {
		t.Errorf("the run is told before it is decided: %v", s)
	}
	if a := mustDecide(t, j, vote("a", "carol", true)); a.State != journal.ApprovalApproved || len(a.Votes) != 2 {
		t.Errorf("after two of two: %+v", a)
	}
	var told journal.Decision
	if err := json.Unmarshal(mustSignals(t, j, "r")[0].Payload, &told); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bob", "carol"}, told.By); diff != "" {
		t.Errorf("decided by (-want +got):\n%s", diff)
	}

	d.ask("b", quorum(3))
	mustDecide(t, j, vote("b", "bob", true))
	if a := mustDecide(t, j, vote("b", "carol", false)); a.State != journal.ApprovalRefused {
		t.Errorf("one no leaves it %s", a.State)
	}
	if err := json.Unmarshal(mustSignals(t, j, "r")[1].Payload, &told); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"carol"}, told.By); diff != "" {
		t.Errorf("refused by (-want +got):\n%s", diff)
	}

	d.ask("c", quorum(2))
	mustDecide(t, j, vote("c", "bob", true))
	if a := mustDecide(t, j, vote("c", "bob", false)); a.State != journal.ApprovalRefused || len(a.Votes) != 2 {
		t.Errorf("a yes that became a no leaves it %s with %d votes", a.State, len(a.Votes))
	}
}

// Report A16: who comes too late is told who decided, and when.
func testAlreadyDecided(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for _, from := range approvalStates()[1:] {
		t.Run(string(from), func(t *testing.T) {
			a := d.into("a "+string(from), from)
			before := picture(t, j)
			for _, approve := range []bool{true, false} {
				_, err := j.Decide(t.Context(), vote(a.ID, "carol", approve))
				want, words := kernel.CodeAlreadyDecided, []string{"bob", "05:07:07Z"}
				switch from {
				case journal.ApprovalExpired:
					want, words = kernel.CodeExpired, []string{"06:06:07Z"}
				case journal.ApprovalWithdrawn:
					words = []string{"withdrawn", "07:06:07Z"}
				case journal.ApprovalOpen, journal.ApprovalApproved, journal.ApprovalRefused, journal.ApprovalLapsed, journal.ApprovalSpent:
				}
				wantCode(t, err, want)
				for _, w := range words {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%q does not say %q", err, w)
					}
				}
			}
			if diff := cmp.Diff(before, picture(t, j)); diff != "" {
				t.Errorf("a late vote changed the journal (-before +after):\n%s", diff)
			}
		})
	}
}

// Case 37 and report A16: of two who decide at once one wins; there is one
// decision and one signal.
func testDecideRace(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	const people = 6
	for round := range 8 {
		a := d.ask(fmt.Sprint("a", round), asIs)
		errs := make([]error, people)
		var wg sync.WaitGroup
		for n := range people {
			v := vote(a.ID, fmt.Sprint("person ", n), n%2 == 0)
			wg.Go(func() { _, errs[n] = j.Decide(t.Context(), v) })
		}
		wg.Wait()
		winner := -1
		for n, err := range errs {
			if err == nil && winner < 0 {
				winner = n
			} else if err == nil {
				t.Fatalf("%d and %d both decided", winner, n)
			}
		}
		if winner < 0 {
			t.Fatal("nobody decided")
		}
		name := fmt.Sprint("person ", winner)
		for _, err := range errs {
			if err != nil {
				wantCode(t, err, kernel.CodeAlreadyDecided)
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%q does not name %s", err, name)
				}
			}
		}
		got := mustApproval(t, j, a.ID)
		signals := mustSignals(t, j, "r")
		if len(got.Votes) != 1 || got.Votes[0].By != name || len(signals) != round+1 || signals[round].By != name {
			t.Fatalf("%s decided: votes %+v, %d signals", name, got.Votes, len(signals))
		}
	}
}

// A vote and its expiry at once: either the one or the other.
func testDecideAgainstClose(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for round := range 8 {
		a := d.ask(fmt.Sprint("a", round), asIs)
		pending := mustHead(t, j, "r").Pending
		var voted, closed error
		var wg sync.WaitGroup
		wg.Go(func() { _, voted = j.Decide(t.Context(), vote(a.ID, "bob", true)) })
		wg.Go(func() {
			closed = d.try(func(e *journal.Entry) {
				e.Closed = []journal.Close{{Approval: a.ID, As: journal.ApprovalExpired, At: after(time.Hour)}}
			})
		})
		wg.Wait()
		got, now := mustApproval(t, j, a.ID), mustHead(t, j, "r").Pending
		switch {
		case voted == nil && closed != nil:
			wantCode(t, closed, kernel.CodeConflict)
			if got.State != journal.ApprovalApproved || now != pending+1 {
				t.Errorf("decided, and it is %s with %d new signals", got.State, now-pending)
			}
		case voted != nil && closed == nil:
			wantCode(t, voted, kernel.CodeExpired)
			if got.State != journal.ApprovalExpired || now != pending {
				t.Errorf("expired, and it is %s with %d new signals", got.State, now-pending)
			}
		default:
			t.Fatalf("voted: %v, closed: %v", voted, closed)
		}
	}
}

func testDecideAfterStop(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	d.ask("a", asIs)
	d.stop()
	if a := mustDecide(t, j, vote("a", "bob", true)); a.State != journal.ApprovalApproved {
		t.Errorf("it is %s", a.State)
	}
	if s := mustSignals(t, j, "r"); len(s) != 0 || mustHead(t, j, "r").Pending != 0 {
		t.Errorf("a stopped run is told %v", s)
	}
}
