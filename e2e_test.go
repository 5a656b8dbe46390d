package holdfast_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/anthropic"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/multiply"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is one way to reach a model. Every test of this file holds on all four:
// the stub refuses whatever the real endpoints refuse.
type wire struct {
	name      string
	anthropic bool
	stream    bool
}

func onEveryWire(t *testing.T, f func(t *testing.T, w wire)) {
	t.Helper()
	for _, w := range []wire{
		{"openai", false, false}, {"openai stream", false, true},
		{"anthropic", true, false}, {"anthropic stream", true, true},
	} {
		t.Run(w.name, func(t *testing.T) { f(t, w) })
	}
}

const key = "sk-do-not-show"

func serve(t *testing.T, steps ...stub.Step) *stub.Server {
	t.Helper()
	srv, err := stub.Start(stub.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.Play(steps...)
	return srv
}

func (w wire) model(t *testing.T, srv *stub.Server, p kernel.Profile) model.Model {
	t.Helper()
	if w.anthropic {
		m, err := anthropic.New(anthropic.Config{BaseURL: srv.AnthropicURL(), Key: key, Name: "m", Profile: p, Stream: w.stream})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	m, err := openai.New(openai.Config{BaseURL: srv.OpenAIURL(), Key: key, Name: "m", Profile: p, Stream: w.stream})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// ledger is a tool that remembers what reached it.
type ledger struct{ got []string }

func (l *ledger) Spec() tool.Spec {
	return tool.Spec{
		Name: "note", Description: "Keeps a note.", Effect: kernel.Once,
		Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"},"id":{"type":"integer"}},"additionalProperties":false}`),
	}
}

func (l *ledger) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	l.got = append(l.got, string(c.Arguments))
	return tool.Result{Text: fmt.Sprintf("note %d kept", len(l.got))}, nil
}

// agent has multiply and note, both allowed, and retries without waiting.
func agent(t *testing.T, m model.Model) (*holdfast.Agent, *ledger) {
	t.Helper()
	notes := &ledger{}
	set, err := tool.NewSet(multiply.New(), notes)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "*"}})
	if err != nil {
		t.Fatal(err)
	}
	return &holdfast.Agent{Model: m, Tools: set, Policy: rules, Limits: kernel.DefaultLimits()}, notes
}

func ask(t *testing.T, a *holdfast.Agent) *holdfast.Run {
	t.Helper()
	rt, err := holdfast.Open(t.Context(), holdfast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rt.Close() }()
	run, err := rt.Run(t.Context(), a, "What is 248 times 15?")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// accepted fails the test when the strict endpoint refused a request.
func accepted(t *testing.T, srv *stub.Server, want int) []*stub.Request {
	t.Helper()
	requests := srv.Requests()
	for _, r := range requests {
		if r.Refused != "" {
			t.Errorf("request %d was refused: %s", r.Index, r.Refused)
		}
	}
	if len(requests) != want {
		t.Errorf("%d requests, want %d", len(requests), want)
	}
	return requests
}

func stopped(t *testing.T, r *holdfast.Run, want kernel.Stop) {
	t.Helper()
	if r.Outcome.Stop != want {
		t.Fatalf("stop %s (%s), want %s", r.Outcome.Stop, r.Outcome.Detail, want)
	}
}

// Case 1, rows 1–5: two requests; the second ends with the result under the
// call's own id.
func TestMultiply(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t, stub.Calls(stub.Call{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}), stub.Text("3720"))
		a, _ := agent(t, w.model(t, srv, kernel.Strict))
		r := ask(t, a)
		stopped(t, r, kernel.StopAnswered)
		requests := accepted(t, srv, 2)
		last := requests[1].Messages[len(requests[1].Messages)-1]
		want := []stub.Result{{ID: "call_1", Text: `{"status":"completed","result":3720}`}}
		if !cmp.Equal(last.Results, want) {
			t.Error(cmp.Diff(want, last.Results))
		}
		if r.Answer != "3720" || r.Outcome.LastGood != kernel.LinkTool || r.Outcome.FirstBad != "" {
			t.Errorf("answer %q, outcome %+v", r.Answer, r.Outcome)
		}
	})
}

