package script_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	modeltest.Contract(t, func(t *testing.T, replies ...stub.Reply) model.Model {
		var steps []script.Step
		for _, r := range replies {
			steps = append(steps, stepOf(r))
		}
		return play(t, steps...)
	})
}

// stepOf says in a script what the stub would say on a wire.
func stepOf(r stub.Reply) script.Step {
	s := script.Step{Text: r.Text, Stop: r.Stop}
	for _, x := range r.Thinking {
		s.Reasoning += x.Text
	}
	for _, c := range r.Calls {
		s.Calls = append(s.Calls, script.Call{ID: c.ID, Name: c.Name, Args: c.Args})
	}
	if u := r.Usage; u != nil {
		s.Usage = &script.Usage{InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite}
	}
	return s
}

func play(t *testing.T, steps ...script.Step) *script.Model {
	t.Helper()
	m, err := script.New(script.Config{Script: &script.Script{Steps: steps}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// conversation drives a model as a runtime does: a reply enters the history,
// and nothing else does.
type conversation struct {
	t       *testing.T
	model   model.Model
	history []model.Message
	attempt int // of the request that is out
}

func start(t *testing.T, m model.Model, question string) *conversation {
	c := &conversation{t: t, model: m}
	c.say(kernel.Message{Role: kernel.RoleUser, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: question}}})
	return c
}

func (c *conversation) say(m kernel.Message) {
	c.history = append(c.history, model.Message{Message: &m})
	c.attempt = 0
}

func (c *conversation) result(call, text string) {
	c.say(kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{Kind: kernel.BlockResult, CallID: call, Text: text}}})
}

func (c *conversation) try() (*model.Reply, error) {
	c.attempt++
	return c.model.Call(c.t.Context(), &model.Request{Messages: c.history, Attempt: c.attempt}, nil)
}

func (c *conversation) reply() *model.Reply {
	c.t.Helper()
	r, err := c.try()
	if err != nil {
		c.t.Fatal(err)
	}
	c.say(r.Message)
	return r
}

func (c *conversation) fails(kind kernel.FailureKind) *model.Error {
	c.t.Helper()
	_, err := c.try()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != kind {
		c.t.Fatalf("error %v, want kind %s", err, kind)
	}
	return e
}

func text(r *model.Reply) string { return r.Message.Blocks[len(r.Message.Blocks)-1].Text }

func TestAFilePlayed(t *testing.T) {
	s, err := script.Load("testdata/multiply.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for result, answer := range map[string]string{`{"result":3720}`: "248 × 15 = 3720", "未执行：no": "It could not be computed."} {
		m, err := script.New(script.Config{Script: s, Name: "multiply.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		c := start(t, m, "What is 248 × 15?")
		want := &model.Reply{
			Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
				{Kind: kernel.BlockReason, Private: &kernel.Private{Provider: "script", Data: []byte(`"I need the tool."`)}},
				{Kind: kernel.BlockCall, Call: &kernel.Call{ID: "call_1", Name: "multiply", Arguments: `{"a": 248, "b":9007199254740993}`}}, // Report A08
			}},
			Stop:  kernel.StopCalls,
			Usage: &kernel.Usage{Input: 20, Output: 5, CacheRead: 4},
			Size:  62,
		}
		if diff := cmp.Diff(want, c.reply()); diff != "" {
			t.Error(diff)
		}
		c.result("call_1", result)
		if e := c.fails(kernel.FailStatus); e.Status != 529 || e.RetryAfter == nil || *e.RetryAfter != 1500*time.Millisecond {
			t.Errorf("failure %+v", e)
		}
		if got := text(c.reply()); got != answer {
			t.Errorf("answer %q, want %q", got, answer)
		}
		if e := c.fails(kernel.FailRequest); !strings.Contains(e.Message, "at its end: it has 3 steps") {
			t.Errorf("message %q", e.Message)
		}
	}
}

func TestInfo(t *testing.T) {
	want := model.Info{Provider: "script", Name: "script", Profile: kernel.Strict, MaxTokens: 4096, MaxTokensCap: 16384, Scripted: true}
	if diff := cmp.Diff(want, play(t, script.Step{Text: "x"}).Info()); diff != "" {
		t.Error(diff)
	}
	if _, err := script.New(script.Config{}); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("error %v", err)
	}
}

