package kernel

import (
	"strings"
	"testing"
)

// running is a run whose one call runs, and the number of its command.
func running(t *testing.T, attempts int) (State, Seq) {
	t.Helper()
	spec := Spec{MaxTokens: 1, Limits: DefaultLimits(), Retry: DefaultRetry()}
	reply := ReplyFacts{Stop: StopCalls, Blocks: []BlockFact{{Kind: BlockCall}}, Calls: []Call{{ID: "a", Name: "f", Arguments: "{}"}}}
	s := follow(t, State{}, RunStarted{Spec: spec})
	s = follow(t, s, ContextPrepared{Cmd: s.Awaiting})
	s = follow(t, s, ModelReplied{Cmd: s.Awaiting, Turn: 1, Reply: reply})
	s = follow(t, s, CallDecided{Cmd: s.Batch[0].Cmd, Call: "a", Answer: Allow, Effect: Read, Attempts: attempts})
	return follow(t, s, CallStarted{Cmd: s.Batch[0].Cmd, Call: "a"}), s.Batch[0].Cmd
}

func follow(t *testing.T, s State, e Event) State {
	t.Helper()
	next, _, err := Step(s, e)
	if err != nil {
		t.Fatalf("%s: %v", e.Kind(), err)
	}
	return next
}

// Row 69 and case 33: observations are counted from 1; after a retryable error
// an ok is taken, after a fatal one nothing is, and there is no other status.
func TestObservations(t *testing.T) {
	s, cmd := running(t, 2)
	if s.Observations != 0 {
		t.Fatalf("%d observations before the first", s.Observations)
	}
	s = follow(t, s, CallReturned{Cmd: cmd, Call: "a", Result: ResultFacts{Status: StatusRetryable, Disposition: DidNotHappen}})
	if s.Observations != 1 {
		t.Errorf("the first observation is number %d", s.Observations)
	}
	s = follow(t, s, TimerFired{Cmd: s.Batch[0].Cmd, At: s.Batch[0].Due})
	cmd = s.Batch[0].Cmd
	s = follow(t, s, CallStarted{Cmd: cmd, Call: "a", At: s.Now})
	if _, _, err := Step(s, CallReturned{Cmd: cmd, Call: "a", Result: ResultFacts{Status: "weird", Disposition: Landed}}); CodeOf(err) != CodeInvalidEvent {
		t.Errorf("a status that is none gives %v", err)
	}
	s = follow(t, s, CallReturned{Cmd: cmd, Call: "a", Result: ResultFacts{Status: StatusOK, Disposition: Landed}})
	if s.Observations != 2 || s.Phase != PhasePreparing {
		t.Errorf("observation %d, then %s", s.Observations, s.Phase)
	}

	s, cmd = running(t, 1)
	s = follow(t, s, CallReturned{Cmd: cmd, Call: "a", Result: ResultFacts{Status: StatusFatal, Disposition: DidNotHappen}})
	if s.Outcome == nil || s.Outcome.Stop != StopFatal {
		t.Fatalf("a fatal error leaves %s", DescribeState(s))
	}
	if _, _, err := Step(s, CallReturned{Cmd: cmd, Call: "a", Result: ResultFacts{Status: StatusOK, Disposition: Landed}}); CodeOf(err) != CodeRunStopped {
		t.Errorf("after a fatal error: %v", err)
	}
}

// Row 41: a refusal says first that nothing was run, is an error, and keeps the
// call's id.
func TestRefusalSaysThatNothingRan(t *testing.T) {
	s, _ := running(t, 1)
	for _, e := range []CallDecided{{Answer: Deny, Reason: "closed"}, {Answer: Invalid, Reason: "n must be an integer"}} {
		before := s
		before.Batch = []CallState{{Call: s.Batch[0].Call, Stage: StageDeciding, Cmd: 99}}
		before.LastCmd = 99
		e.Cmd, e.Call = 99, "a"
		_, commands, err := Step(before, e)
		if err != nil {
			t.Fatal(err)
		}
		c, ok := commands[0].(Commit)
		if !ok || c.Call != "a" || !c.IsError || !strings.HasPrefix(c.Text, "Not run: ") || !strings.Contains(c.Text, e.Reason) {
			t.Errorf("%s is answered by %+v", e.Answer, commands[0])
		}
	}
}

// I13: a preparation that fails changes nothing of the history.
func TestFailedPreparationCommitsNothing(t *testing.T) {
	s := follow(t, State{}, RunStarted{Spec: Spec{MaxTokens: 1, Limits: DefaultLimits(), Retry: DefaultRetry()}})
	for _, fault := range []ContextFault{ContextTooLarge, ContextClarification, ContextBroken} {
		_, commands, err := Step(s, ContextFailed{Cmd: s.Awaiting, Fault: fault})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if commit, ok := c.(Commit); ok {
				t.Errorf("%s commits %+v", fault, commit)
			}
		}
	}
}