// Cases 2–4, Report A41: faults of a call become its result, every id is
// answered, and the loop goes on.
func TestFaultsOfCallsAreAnswered(t *testing.T) {
	calls := []stub.Call{
		{ID: "a", Name: "multiply", Args: `{"a":"248","b":15}`},
		{ID: "b", Name: "multiply", Args: `{"a":true,"b":15}`},
		{ID: "c", Name: "multiply", Args: `{"a":1.0,"b":15}`},
		{ID: "d", Name: "multiply", Args: `{"a":1,"b":15,"user_id":"bob"}`},
		{ID: "e", Name: "multiply", Args: `{"a":1000001,"b":1}`},
		{ID: "f", Name: "multiply", Args: `{"a":1000000,"b":-1000000}`},
		{ID: "g", Name: "divide", Args: `{}`},
		{ID: "h", Name: "multiply", Args: `{}`},
	}
	want := []string{"a must be an integer", "a must be an integer", "a must be an integer", "unexpected arguments: user_id", "a must be", `"result":-1000000000000`, "multiply", "missing arguments: a, b"}
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t, stub.Calls(calls...), stub.Text("sorry"))
		a, _ := agent(t, w.model(t, srv, kernel.Strict))
		stopped(t, ask(t, a), kernel.StopAnswered)
		requests := accepted(t, srv, 2)
		var results []stub.Result
		for _, m := range requests[1].Messages {
			results = append(results, m.Results...)
		}
		if len(results) != len(calls) {
			t.Fatalf("%d results", len(results))
		}
		for i, r := range results {
			if r.ID != calls[i].ID || !strings.Contains(r.Text, want[i]) {
				t.Errorf("result %d: %+v, want %q", i, r, want[i])
			}
		}
	})
}

// Cases 5, 6, 13, 23, rows 6, 7, 56, 61, Report A10: a truncated reply runs
// nothing; one request with twice the output follows, and then a stop.
func TestTruncation(t *testing.T) {
	cut := stub.Answer(stub.Reply{Calls: []stub.Call{{ID: "a", Name: "note", Args: `{"text":"half"}`}}, Stop: kernel.StopLength})
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t, cut, stub.Answer(stub.Reply{Text: "The answer is", Stop: kernel.StopLength}))
		a, notes := agent(t, w.model(t, srv, kernel.Strict))
		r := ask(t, a)
		stopped(t, r, kernel.StopTruncated)
		requests := accepted(t, srv, 2)
		if r.Outcome.Detail != "output_still_truncated" || len(notes.got) != 0 || r.Answer != "" {
			t.Errorf("outcome %+v, notes %q", r.Outcome, notes.got)
		}
		if requests[0].MaxTokens != 4096 || requests[1].MaxTokens != 8192 {
			t.Errorf("asked for %d and %d tokens", requests[0].MaxTokens, requests[1].MaxTokens)
		}
	})
}

// Case 7, row 9: eight requests that all call run eight times; there is no
// ninth request.
func TestTurnLimit(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t)
		for i := range 9 {
			srv.Play(stub.Calls(stub.Call{ID: fmt.Sprint("c", i), Name: "note", Args: fmt.Sprintf(`{"id":%d}`, i)}))
		}
		a, notes := agent(t, w.model(t, srv, kernel.Strict))
		r := ask(t, a)
		stopped(t, r, kernel.StopTurnLimit)
		accepted(t, srv, 8)
		if len(notes.got) != 8 || r.Outcome.Turns != 8 {
			t.Errorf("%d runs, outcome %+v", len(notes.got), r.Outcome)
		}
	})
}

