package kernel

import (
	"bytes"
	"slices"
	"testing"
)

// Each slice of a state that Step appends to or counts in, at a length where
// the backing array has room: two futures of one state would then write to the
// same place. Random walks (TestStepChangesNoOldState) seldom get here.
func TestBranchesShareNothing(t *testing.T) {
	hold := []string{"failed timeout", "fired retry"}
	turn := func(id, result string) []string {
		return []string{"prepared", "replied calls=[" + id + ` read {"n":1}]`, "decided " + id + " allow read", "begun " + id, "returned " + id + " ok digest=" + result}
	}
	for _, c := range []struct {
		name         string
		before, a, b []string
	}{
		{
			"held requests",
			slices.Concat([]string{"started attempts=9 wait=30s", "prepared 100"}, hold, hold, hold),
			hold,
			slices.Concat([]string{"replied text stop=length"}, hold),
		},
		{
			"late usage",
			slices.Concat([]string{"started attempts=9 wait=30s", "prepared 100"}, hold, hold, hold),
			[]string{"replied text cmd=3 usage=1/2"},
			[]string{"replied text cmd=5 usage=3/4"},
		},
		{
			"warnings",
			[]string{"started", "prepared warn=one,two,three"},
			[]string{"replied text usage=-1/0"},
			[]string{"replied calls=[c1 read {}]", "decided c1 allow read", "begun c1", "returned c1 ok warn=four"},
		},
		{
			"repeats",
			slices.Concat([]string{"started turns=20 repeat=0"}, turn("a", "x"), turn("b", "y"), turn("c", "x")),
			turn("d", "x"),
			turn("d", "y"),
		},
		{
			"the batch",
			[]string{"started", "prepared", "replied calls=[c1 read {} ; c2 read {}]"},
			[]string{"decided c1 allow read", "decided c2 deny"},
			[]string{"decided c2 ask once", "decided c1 deny", "approved c2"},
		},
		{
			"claims",
			[]string{"started", "prepared", "replied calls=[c1 pay {} ; c2 pay {} ; c3 pay {}]", "decided c1 allow once key=k1", "begun c1", "returned c1 ok", "decided c2 allow once key=k2", "decided c3 allow once key=k3", "begun c2"},
			[]string{"returned c2 ok", "begun c3", "returned c3 ok"},
			[]string{"returned c2 error in_doubt"},
		},
		{
			"a take-over",
			[]string{"started", "prepared", "replied calls=[c1 read {} ; c2 pay {}]", "decided c1 allow read", "decided c2 ask once expires=1h", "begun c1"},
			[]string{"resumed", "decided c1 allow read"},
			[]string{"returned c1 ok", "resumed", "approved c2"},
		},
		{
			"questions",
			[]string{"started", "prepared", "replied calls=[c1 pay {} ; c2 pay {\"n\":2}]", "decided c1 ask once expires=1h on_expiry=escalate", "decided c2 ask once expires=2h"},
			[]string{"fired approval cmd=7", "approved c2", "said"},
			[]string{"refused c1", "fired approval cmd=9"},
		},
		{
			"resolutions",
			[]string{"started unknown=wait", "prepared", "replied calls=[c1 pay {} ; c2 read {}]", "decided c1 allow once", "decided c2 allow read", "begun c1", "resumed"},
			[]string{"resolved c1 still_unknown"},
			[]string{"resolved c1 landed result=ok"},
		},
		{
			"notices",
			[]string{"started", "noticed n1", "noticed n2", "noticed n3"},
			[]string{"noticed n4", "prepared notices=n1", "replied calls=[c1 read {}]"},
			[]string{"noticed n5", "prepared notices=n2,n3", "replied calls=[c1 read {}]"},
		},
		{
			"an observation",
			[]string{"started observe", "prepared", "replied calls=[c1 read {} ; c2 pay {}]", "decided c1 allow read", "decided c2 allow once", "begun c1", "returned c1 fatal_error"},
			[]string{"observed c1"},
			[]string{"resumed", "observed c1", "observed c2"},
		},
		{
			"evidence",
			[]string{"started verify=each_turn", "prepared", "replied calls=[c1 read {}]", "decided c1 allow read", "begun c1", "returned c1 ok", "verified false evidence=e1,e2"},
			[]string{"prepared", "replied text", "verified true evidence=e3"},
			[]string{"prepared", "replied text", "verified false evidence=e4"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := playLines(t, newPlayer(), c.before)
			first := playLines(t, root.branch(), c.a)
			states := []State{root.state, first.state}
			before := [][]byte{encoded(t, root.state), encoded(t, first.state)}
			second := playLines(t, root.branch(), c.b)
			for i, s := range states {
				if after := encoded(t, s); !bytes.Equal(before[i], after) {
					t.Errorf("state %d was\n%s\nand is\n%s", i, before[i], after)
				}
			}
			if bytes.Equal(before[1], encoded(t, second.state)) {
				t.Error("both futures are the same: the case shows nothing")
			}
		})
	}
}

// branch is a player that goes on from the same state on its own.
func (p *player) branch() *player {
	q := *p
	q.out = slices.Clone(p.out)
	return &q
}

// playLines plays lines none of which may be refused.
func playLines(t *testing.T, p *player, lines []string) *player {
	t.Helper()
	for _, line := range lines {
		results, err := p.line(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, r := range results {
			if r[0] == '!' {
				t.Fatalf("%s: %s", line, r)
			}
		}
	}
	return p
}