// A request that is sent again is answered again, and what a failed attempt
// played is not played twice.
func TestAttempts(t *testing.T) {
	status := script.Step{Fail: &script.Fail{Kind: kernel.FailStatus, Status: 503}}
	c := start(t, play(t, status, status,
		script.Step{Text: "cut", Stop: kernel.StopLength}, script.Step{Text: "first"},
		status, script.Step{Text: "second"}), "hi")
	c.fails(kernel.FailStatus)
	c.fails(kernel.FailStatus)
	if r, err := c.try(); err != nil || r.Stop != kernel.StopLength {
		t.Fatalf("reply %+v, error %v", r, err)
	}
	for range 2 { // a lost reply does not move the script
		if r, err := c.try(); err != nil || text(r) != "first" {
			t.Fatalf("reply %+v, error %v", r, err)
		}
	}
	c.reply()
	c.say(kernel.Message{Role: kernel.RoleUser})
	c.fails(kernel.FailStatus)
	if got := text(c.reply()); got != "second" {
		t.Errorf("reply %q", got)
	}
}

// A history from a journal goes on where it was, with a model that never saw
// its beginning, in the middle of a turn's attempts too.
func TestAfterARestart(t *testing.T) {
	cut := script.Step{Fail: &script.Fail{Kind: kernel.FailCut}}
	steps := []script.Step{cut, cut, {Text: "first"}, {Text: "second"}}
	c := start(t, play(t, steps...), "hi")
	c.fails(kernel.FailCut)
	c.model = play(t, steps...)
	c.fails(kernel.FailCut)
	c.model = play(t, steps...)
	if got := text(c.reply()); got != "first" {
		t.Errorf("reply %q", got)
	}
	c.model = play(t, steps...)
	c.say(kernel.Message{Role: kernel.RoleUser})
	if got := text(c.reply()); got != "second" {
		t.Errorf("reply %q", got)
	}
}

// The same request is answered the same, by whichever model asks the script.
func TestTheSameRequest(t *testing.T) {
	m := play(t, script.Step{Fail: &script.Fail{Kind: kernel.FailTimeout}}, script.Step{Text: "x"})
	for range 3 {
		c := start(t, m, "hi")
		c.fails(kernel.FailTimeout)
		c.attempt = 0
		c.fails(kernel.FailTimeout)
		c.attempt = 7
		if got := text(c.reply()); got != "x" {
			t.Errorf("reply %q", got)
		}
	}
}

// Conversations with the same words share a script and nothing else.
func TestConcurrentConversations(t *testing.T) {
	m := play(t,
		script.Step{Fail: &script.Fail{Kind: kernel.FailTimeout}},
		script.Step{Calls: []script.Call{{ID: "c1", Name: "f", Args: "{}"}}},
		script.Step{Fail: &script.Fail{Kind: kernel.FailTimeout}},
		script.Step{Text: "done"})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			c := start(t, m, "the same question")
			var got []string
			for range 4 {
				r, err := c.try()
				switch {
				case err != nil:
					got = append(got, "failed")
					continue
				case r.Stop == kernel.StopCalls:
					got = append(got, "call")
					c.say(r.Message)
					c.result("c1", "ok")
				default:
					got = append(got, text(r))
				}
			}
			if s := fmt.Sprint(got); s != "[failed call failed done]" {
				t.Error(s)
			}
		})
	}
	wg.Wait()
}

func TestAlternatives(t *testing.T) {
	m := play(t, script.Step{Any: []script.Step{
		{If: &script.If{LastResultContains: "b"}, Text: "b it is"},
		{If: &script.If{LastResultContains: "a"}, Text: "a it is"},
	}})
	c := start(t, m, "b")
	if e := c.fails(kernel.FailRequest); !strings.Contains(e.Message, "no alternative of step 1") {
		t.Errorf("message %q", e.Message)
	}
	c.result("1", "b")
	c.result("2", "a")
	if got := text(c.reply()); got != "a it is" {
		t.Errorf("reply %q: the latest result counts", got)
	}
}