// Cases 9–12, rows 8, 10–14: a reply that contradicts itself runs nothing.
func TestProtocolFaults(t *testing.T) {
	note := func(id string) stub.Call { return stub.Call{ID: id, Name: "note", Args: `{}`} }
	many := make([]stub.Call, 33)
	for i := range many {
		many[i] = note(fmt.Sprint("c", i))
	}
	faults := map[string][]stub.Step{
		"answer with a call":    {stub.Answer(stub.Reply{Text: "done", Calls: []stub.Call{note("a")}, Stop: kernel.StopEnd})},
		"blank answer":          {stub.Answer(stub.Reply{Text: " \n", Stop: kernel.StopEnd})},
		"calls without a call":  {stub.Answer(stub.Reply{Text: "hm", Stop: kernel.StopCalls})},
		"unknown stop":          {stub.Answer(stub.Reply{Calls: []stub.Call{note("a")}, Stop: "other:mystery"})},
		"one id twice":          {stub.Calls(note("a"), note("a"))},
		"an id of a turn ago":   {stub.Calls(note("a")), stub.Calls(note("a"))},
		"no id":                 {stub.Calls(note(""))},
		"an id of 201 chars":    {stub.Calls(note(strings.Repeat("x", 201)))},
		"33 blocks":             {stub.Calls(many...)},
		"nothing":               {stub.Answer(stub.Reply{Stop: kernel.StopEnd})},
		"calls, filtered, call": {stub.Answer(stub.Reply{Calls: []stub.Call{note("a")}, NoStop: true})},
	}
	onEveryWire(t, func(t *testing.T, w wire) {
		for name, steps := range faults {
			t.Run(name, func(t *testing.T) {
				srv := serve(t, steps...)
				a, notes := agent(t, w.model(t, srv, kernel.Strict))
				r := ask(t, a)
				stopped(t, r, kernel.StopProtocol)
				accepted(t, srv, len(steps))
				if len(notes.got) != len(steps)-1 || r.Outcome.FirstBad != kernel.LinkAdmission {
					t.Errorf("%d runs, outcome %+v", len(notes.got), r.Outcome)
				}
			})
		}
	})
}

// Report A06: with a tolerant profile the presence of complete calls decides,
// and missing or repeated ids are minted anew.
func TestTolerantProfile(t *testing.T) {
	note := func(id string) stub.Call { return stub.Call{ID: id, Name: "note", Args: `{}`} }
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t,
			stub.Answer(stub.Reply{Text: "let me", Calls: []stub.Call{note("a")}, Stop: kernel.StopEnd}),
			stub.Answer(stub.Reply{Calls: []stub.Call{note("a"), note("")}, Stop: "other:function_call"}),
			stub.Answer(stub.Reply{Calls: []stub.Call{note("b")}, NoStop: true}),
			stub.Text("done"))
		a, notes := agent(t, w.model(t, srv, kernel.Tolerant))
		a.Limits.Repeat = 0
		r := ask(t, a)
		stopped(t, r, kernel.StopAnswered)
		accepted(t, srv, 4)
		if len(notes.got) != 4 {
			t.Errorf("%d runs", len(notes.got))
		}
	})
}

// Case 14, row 53: a reply over the tool budget runs nothing at all.
func TestToolBudget(t *testing.T) {
	two := stub.Calls(stub.Call{ID: "a", Name: "note", Args: `{}`}, stub.Call{ID: "b", Name: "note", Args: `{}`})
	onEveryWire(t, func(t *testing.T, w wire) {
		for limit, want := range map[int]int{1: 0, 2: 2} {
			srv := serve(t, two, stub.Text("done"))
			a, notes := agent(t, w.model(t, srv, kernel.Strict))
			a.Limits.Calls = limit
			r := ask(t, a)
			if limit == 1 {
				stopped(t, r, kernel.StopToolLimit)
			} else {
				stopped(t, r, kernel.StopAnswered)
			}
			if len(notes.got) != want {
				t.Errorf("limit %d: %d runs", limit, len(notes.got))
			}
		}
	})
}

// Reports A07, A08, A09: arguments are one JSON object, digit for digit, or the
// call is answered and the history stays acceptable.
func TestArguments(t *testing.T) {
	big := `{"id":9007199254740993}`
	onEveryWire(t, func(t *testing.T, w wire) {
		first := []stub.Call{{ID: "a", Name: "note", Args: big}, {ID: "b", Name: "note", Args: "{}"}}
		if !w.anthropic || w.stream { // a plain Anthropic answer cannot carry broken JSON
			first = append(first,
				stub.Call{ID: "c", Name: "note", Args: ""},
				stub.Call{ID: "d", Name: "note", Args: `{"id":1}</tool_call>`},
				stub.Call{ID: "e", Name: "note", Args: `{"id":1}{"id":2}`})
		}
		srv := serve(t, stub.Calls(first...), stub.Text("done"))
		a, notes := agent(t, w.model(t, srv, kernel.Strict))
		stopped(t, ask(t, a), kernel.StopAnswered)
		requests := accepted(t, srv, 2)
		want := []string{big, "{}", "{}"}[:min(3, len(first))]
		if !cmp.Equal(notes.got, want) {
			t.Error(cmp.Diff(want, notes.got))
		}
		if !strings.Contains(string(requests[1].Body), "9007199254740993") {
			t.Error("the big integer is not in the history")
		}
	})
}

