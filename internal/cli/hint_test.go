package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// Each cause has a hint of its own, which names what an operator can change.
// Row 62: the causes are those that recovery and the wires give.
func TestHintAfterAModelError(t *testing.T) {
	failed := func(kind kernel.FailureKind, status int) clues {
		return clues{failed: kernel.Failure{Kind: kind, Status: status}}
	}
	for _, c := range []struct {
		detail string
		clues  clues
		want   []string
		not    string
	}{
		{"request_budget", failed(kernel.FailStatus, 529), []string{"overloaded", "try again later", "or raise limits.retry.attempts, per_run and wait"}, "key"},
		{"request_budget", failed(kernel.FailStatus, 503), []string{"overloaded", "or raise limits.retry.attempts, per_run and wait"}, "key"},
		{"request_budget", failed(kernel.FailStatus, 429), []string{"limits how often", "try again later", "or raise limits.retry.attempts, per_run and wait"}, "key"},
		{"wait_budget", failed(kernel.FailStatus, 529), []string{"overloaded", "try again later", "or raise limits.retry.attempts, per_run and wait"}, "key"},
		{"wait_budget", failed(kernel.FailStatus, 429), []string{"limits how often", "or raise limits.retry.attempts, per_run and wait"}, "key"},
		{"request_budget", failed(kernel.FailStatus, 500), []string{"the endpoint failed (HTTP 500): try again later, or raise limits.retry.attempts, per_run and wait"}, "overloaded"},
		{"wait_budget", failed(kernel.FailStatus, 502), []string{"the endpoint failed (HTTP 502)"}, "overloaded"},
		{"request_budget", failed(kernel.FailStatus, 504), []string{"the endpoint failed (HTTP 504)"}, "overloaded"},
		{"request_budget", failed(kernel.FailConnection, 0), []string{"no connection", "base URL", "network"}, "limits"},
		{"wait_budget", failed(kernel.FailConnection, 0), []string{"base URL", "network"}, "key"},
		{"request_budget", failed(kernel.FailTimeout, 0), []string{"limits.request_timeout"}, "retry"},
		{"wait_budget", failed(kernel.FailTimeout, 0), []string{"limits.request_timeout"}, "retry"},
		{"request_budget", failed(kernel.FailCut, 0), []string{"breaks its answers off"}, "key"},
		{"request_budget", clues{}, []string{"raise limits.retry.attempts, per_run and wait"}, "later"}, // a long run, and nothing failed
		{"request_error:401", clues{provider: config.OpenAI}, []string{"OPENAI_API_KEY"}, "name"},
		{"request_error:403", clues{provider: config.Anthropic}, []string{"ANTHROPIC_API_KEY"}, "name"},
		{"request_error:401", clues{provider: "other"}, []string{"the key in the environment"}, "name"},
		{"request_error:402", clues{}, []string{"plan"}, "key"},
		{"request_error:404", clues{}, []string{"the model's name", "base URL"}, "key"},
		{"request_error:408", clues{}, []string{"try again later"}, "key"},
		{"request_error:413", clues{}, []string{"too large"}, "key"},
		{"request_error:307", clues{}, []string{"redirect", "base URL"}, "model"},
		{"request_error:501", clues{}, []string{"endpoint failed"}, "key"},
		{"request_error:400", clues{}, []string{"refuses the request", "model.max_tokens"}, "key"},
		{"request_error:422", clues{}, []string{"refuses the request"}, "key"},
		{"quota", clues{}, []string{"out of quota", "plan"}, "raise"},
		{"invalid_response", clues{}, []string{"model.provider", "base URL"}, "key"},
		{"tls", clues{failed: kernel.Failure{Kind: kernel.FailTLS, Detail: "the endpoint's certificate is for another\nhost"}},
			[]string{`trusted: the endpoint's certificate is for another\nhost; check the base URL`, "clock", "SSL_CERT_FILE"}, "network"},
		{"response_too_large", clues{}, []string{"1,000,000 bytes", "model.max_tokens"}, "key"},
		{"internal", clues{}, []string{"report it"}, "key"},
		{"request", clues{provider: config.Script, failed: kernel.Failure{Kind: kernel.FailRequest, Detail: "the script is at its end: it has 2 steps"}},
			[]string{"the script has no answer", "it has 2 steps"}, "key"},
		{"request", clues{provider: config.OpenAI, failed: kernel.Failure{Kind: kernel.FailRequest, Detail: "too\nlong"}}, []string{`cannot be sent as it is: too\nlong`}, "script"},
		{"request", clues{}, []string{"cannot be sent as it is"}, ":"},
		{"a cause of tomorrow", clues{}, []string{"holdfast doctor"}, "raise"},
	} {
		got := hintAfter(&kernel.Outcome{Stop: kernel.StopModelError, Detail: c.detail}, kernel.Strict, c.clues, "")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s after %+v: %q lacks %q", c.detail, c.clues.failed, got, want)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%s after %+v: %q speaks of %q", c.detail, c.clues.failed, got, c.not)
		}
	}
}