func TestHang(t *testing.T) {
	m := play(t, script.Step{Hang: true})
	var e *model.Error
	_, err := m.Call(t.Context(), &model.Request{Timeout: time.Millisecond}, nil)
	if !errors.As(err, &e) || e.Kind != kernel.FailTimeout {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = m.Call(ctx, &model.Request{}, nil)
	if !errors.As(err, &e) || e.Kind != kernel.FailAborted {
		t.Errorf("error %v", err)
	}
}

func TestTheEndOfTheContextBetweenDeltas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var deltas []string
	_, err := play(t, script.Step{Text: "one two three"}).Call(ctx, &model.Request{}, func(d model.Delta) {
		deltas = append(deltas, d.Text)
		cancel()
	})
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != kernel.FailAborted || len(deltas) != 1 {
		t.Errorf("error %v after %q", err, deltas)
	}
}

func TestStops(t *testing.T) {
	for stop, want := range map[kernel.StopReason]kernel.StopReason{
		"": kernel.StopEnd, "absent": kernel.StopAbsent, "content_filter": kernel.StopFilter,
		"window": kernel.StopWindow, "refusal": kernel.StopRefusal, "calls": kernel.StopCalls, "other:paused": "other:paused",
	} {
		if r := start(t, play(t, script.Step{Text: "x", Stop: stop}), "hi").reply(); r.Stop != want {
			t.Errorf("stop %q became %q", stop, r.Stop)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ file, message string }{
		"empty":                   {"", "play.yaml:1: a script needs at least one step"},
		"no steps":                {"steps: []", "at least one step"},
		"no YAML":                 {"steps:\n  - text: [", "play.yaml:2: "},
		"unknown key":             {"steps:\n  - text: a\n  - txet: b", `play.yaml:3: unknown key "txet"`},
		"doubled key":             {"steps:\n  - text: a\n    text: b", "play.yaml:3: mapping key"},
		"wrong type":              {"steps:\n  - calls: no", "play.yaml:2: cannot unmarshal !!str `no`"},
		"two documents":           {"steps: [{text: a}]\n---\nsteps: []", "more than one document"},
		"no answer":               {"steps:\n  - text: a\n  - {}", "play.yaml:3: step 2: a step without an answer"},
		"two answers":             {"steps:\n  - text: a\n    hang: true", "step 1: a step with two answers"},
		"text and fail":           {"steps:\n  - {text: a, fail: {kind: cut}}", "two answers"},
		"unknown stop":            {"steps: [{text: a, stop: done}]", `unknown stop "done"`},
		"unknown kind":            {"steps: [{fail: {kind: tired}}]", `unknown kind of failure "tired"`},
		"status without a number": {"steps: [{fail: {kind: status}}]", "needs a status"},
		"status of success":       {"steps: [{fail: {kind: status, status: 200}}]", "needs a status"},
		"negative wait":           {"steps: [{fail: {kind: quota, retry_after: -1s}}]", "retry_after is negative"},
		"negative usage":          {"steps: [{text: a, usage: {input_tokens: 1, cache_read_tokens: 2}}]", "usage is negative"},
		"if outside any":          {"steps: [{if: {last_result_contains: a}, text: b}]", "if stands outside any"},
		"if without a condition":  {"steps: [{any: [{if: {}, text: b}]}]", "if without a condition"},
		"any with an answer":      {"steps: [{text: a, any: [{text: b}]}]", "any stands beside"},
		"any inside any":          {"steps: [{any: [{any: [{text: b}]}]}]", "any inside any"},
		"mixed any":               {"steps: [{any: [{text: b}, {fail: {kind: cut}}]}]", "failures and replies"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := script.Parse("play.yaml", []byte(tc.file))
			var e *kernel.Error
			if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration || e.Hint == "" || !strings.Contains(e.Message, tc.message) {
				t.Errorf("error %v, want %q", err, tc.message)
			}
			if err != nil && strings.Contains(err.Error(), "script.") {
				t.Errorf("a Go type in %v", err)
			}
		})
	}
}

func TestJSONIsAScriptToo(t *testing.T) {
	s, err := script.Parse("play.json", []byte(`{"steps": [{"calls": [{"id": "1", "name": "f", "args": "{\"a\":1}"}]}]}`))
	if err != nil || s.Steps[0].Calls[0].Args != `{"a":1}` {
		t.Errorf("script %+v, error %v", s, err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte("# "+strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe") // opening it would wait for a writer
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, message := range map[string]string{
		big:                          "larger than 1 MiB",
		pipe:                         "cannot be read",
		dir:                          "cannot be read",
		filepath.Join(dir, "absent"): "cannot be read",
	} {
		if _, err := script.Load(path); kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
