package journaltest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Story writes runs whose events are the kernel's, with all that stands beside
// them:
//
//	story-1  an effect that landed, one that did not happen, and one in doubt, of
//	         which a person could not find out more; a yes that was spent, a no; stopped
//	story-2  an effect in doubt that was found to have landed; cancelled while it
//	         asks
//	story-3  waits for the second of two people
//	story-4  claims the key again that had no effect in story-1; its model saw the
//	         notice shown, the notice late came too late for it, and waits was not
//	         taken up; stopped
func Story(t *testing.T, j journal.Journal) {
	t.Helper()
	two := kernel.Approvers{Quorum: 2, From: []string{"ben", "cleo"}}
	tell(t, j, "story-1", plot{
		"c1": {class: kernel.Once, as: kernel.Landed},
		"c2": {class: kernel.Idempotent, key: "order 1", as: kernel.DidNotHappen},
		"c3": {class: kernel.Once, as: kernel.InDoubt, found: kernel.FoundUnknown},
		"c4": {class: kernel.Once, as: kernel.Landed, asks: two, votes: []string{"ben", "cleo"}},
		"c5": {class: kernel.Once, asks: two, votes: []string{"cleo"}, no: true},
	})
	tell(t, j, "story-2", plot{
		"c1": {class: kernel.Reconcilable, as: kernel.InDoubt, found: kernel.FoundLanded},
		"c2": {class: kernel.Once, asks: two, cancel: true},
	})
	tell(t, j, "story-3", plot{"c1": {class: kernel.Once, asks: two, votes: []string{"ben"}}})
	tell(t, j, "story-4", plot{"c1": {class: kernel.Idempotent, key: "order 1", as: kernel.Landed, arguments: `{"for":"c2"}`}})
}

// plot says what becomes of the calls of a run: c1, c2 and so on.
type plot map[string]fate

type fate struct {
	class     kernel.EffectClass
	key       string // the tool's
	arguments string // empty: its own
	asks      kernel.Approvers
	votes     []string // who votes, in order
	no        bool     // the last of them refuses
	cancel    bool     // the run, while it asks
	as        kernel.Disposition
	found     kernel.Finding // by a person, when in doubt
}

// teller takes one run through its events, and stores what follows from them.
type teller struct {
	t     *testing.T
	j     journal.Journal
	plot  plot
	head  journal.Head
	state kernel.State
	seq   int64
	entry journal.Entry
	queue []kernel.Command
}

func tell(t *testing.T, j journal.Journal, run string, p plot) {
	t.Helper()
	s := &teller{t: t, j: j, plot: p, head: headOf(run)}
	s.head.Session, s.head.StartedAt = "of "+run, epoch()
	if run == "story-4" {
		s.notify("shown", "late", "waits")
	}
	s.take(kernel.RunStarted{At: s.now(), Spec: kernel.Spec{
		MaxTokens: 100, Limits: kernel.Limits{Turns: 4, Calls: 9, Deadline: time.Hour}, Retry: kernel.DefaultRetry(), Unknown: kernel.UnknownWait,
	}}, []byte(`{"text":"go"}`))
	if run == "story-4" {
		s.notice("shown")
	}
	for len(s.queue) > 0 {
		c := s.queue[0]
		s.queue = s.queue[1:]
		s.carryOut(c)
	}
}

func (s *teller) now() kernel.Time {
	return kernel.Time(epoch().Add(time.Duration(s.seq) * time.Second).UnixNano())
}

// take applies an event and commits it, with its rows.
func (s *teller) take(e kernel.Event, content []byte) {
	s.t.Helper()
	next, commands, err := kernel.Step(s.state, e)
	if err != nil {
		s.t.Fatalf("%s: %s: %v", s.head.Run, e.Kind(), err)
	}
	s.state = next
	s.seq++
	payload, err := kernel.EncodeEvent(e)
	if err != nil {
		s.t.Fatal(err)
	}
	at := time.Unix(0, int64(e.When())).UTC()
	for _, c := range commands {
		s.keep(c, content)
	}
	s.head.Reach(&s.state, at)
	s.entry.Head = s.head
	s.entry.Records = []journal.Record{{Seq: s.seq, At: at, Kind: e.Kind(), Payload: payload, Content: content}}
	s.entry.Lease, s.entry.Now = &journal.Lease{Owner: "teller", Token: 1, Until: at.Add(time.Minute)}, at
	if err := s.j.Append(s.t.Context(), s.entry); err != nil {
		s.t.Fatalf("%s: %s: %v", s.head.Run, e.Kind(), err)
	}
	s.entry = journal.Entry{}
	s.queue = append(s.queue, commands...)
}