// Time does not help a run whose model never answers.
func TestHintAfterDeadline(t *testing.T) {
	var c clues
	for _, step := range []struct {
		event kernel.Event
		want  string
	}{
		{kernel.RunStarted{}, "limits.deadline if the task"},
		{kernel.ModelFailed{Failure: kernel.Failure{Kind: kernel.FailAborted}}, "limits.deadline if the task"},
		{kernel.ModelFailed{Failure: kernel.Failure{Kind: kernel.FailTimeout}}, "did not answer in time"},
		{kernel.ModelFailed{Failure: kernel.Failure{Kind: kernel.FailAborted}}, "did not answer in time"},
		{kernel.ModelReplied{}, "limits.deadline if the task"},
		{kernel.ModelFailed{Failure: kernel.Failure{Kind: kernel.FailStatus, Status: 429}}, "or raise limits.deadline"},
	} {
		c.note(step.event, engine.Content{})
		if got := hintAfter(&kernel.Outcome{Stop: kernel.StopDeadline}, kernel.Strict, c, ""); !strings.Contains(got, step.want) {
			t.Errorf("after %+v: %q, want %q in it", step.event, got, step.want)
		}
	}
}

// An effect in the way is named with what to type, of the journal that was
// looked at.
func TestHintInTheWay(t *testing.T) {
	got := hintAfter(&kernel.Outcome{Stop: kernel.StopAnswered}, kernel.Strict, clues{inTheWay: "eff_1"}, " --db 'my runs.db'")
	for _, want := range []string{
		"effect eff_1,", "`holdfast effects show --db 'my runs.db' eff_1` ",
		"`holdfast effects resolve --db 'my runs.db' eff_1 --landed|--no-effect --note TEXT` ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// A run whose calls were refused may well have answered: it is said that nothing
// ran, and not where something did. The desk has rules of its own, which no
// command explains.
func TestHintWhereNothingRan(t *testing.T) {
	var c clues
	for _, e := range []kernel.Event{kernel.RunStarted{}, kernel.CallDecided{Answer: kernel.Deny}, kernel.CallDecided{Answer: kernel.Allow}, kernel.CallDecided{Answer: kernel.Deny}} {
		c.note(e, engine.Content{})
	}
	hint := func() string {
		return hintAfter(&kernel.Outcome{Stop: kernel.StopAnswered}, kernel.Strict, c, "")
	}
	if got := hint(); !strings.HasPrefix(got, "no tool ran, and calls were refused (2): ") {
		t.Errorf("%q", got)
	}
	a := &app{env: func(string) string { return "" }}
	if got := a.deskHint(&deskFlags{lang: "en"}, stopped(kernel.Outcome{Stop: kernel.StopAnswered}), c); got != "" {
		t.Errorf("at the desk: %q", got)
	}
	c.note(kernel.CallStarted{}, engine.Content{})
	if got := hint(); got != "" {
		t.Errorf("a call ran: %q", got)
	}
	c.note(kernel.RunStarted{}, engine.Content{})
	if got := hint(); got != "" {
		t.Errorf("no call was refused: %q", got)
	}
}

// The desk says the same in both languages, without limits that it has no flag for.
func TestDeskHintAfterGivingUp(t *testing.T) {
	a := &app{env: func(string) string { return "" }}
	for _, c := range []struct {
		failure kernel.Failure
		en, zh  string
	}{
		{kernel.Failure{Kind: kernel.FailStatus, Status: 429}, "the provider limits how often it is asked: try again later", "服务方限制了请求的频率，请稍后再试"},
		{kernel.Failure{Kind: kernel.FailStatus, Status: 529}, "the provider is overloaded: try again later", "服务方过载，请稍后再试"},
		{kernel.Failure{Kind: kernel.FailStatus, Status: 500}, "the endpoint failed (HTTP 500): try again later", "服务方出错（HTTP 500），请稍后再试"},
		{kernel.Failure{Kind: kernel.FailConnection}, "there is no connection", "连不上服务方"},
		{kernel.Failure{Kind: kernel.FailTimeout}, "raise --timeout", "服务方没有及时回答"},
		{kernel.Failure{Kind: kernel.FailCut}, "breaks its answers off", "服务方中途断开了回答"},
		{kernel.Failure{}, "ask for less at once", "模型请求没有成功"},
	} {
		run := stopped(kernel.Outcome{Stop: kernel.StopModelError, Detail: "request_budget"})
		en := a.deskHint(&deskFlags{lang: "en"}, run, clues{failed: c.failure})
		zh := a.deskHint(&deskFlags{lang: "zh"}, run, clues{failed: c.failure})
		if !strings.Contains(en, c.en) || !strings.HasPrefix(zh, c.zh) || strings.Contains(en+zh, "limits.") {
			t.Errorf("%+v: %q, %q", c.failure, en, zh)
		}
	}
}

func TestHintAfterOtherStops(t *testing.T) {
	for _, c := range []struct {
		stop    kernel.Stop
		detail  string
		profile kernel.Profile
		want    string // "": none
	}{
		{kernel.StopProtocol, "", kernel.Strict, "profile: tolerant"},
		{kernel.StopProtocol, "", kernel.Tolerant, "even by the tolerant profile"},
		{kernel.StopTurnLimit, "", kernel.Strict, "limits.turns"},
		{kernel.StopToolLimit, "", kernel.Strict, "limits.calls"},
		{kernel.StopTokenLimit, "", kernel.Strict, "limits.tokens"},
		{kernel.StopDeadline, "", kernel.Strict, "limits.deadline"},
		{kernel.StopTruncated, "output_still_truncated", kernel.Strict, "raise model.max_tokens"},
		{kernel.StopTruncated, "max_tokens_cap", kernel.Strict, "raise model.max_tokens"},
		{kernel.StopTruncated, "request_budget", kernel.Strict, "limits.retry"},
		{kernel.StopTruncated, "context_window", kernel.Strict, "window"},
		{kernel.StopContext, "context_too_long", kernel.Strict, "window"},
		{kernel.StopContext, "something else", kernel.Strict, ""},
		{kernel.StopAnswered, "", kernel.Strict, ""},
		{kernel.StopVerified, "", kernel.Strict, ""},
		{kernel.StopCancelled, "interrupted", kernel.Strict, ""},
	} {
		got := hintAfter(&kernel.Outcome{Stop: c.stop, Detail: c.detail}, c.profile, clues{}, "")
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s (%s): %q, want %q in it", c.stop, c.detail, got, c.want)
		}
	}
	if got := hintAfter(&kernel.Outcome{Stop: kernel.StopTruncated, Detail: "context_window"}, kernel.Strict, clues{}, ""); strings.Contains(got, "max_tokens") {
		t.Errorf("more output does not widen a window: %q", got)
	}
}

// The display goes by the last request: a failure that a reply followed
// explains nothing, and neither does another run's.
func TestDisplayRemembersTheLastFailure(t *testing.T) {
	d := newDisplay(&bytes.Buffer{})
	failure := kernel.Failure{Kind: kernel.FailStatus, Status: 529}
	for _, c := range []struct {
		event   kernel.Event
		content string
		want    clues
	}{
		{kernel.RunStarted{}, `{"text":"q","provider":"openai"}`, clues{provider: "openai"}},
		{kernel.ModelFailed{Failure: failure}, "", clues{provider: "openai", failed: failure}},
		{kernel.TimerFired{}, "", clues{provider: "openai", failed: failure}},
		{kernel.ModelReplied{}, "", clues{provider: "openai"}},
		{kernel.ModelFailed{Failure: failure}, "", clues{provider: "openai", failed: failure}},
		{kernel.RunStarted{}, "", clues{}},
	} {
		var content engine.Content
		if c.content != "" {
			decoded, err := engine.DecodeContent(c.event.Kind(), []byte(c.content))
			if err != nil {
				t.Fatal(err)
			}
			content = decoded
		}
		d.clues.note(c.event, content)
		if d.clues != c.want {
			t.Errorf("after %s: %+v, want %+v", c.event.Kind(), d.clues, c.want)
		}
	}
}
