package kernel

import (
	"fmt"
	"testing"
)

// Row 75: the notices that are pending are bounded; one that is refused changes
// nothing, and there is room again once some were seen.
func TestNoticesAreBounded(t *testing.T) {
	p := playLines(t, newPlayer(), []string{"started"})
	all := ""
	for i := range MaxNotices {
		playLines(t, p, []string{fmt.Sprintf("noticed n%d", i)})
		all += fmt.Sprintf(",n%d", i)
	}
	if _, _, err := Step(p.state, Noticed{At: p.now, Notice: "more"}); CodeOf(err) != CodeInvalidEvent {
		t.Fatalf("notice %d: %v", MaxNotices+1, err)
	}
	playLines(t, p, []string{"prepared notices=" + all[1:], "replied calls=[c1 read {}]", "noticed more"})
	if got := fmt.Sprint(p.state.Notices); got != "[more]" {
		t.Errorf("pending: %s", got)
	}
}
