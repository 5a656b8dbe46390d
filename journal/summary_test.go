package journal_test

import (
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// A run whose call is observed, or whose model writes a summary, is driven: it
// waits for nobody, even where the next call has a question out. Once the
// observers have looked, it waits for people alone.
func TestSummaryOfARunThatIsObserved(t *testing.T) {
	at := kernel.Time(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	var s kernel.State
	head := journal.Head{Run: "r"}
	is := func(want journal.State, waitingFor string, events ...kernel.Event) {
		t.Helper()
		for _, e := range events {
			next, _, err := kernel.Step(s, e)
			if err != nil {
				t.Fatalf("%s: %v", e.Kind(), err)
			}
			s = next
		}
		h := head
		h.Reach(&s, time.Unix(0, int64(at)).UTC())
		if h.State != want || h.WaitingFor != waitingFor {
			t.Errorf("%s is %s, waiting for %q; want %s for %q", kernel.DescribeState(s), h.State, h.WaitingFor, want, waitingFor)
		}
	}
	spec := kernel.Spec{MaxTokens: 10, SummaryTokens: 5, Observe: true, Limits: kernel.DefaultLimits(), Retry: kernel.DefaultRetry()}
	is(journal.Running, "", kernel.RunStarted{At: at, Spec: spec}, kernel.ContextOver{At: at, Cmd: 2, InputTokens: 9})
	is(journal.Running, "", kernel.Summarized{At: at, Cmd: 3, Size: 4}, kernel.ContextPrepared{At: at, Cmd: 4})
	is(journal.Running, "", kernel.ModelReplied{At: at, Cmd: 5, Turn: 1, Reply: kernel.ReplyFacts{
		Stop: kernel.StopCalls, Blocks: []kernel.BlockFact{{Kind: kernel.BlockCall}, {Kind: kernel.BlockCall}},
		Calls: []kernel.Call{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "f", Arguments: "{}"}},
	}})
	is(journal.Running, "", kernel.CallDecided{At: at, Cmd: 7, Call: "b", Answer: kernel.Ask, Effect: kernel.Once, Attempts: 1},
		kernel.CallDecided{At: at, Cmd: 6, Call: "a", Answer: kernel.Deny})
	is(journal.Waiting, string(kernel.WaitApproval), kernel.Observed{At: at, Cmd: s.Observing, Call: "a"})
}
