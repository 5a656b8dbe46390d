package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// label is how a tool of the scenario differs from what it is there. The zero
// value is no difference.
type label struct {
	Tool  string
	Class kernel.EffectClass // empty: as it was
	Gone  bool
	Wants string // an argument that it requires by now
}

// put puts the label on.
func (l label) put(tools ...tool.Tool) []tool.Tool {
	out := make([]tool.Tool, 0, len(tools))
	for _, t := range tools {
		switch {
		case t.Spec().Name != l.Tool:
			out = append(out, t)
		case l.Gone:
		default:
			out = append(out, l.of(t))
		}
	}
	return out
}

// of is the tool as the label has it. One that can be asked for its effects still
// can.
func (l label) of(t tool.Tool) tool.Tool {
	if f, ok := t.(finder); ok {
		return relabelledFinder{relabelled{f, l}, f}
	}
	return relabelled{t, l}
}

type relabelled struct {
	tool.Tool
	label label
}

func (r relabelled) Spec() tool.Spec {
	s := r.Tool.Spec()
	if r.label.Class != "" {
		s.Effect = r.label.Class
	}
	if w := r.label.Wants; w != "" {
		s.Schema = fmt.Appendf(nil, `{"type":"object","properties":{%[1]q:{"type":"string"}},"required":[%[1]q],"additionalProperties":false}`, w)
	}
	return s
}

type relabelledFinder struct {
	relabelled
	tool.Lookuper
}

// What a call comes to whose tool is another one after its process was killed.
const (
	inDoubt   = "Interrupted, may have taken effect"
	notAgain  = "Interrupted, and may have taken effect; not run again"
	noEffect  = "Interrupted without effect; not run again"
	isDone    = "is done"
	unclaimed = journal.EffectState("") // it has no row in the ledger
)

// relabelledAfterAKill is design section 5, in every direction: the class that was
// recorded counts, and where the tool counts as more by now, what has begun does
// not begin again.
func relabelledAfterAKill(t *testing.T, s Subject) {
	for _, tt := range []struct {
		label label
		told  string // the model, of the call: how that begins or ends
		row   journal.EffectState
		runs  bool // again, or for the first time
	}{
		{label{Tool: look, Class: kernel.Once}, inDoubt, unclaimed, false},
		{label{Tool: look, Class: kernel.Idempotent}, inDoubt, unclaimed, false},
		{label{Tool: look, Gone: true}, noEffect, unclaimed, false},
		{label{Tool: look, Wants: "where"}, noEffect, unclaimed, false},
		{label{Tool: put, Class: kernel.Read}, isDone, journal.EffectLanded, true},
		{label{Tool: put, Class: kernel.Once}, inDoubt, journal.EffectUnknown, false},
		{label{Tool: put, Gone: true}, notAgain, journal.EffectUnknown, false},
		{label{Tool: put, Wants: "where"}, notAgain, journal.EffectUnknown, false},
		{label{Tool: move, Class: kernel.Read}, isDone, journal.EffectLanded, true},
		{label{Tool: move, Class: kernel.Once}, isDone, journal.EffectLanded, true},
		{label{Tool: move, Gone: true}, inDoubt, journal.EffectUnknown, false},
		{label{Tool: charge, Class: kernel.Read}, inDoubt, journal.EffectUnknown, false},
		{label{Tool: charge, Class: kernel.Idempotent}, inDoubt, journal.EffectUnknown, false},
		{label{Tool: charge, Gone: true}, inDoubt, journal.EffectUnknown, false},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %+v killed behind its effect %t", tt.label.Tool, tt.label, after), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if _, died := play(t, part{Dir: dir, Kill: Kill{Call: tt.label.Tool, After: after}}); !died {
					t.Fatal("nobody was killed")
				}
				before := len(happened(dir, tt.label.Tool))
				if _, err := (part{Dir: dir, Work: true, Label: tt.label}).play(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				got := read(t, dir)
				got.wantSound(t)
				if told := got.results()[tt.label.Tool]; !strings.HasPrefix(told, tt.told) && !strings.HasSuffix(told, tt.told) {
					t.Errorf("the model is told %q, want %q", told, tt.told)
				}
				if runs := len(got.outside[tt.label.Tool]) > before; runs != tt.runs && (tt.label.Tool != move || !after) {
					t.Errorf("it ran again: %t, want %t", runs, tt.runs)
				}
				if row := got.row(tt.label.Tool); row != tt.row {
					t.Errorf("the ledger says %q, want %q", row, tt.row)
				}
			})
		}
	}
}

// row is what the ledger says of a tool's one effect.
func (e *end) row(name string) journal.EffectState {
	i := slices.IndexFunc(e.ledger, func(row journal.Effect) bool { return row.Tool == name })
	if i < 0 {
		return unclaimed
	}
	return e.ledger[i].State
}