// notify leaves notices for the session.
func (s *teller) notify(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		n := journal.Notice{ID: id, Tenant: s.head.Tenant, User: s.head.User, Session: s.head.Session, By: "ops", At: epoch(), Text: "about " + id}
		if _, err := s.j.Notify(s.t.Context(), n); err != nil {
			s.t.Fatal(err)
		}
	}
}

// attached are the notices that go with a request: those that it has from the
// first.
func (s *teller) attached() []string {
	if s.state.Turn > 0 {
		return nil
	}
	return s.state.Notices
}

// notice lets the run take a notice up.
func (s *teller) notice(id string) {
	s.t.Helper()
	text := "about " + id
	s.take(kernel.Noticed{At: s.now(), Notice: id, By: "ops", Size: len(text)}, []byte(`{"text":"`+text+`"}`))
}

// keep stores what a command stands for.
func (s *teller) keep(c kernel.Command, content []byte) {
	at := time.Unix(0, int64(s.state.Now)).UTC()
	switch c := c.(type) {
	case kernel.AskHuman:
		s.entry.Asked = append(s.entry.Asked, journal.Question(&s.head, &c, s.state.Now))
	case kernel.CloseApproval:
		id := journal.ApprovalID(s.head.Run, c.Cmd)
		s.entry.Closed = append(s.entry.Closed, journal.Close{Approval: id, As: journal.ApprovalState(c.As), At: at})
	case kernel.Settle:
		end := journal.Settlement{Effect: c.Effect, Call: c.Call, Disposition: c.Disposition, At: at}
		if c.Disposition == kernel.Landed {
			end.Result, end.Facts = content, jsonOf(c.Result)
		}
		s.entry.Settled = append(s.entry.Settled, end)
	}
}

// carryOut does what a command says, and reports it.
func (s *teller) carryOut(c kernel.Command) {
	s.t.Helper()
	switch c := c.(type) {
	case kernel.PrepareContext:
		s.take(kernel.ContextPrepared{At: s.now(), Cmd: c.Cmd, InputTokens: 10, Messages: 1, Attached: s.attached()}, nil)
	case kernel.CallModel:
		if seen := s.state.Attached; len(seen) > 0 && c.Turn == 1 {
			s.notice("late") // while the model is asked
			s.entry.Seen = seen
		}
		s.take(s.reply(&c), []byte(`{"role":"assistant"}`))
	case kernel.DecideCall:
		f := s.plot[c.Call.ID]
		e := kernel.CallDecided{At: s.now(), Cmd: c.Cmd, Call: c.Call.ID, Answer: kernel.Allow, Effect: f.class, Attempts: 1, Keyed: f.key != "", Key: f.key}
		if len(f.asks.From) > 0 {
			e.Answer, e.Reason, e.Asking = kernel.Ask, "it costs money", &kernel.Asking{Expires: 10 * time.Minute, Approvers: f.asks}
		}
		s.take(e, nil)
	case kernel.AskHuman:
		s.ask(&c)
	case kernel.RunTool:
		s.runTool(&c)
	case kernel.AwaitResolution:
		s.resolve(&c)
	}
}

