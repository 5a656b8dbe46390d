package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

func setOf(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestJoin(t *testing.T) {
	first, second := fake{spec: spec("a", pairSchema)}, fake{spec: spec("a", emptySchema)}
	base, more := setOf(t, first), setOf(t, second, fake{spec: spec("b", pairSchema)})
	joined, warnings := tool.Join(nil, base, more)
	if !slices.Equal(joined.Names(), []string{"a", "b"}) {
		t.Errorf("names %q", joined.Names())
	}
	if joined.Definition("a") != base.Definition("a") || joined.Definition("a") == more.Definition("a") {
		t.Error("the later tool of a name took its place")
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "have already: a") {
		t.Errorf("warnings %q", warnings)
	}
	if got, warnings := tool.Join(base, nil, setOf(t)); got != base || warnings != nil {
		t.Errorf("a set among empty ones became %v, %q", got, warnings)
	}
	if got, warnings := tool.Join(); len(got.Names()) != 0 || warnings != nil {
		t.Errorf("nothing became %v, %q", got.Names(), warnings)
	}
}

// A request offers at most MaxTools, of all sources together.
func TestJoinLeavesOutWhatIsOver(t *testing.T) {
	var list []tool.Tool
	for i := range tool.MaxTools {
		list = append(list, fake{spec: spec(fmt.Sprintf("t%03d", i), pairSchema)})
	}
	joined, warnings := tool.Join(setOf(t, fake{spec: spec("z", pairSchema)}), setOf(t, list...))
	if len(joined.Names()) != tool.MaxTools || !slices.Contains(joined.Names(), "z") || slices.Contains(joined.Names(), "t127") {
		t.Errorf("%d names, the last %q", len(joined.Names()), joined.Names()[len(joined.Names())-1])
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "at most 128") || !strings.Contains(warnings[0], "t127") {
		t.Errorf("warnings %q", warnings)
	}
}

// Row 34: a tool has a risk, its own or that of its class, and it is part of
// what the tool is.
func TestRisk(t *testing.T) {
	risky := func(effect kernel.EffectClass, risk kernel.Risk) tool.Tool {
		s := spec("x", pairSchema)
		s.Effect, s.Risk = effect, risk
		return fake{spec: s}
	}
	for _, tt := range []struct {
		effect kernel.EffectClass
		risk   kernel.Risk
		want   kernel.Risk
	}{
		{kernel.Read, "", kernel.RiskLow}, {kernel.Idempotent, "", kernel.RiskMedium}, {kernel.Once, "", kernel.RiskHigh}, {"", "", kernel.RiskHigh},
		{kernel.Read, kernel.RiskHigh, kernel.RiskHigh}, {kernel.Once, kernel.RiskLow, kernel.RiskLow},
	} {
		got, _ := setOf(t, risky(tt.effect, tt.risk)).Spec("x")
		if got.Risk != tt.want {
			t.Errorf("a tool of class %q and risk %q has risk %q, want %q", tt.effect, tt.risk, got.Risk, tt.want)
		}
	}
	low, high := setOf(t, risky(kernel.Read, kernel.RiskLow)), setOf(t, risky(kernel.Read, kernel.RiskHigh))
	if low.Digest() == high.Digest() || low.Definition("x") == high.Definition("x") {
		t.Error("the risk does not enter the digest")
	}
	if low.Digest() != setOf(t, risky(kernel.Read, "")).Digest() {
		t.Error("a risk that is left out is another one than the same risk given")
	}
	if _, err := tool.NewSet(risky(kernel.Read, "grave")); kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), "risk") {
		t.Errorf("an unknown risk: %v", err)
	}
}