// Report A12: thinking is replayed as it was issued, in front of the call.
func TestThinkingIsReplayed(t *testing.T) {
	for _, stream := range []bool{false, true} {
		w := wire{anthropic: true, stream: stream}
		srv := serve(t, stub.Answer(stub.Reply{
			Thinking: []stub.Thinking{{Text: "plan", Signature: "SIG1"}, {Redacted: "ENC"}},
			Calls:    []stub.Call{{ID: "a", Name: "note", Args: `{}`}},
		}), stub.Text("done"))
		a, _ := agent(t, w.model(t, srv, kernel.Strict))
		r := ask(t, a)
		stopped(t, r, kernel.StopAnswered)
		requests := accepted(t, srv, 2)
		if got := requests[1].Messages[1].Thinking; len(got) != 2 || got[0].Signature != "SIG1" || got[1].Redacted != "ENC" {
			t.Errorf("replayed %+v", got)
		}
	}
}

// Case 20, rows 58–60, 62, 63, Report A42: one layer retries, four requests in all,
// and none for what waiting cannot mend.
func TestRetries(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		for status, sends := range map[int]int{429: 4, 529: 4, 500: 4, 400: 1, 401: 1, 404: 1} {
			srv := serve(t)
			srv.Always(stub.Status(status, "Retry-After", "0"))
			a, _ := agent(t, w.model(t, srv, kernel.Strict))
			r := ask(t, a)
			stopped(t, r, kernel.StopModelError)
			want := "request_budget"
			if sends == 1 {
				want = fmt.Sprintf("request_error:%d", status)
			}
			if srv.Count() != sends || r.Outcome.Requests != sends || r.Outcome.Detail != want || r.Outcome.FirstBad != kernel.LinkProvider {
				t.Errorf("status %d: %d requests, outcome %+v", status, srv.Count(), r.Outcome)
			}
		}
	})
}

// Case 24, Report A05: a cut stream is a failed request, and the tool that ran
// before it is not entered again.
func TestCutReplyIsSentAgain(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		cut := stub.Calls(stub.Call{ID: "b", Name: "note", Args: `{"text":"never"}`})
		cut.Cut = &stub.Cut{At: stub.At{Events: -1}, Abrupt: true}
		if !w.stream {
			cut.Cut.At = stub.At{Bytes: 40}
		} else if !w.anthropic {
			cut.Cut.At = stub.At{Events: 2} // before the finish reason
		}
		srv := serve(t, stub.Calls(stub.Call{ID: "a", Name: "note", Args: `{"text":"once"}`}), cut, stub.Text("done"))
		a, notes := agent(t, w.model(t, srv, kernel.Strict))
		r := ask(t, a)
		stopped(t, r, kernel.StopAnswered)
		accepted(t, srv, 3)
		if want := []string{`{"text":"once"}`}; !cmp.Equal(notes.got, want) || r.Outcome.HeldTokens == 0 {
			t.Errorf("notes %q, held %d", notes.got, r.Outcome.HeldTokens)
		}
	})
}

// Quota is no rate limit, and a window that is too small is no error of the
// request.
func TestHopelessRequestsAreNotRepeated(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		for _, c := range []struct {
			step   stub.Step
			stop   kernel.Stop
			detail string
		}{{stub.Quota(), kernel.StopModelError, "quota"}, {stub.TooLong(), kernel.StopContext, "context_too_long"}} {
			srv := serve(t, c.step)
			a, _ := agent(t, w.model(t, srv, kernel.Strict))
			r := ask(t, a)
			stopped(t, r, c.stop)
			if !strings.HasPrefix(r.Outcome.Detail, c.detail) || srv.Count() != 1 {
				t.Errorf("outcome %+v after %d requests", r.Outcome, srv.Count())
			}
		}
	})
}