// reply asks for all calls first, and answers then.
func (s *teller) reply(c *kernel.CallModel) kernel.Event {
	reply := kernel.ReplyFacts{Stop: kernel.StopEnd, Blocks: []kernel.BlockFact{{Kind: kernel.BlockText, Size: 4}}, Size: 4}
	if c.Turn == 1 {
		reply = kernel.ReplyFacts{Stop: kernel.StopCalls, Size: 4}
		for n := range len(s.plot) {
			id := "c" + string(rune('1'+n))
			arguments := s.plot[id].arguments
			if arguments == "" {
				arguments = `{"for":"` + id + `"}`
			}
			reply.Blocks = append(reply.Blocks, kernel.BlockFact{Kind: kernel.BlockCall, Size: 4})
			reply.Calls = append(reply.Calls, kernel.Call{ID: id, Name: "pay", Arguments: arguments})
		}
	}
	return kernel.ModelReplied{At: s.now(), Cmd: c.Cmd, Turn: c.Turn, Reply: reply}
}

// ask lets people vote, and tells the run once they have decided.
func (s *teller) ask(c *kernel.AskHuman) {
	s.t.Helper()
	f := s.plot[c.Call.ID]
	if f.cancel && len(s.queue) > 0 {
		s.queue = append(s.queue, *c) // the other calls first
		return
	}
	if f.cancel {
		s.take(kernel.Cancelled{At: s.now()}, nil)
		return
	}
	id := journal.ApprovalID(s.head.Run, c.Cmd)
	for i, by := range f.votes {
		at := time.Unix(0, int64(s.now())).UTC().Add(time.Duration(i))
		a, err := s.j.Decide(s.t.Context(), journal.Vote{ID: "v" + by, Approval: id, By: by, Approve: !f.no, At: at})
		if err != nil {
			s.t.Fatal(err)
		}
		if a.State == journal.ApprovalOpen {
			continue
		}
		s.entry.Applied = s.signals()
		s.take(kernel.ApprovalDecided{
			At: s.now(), Cmd: c.Cmd, Call: c.Call.ID, Approved: !f.no, By: by, Digest: c.Digest, Approval: id, Given: kernel.Time(at.UnixNano()),
		}, nil)
	}
}

func (s *teller) signals() []int64 {
	s.t.Helper()
	signals, err := s.j.Signals(s.t.Context(), s.head.Run)
	if err != nil {
		s.t.Fatal(err)
	}
	var numbers []int64
	for i := range signals {
		numbers = append(numbers, signals[i].Number)
	}
	return numbers
}

func (s *teller) runTool(c *kernel.RunTool) {
	s.t.Helper()
	started := kernel.CallStarted{At: s.now(), Cmd: c.Cmd, Call: c.Call.ID}
	claim := journal.ClaimOf(&s.head, c, started.At)
	started.Effect, s.entry.Claim = claim.ID, &claim
	if c.Approval != 0 {
		s.entry.Spent = journal.ApprovalID(s.head.Run, c.Approval)
	}
	s.take(started, nil)
	facts := kernel.ResultFacts{Status: kernel.StatusOK, Disposition: s.plot[c.Call.ID].as, Digest: "d", Size: 4}
	if facts.Disposition != kernel.Landed {
		facts.Status = kernel.StatusError
	}
	s.take(kernel.CallReturned{At: s.now(), Cmd: c.Cmd, Call: c.Call.ID, Result: facts}, []byte(`{"text":"paid `+c.Call.ID+`"}`))
}

// resolve lets a person find out what became of an effect.
func (s *teller) resolve(c *kernel.AwaitResolution) {
	s.t.Helper()
	r := journal.Resolution{ID: "r", Effect: c.Effect, As: s.plot[c.Call.ID].found, By: "ann", Note: "looked", At: time.Unix(0, int64(s.now())).UTC()}
	if r.As == kernel.FoundLanded {
		r.Result = []byte("a receipt")
	}
	if _, err := s.j.Resolve(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
	s.entry.Applied = s.signals()
	s.take(kernel.EffectResolved{At: s.now(), Call: c.Call.ID, Effect: c.Effect, As: r.As, By: r.By, Note: r.Note}, nil)
}

// testVerified holds what stands beside the events to them.
func testVerified(t *testing.T, j journal.Journal) {
	Story(t, j)
	report, err := journal.VerifyAll(t.Context(), j, nil)
	if err != nil || report.Flaw != nil || report.Runs != 4 {
		t.Errorf("%+v, %v, %v", report, report.Flaw, err)
	}
}

func jsonOf(v any) []byte {
	text, _ := json.Marshal(v) // strings and numbers
	return text
}
