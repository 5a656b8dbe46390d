package stub_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

func streaming(body string) string { return `{"stream":true,` + body[1:] }

var (
	plainOpenAI    = openAIBody(openAIUser)
	plainAnthropic = anthropicBody(openAIUser)
)

func TestEncodings(t *testing.T) {
	reply := stub.Answer(stub.Reply{
		Thinking: []stub.Thinking{{Text: "plan", Signature: "SIG1"}, {Redacted: "ENC"}},
		Text:     "Let me <look>",
		Calls:    []stub.Call{{ID: "c1", Name: "f", Args: `{"id": 9007199254740993}`}},
		Usage:    &kernel.Usage{Input: 10007, Output: 50, CacheRead: 9800, CacheWrite: 200},
	})
	cases := []struct {
		name, body string
		wire       stub.Wire
		want       []string // in this order
	}{
		{"openai", plainOpenAI, stub.OpenAI, []string{
			`"content":"Let me <look>"`, `"reasoning_content":"plan"`, `"arguments":"{\"id\": 9007199254740993}"`,
			`"finish_reason":"tool_calls"`, `"prompt_tokens":10007`, `"cached_tokens":9800`,
		}},
		{"openai stream", streaming(plainOpenAI), stub.OpenAI, []string{
			`"reasoning_content":"plan"`, `"content":"Let "`, `"content":"me "`, `"arguments":""`, `"arguments":"{\"id\": "`,
			`"finish_reason":"tool_calls"`, "data: [DONE]\n\n",
		}},
		{"anthropic", plainAnthropic, stub.Anthropic, []string{
			`{"type":"thinking","thinking":"plan","signature":"SIG1"}`, `{"type":"redacted_thinking","data":"ENC"}`,
			`"text":"Let me <look>"`, `"input":{"id": 9007199254740993}`, `"stop_reason":"tool_use"`,
			`"cache_creation_input_tokens":200`, `"input_tokens":7,`, `"output_tokens":50`,
		}},
		{"anthropic stream", streaming(plainAnthropic), stub.Anthropic, []string{
			"event: message_start\n", `"input_tokens":7,`, "event: ping\n", `"thinking_delta"`, `"signature":"SIG1"`, `"data":"ENC"`,
			`"text":"Let "`, `"input":{}`, `"partial_json":""`, `"partial_json":"{\"id\": "`,
			`"stop_reason":"tool_use"`, `"output_tokens":50`, "event: message_stop\n",
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, stub.Options{})
			c.srv.Play(reply)
			_, body := c.do(c.request(tc.wire, tc.body))
			rest := body
			for _, want := range tc.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok && !strings.Contains(body, want) {
					t.Fatalf("no %s in\n%s", want, body)
				}
				if ok && strings.Contains(tc.name, "stream") {
					rest = after
				}
			}
			if strings.Contains(body, "total_tokens") != (tc.name == "openai") {
				t.Error("a stream reports usage only when include_usage asks for it")
			}
		})
	}
}

func TestUsageOfAStreamThatAsksForIt(t *testing.T) {
	c := start(t, stub.Options{})
	c.srv.Play(stub.Text("hi"))
	_, body := c.do(c.request(stub.OpenAI, streaming(`{"stream_options":{"include_usage":true},`+plainOpenAI[1:])))
	if strings.Count(body, `"usage":null`) != 3 || strings.Count(body, `"prompt_tokens":20`) != 1 {
		t.Errorf("usage is null on every chunk but one:\n%s", body)
	}
}

func TestThinkingMustComeBack(t *testing.T) {
	thinking := `{"type":"thinking","thinking":"plan","signature":"SIG1"},{"type":"redacted_thinking","data":"ENC"},`
	use := `{"type":"tool_use","id":"a","name":"f","input":{}}`
	for name, tc := range map[string]struct {
		blocks string
		status int
	}{
		"as it was":    {thinking + use, 200},
		"left out":     {use, 400},
		"in part":      {`{"type":"redacted_thinking","data":"ENC"},` + use, 400},
		"text altered": {strings.Replace(thinking, "plan", "plot", 1) + use, 400},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, stub.Options{})
			first := stub.Calls(stub.Call{ID: "a", Name: "f", Args: "{}"})
			first.Reply.Thinking = []stub.Thinking{{Text: "plan", Signature: "SIG1"}, {Redacted: "ENC"}}
			c.srv.Play(first, stub.Text("done"))
			c.do(c.request(stub.Anthropic, plainAnthropic))
			status, body := c.do(c.request(stub.Anthropic, anthropicBody(join(openAIUser,
				`{"role":"assistant","content":[`+tc.blocks+`]}`, userBlocks(toolResult("a"))))))
			if status != tc.status {
				t.Errorf("status %d, want %d: %s", status, tc.status, body)
			}
		})
	}
}

func TestDemandedReasoning(t *testing.T) {
	for name, tc := range map[string]struct {
		field  string
		status int
	}{
		"as it was": {`"reasoning_content":"because",`, 200},
		"left out":  {"", 400},
		"altered":   {`"reasoning_content":"why",`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, stub.Options{Reasoning: stub.DemandReasoning})
			first := stub.Calls(stub.Call{ID: "a", Name: "f", Args: "{}"})
			first.Reply.Thinking = []stub.Thinking{{Text: "because"}}
			c.srv.Play(first, stub.Text("done"))
			c.do(c.request(stub.OpenAI, plainOpenAI))
			status, body := c.do(c.request(stub.OpenAI, openAIBody(join(openAIUser,
				strings.Replace(toolCalls("a"), `"content"`, tc.field+`"content"`, 1), toolMessage("a")))))
			if status != tc.status {
				t.Errorf("status %d, want %d: %s", status, tc.status, body)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	cases := []struct {
		name     string
		step     stub.Step
		stream   bool
		statuses [2]int // OpenAI, Anthropic
		marks    [2]string
	}{
		{"429", stub.RetryAfter(3e9), true, [2]int{429, 429}, [2]string{`"rate_limit_exceeded"`, `"rate_limit_error"`}},
		{"529", stub.Status(529), false, [2]int{529, 529}, [2]string{`"server_error"`, `"overloaded_error"`}},
		{"quota", stub.Quota(), true, [2]int{429, 400}, [2]string{`"insufficient_quota"`, "credit balance"}},
		{"quota 403", stub.Step{Fail: &stub.Fail{Kind: kernel.FailQuota, Status: 403}}, true, [2]int{403, 403}, [2]string{`"insufficient_quota"`, `"billing_error"`}},
		{"too long", stub.TooLong(), true, [2]int{400, 400}, [2]string{`"context_length_exceeded"`, "prompt is too long"}},
		{"event", stub.ErrorEvent("Hel lo", 529), true, [2]int{200, 200}, [2]string{"data: {\"error\":", "event: error\ndata: {"}},
		{"event, plain", stub.ErrorEvent("Hello", 529), false, [2]int{529, 529}, [2]string{`"server_error"`, `"overloaded_error"`}},
		{"not JSON", stub.Bytes("<html>"), false, [2]int{200, 200}, [2]string{"<html>", "<html>"}},
		{"empty", stub.Step{}, false, [2]int{200, 200}, [2]string{"", ""}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, stub.Options{})
			c.srv.Always(tc.step)
			for i, body := range []string{plainOpenAI, plainAnthropic} {
				if tc.stream {
					body = streaming(body)
				}
				status, got := c.do(c.request([]stub.Wire{stub.OpenAI, stub.Anthropic}[i], body))
				if status != tc.statuses[i] || !strings.Contains(got, tc.marks[i]) {
					t.Errorf("status %d, body %s", status, got)
				}
				if strings.Contains(got, "[DONE]") || strings.Contains(got, "message_stop") {
					t.Errorf("a broken stream has an end: %s", got)
				}
			}
		})
	}
}

func TestHeadersOfAStep(t *testing.T) {
	c := start(t, stub.Options{})
	c.srv.Play(stub.Status(429, "Retry-After", "soon", "retry-after-ms", "1500"))
	resp, err := c.http.Do(c.request(stub.OpenAI, plainOpenAI))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Retry-After") != "soon" || resp.Header.Get("Retry-After-Ms") != "1500" {
		t.Errorf("header %v", resp.Header)
	}
}

func TestCuts(t *testing.T) {
	c := start(t, stub.Options{})
	step := stub.Text("one two three")
	c.srv.Play(step)
	_, whole := c.do(c.request(stub.OpenAI, streaming(plainOpenAI)))
	events := strings.SplitAfter(whole, "\n\n")
	for _, tc := range []struct {
		name string
		at   stub.At
		want string
	}{
		{"in the second event", stub.At{Events: 1, Bytes: 9}, events[0] + events[1][:9]},
		{"before the last event", stub.At{Events: -1}, strings.TrimSuffix(whole, "data: [DONE]\n\n")},
		{"after the end", stub.At{Bytes: 1 << 20}, whole},
		{"at once", stub.At{}, ""},
	} {
		for _, abrupt := range []bool{false, true} {
			step.Cut = &stub.Cut{At: tc.at, Abrupt: abrupt}
			c.srv.Play(step)
			_, got, err := c.try(c.request(stub.OpenAI, streaming(plainOpenAI)))
			if (err != nil) != abrupt {
				t.Errorf("%s, abrupt %v: error %v", tc.name, abrupt, err)
			}
			got = strings.ReplaceAll(got, `"id":"msg_`+string(rune('0'+c.srv.Count()))+`"`, `"id":"msg_1"`)
			if got != tc.want {
				t.Errorf("%s, abrupt %v: got %q, want %q", tc.name, abrupt, got, tc.want)
			}
		}
	}
}

func TestSplitsKeepTheBytes(t *testing.T) {
	body := []byte("data: 中😀\n\ndata: x\n\n")
	for name, split := range map[string]func([]byte) [][]byte{
		"one": stub.Every(1), "three": stub.Every(3), "cuts": stub.Cuts(7, 12, 12, 500),
	} {
		if got := bytes.Join(split(body), nil); !bytes.Equal(got, body) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if n := len(stub.Every(1)(body)); n != len(body) {
		t.Errorf("%d pieces of %d bytes", n, len(body))
	}
	c := start(t, stub.Options{})
	c.srv.Play(stub.Step{Raw: &stub.Raw{Body: string(body)}, Split: stub.Every(1), Noise: ": ping\n\n"})
	_, got := c.do(c.request(stub.OpenAI, streaming(plainOpenAI)))
	if want := ": ping\n\ndata: 中😀\n\n: ping\n\ndata: x\n\n: ping\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHoldsAndFloods(t *testing.T) {
	release := make(chan struct{})
	for name, step := range map[string]stub.Step{
		"stall":           {Reply: &stub.Reply{Text: "x"}, Stall: stub.Never()},
		"hold":            {Reply: &stub.Reply{Text: "x"}, Hold: &stub.Hold{At: stub.At{Events: 1}, Until: stub.Never()}},
		"hold at the end": {Reply: &stub.Reply{Text: "x"}, Hold: &stub.Hold{At: stub.At{Bytes: 1 << 20}, Until: stub.Never()}},
	} {
		t.Run(name+" until the client goes", func(t *testing.T) {
			c := start(t, stub.Options{})
			c.srv.Play(step)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-c.srv.Arrived(0)
				cancel()
			}()
			if _, _, err := c.try(c.request(stub.OpenAI, streaming(plainOpenAI)).WithContext(ctx)); err == nil {
				t.Error("the answer came")
			}
			<-c.srv.Closed(0)
			<-c.srv.Done(0)
		})
	}
	t.Run("hold until released", func(t *testing.T) {
		c := start(t, stub.Options{})
		c.srv.Play(stub.Step{Reply: &stub.Reply{Text: "x"}, Stall: release, Hold: &stub.Hold{At: stub.At{Events: 2}, Until: release}})
		go func() {
			<-c.srv.Arrived(0)
			close(release)
		}()
		_, body := c.do(c.request(stub.OpenAI, streaming(plainOpenAI)))
		if !strings.HasSuffix(body, "data: [DONE]\n\n") {
			t.Errorf("body %q", body)
		}
		<-c.srv.Done(0)
		select {
		case <-c.srv.Closed(0):
			t.Error("the client took the whole answer")
		default:
		}
	})
	t.Run("flood", func(t *testing.T) {
		c := start(t, stub.Options{})
		c.srv.Play(stub.Step{Raw: &stub.Raw{Body: `{"id":"`}, Flood: strings.Repeat("a", 4096)})
		resp, err := c.http.Do(c.request(stub.OpenAI, plainOpenAI))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
		<-c.srv.Closed(0)
	})
}

func TestCloseEndsWhatHangs(t *testing.T) {
	c := start(t, stub.Options{})
	c.srv.Play(stub.Step{Stall: stub.Never()})
	go func() {
		<-c.srv.Arrived(0)
		c.srv.Close()
	}()
	if _, _, err := c.try(c.request(stub.OpenAI, plainOpenAI)); err == nil {
		t.Error("an answer came from a closed server")
	}
}

func TestRecord(t *testing.T) {
	c := start(t, stub.Options{})
	c.srv.Respond(func(r *stub.Request) stub.Step { return stub.Text("echo " + r.Messages[0].Text) })
	_, body := c.do(c.request(stub.OpenAI, `{"model":"m","max_tokens":7,"messages":[{"role":"system","content":"be brief"},`+
		join(openAIUser, toolCalls("a", "b"), toolMessage("a"), toolMessage("b"))+`]}`))
	if !strings.Contains(body, "echo hi") {
		t.Errorf("body %s", body)
	}
	got := c.srv.Requests()[0]
	if got.MaxTokens != 7 || got.System != "be brief" || got.Model != "m" {
		t.Errorf("request %+v", got)
	}
	call := func(id string) stub.Call { return stub.Call{ID: id, Name: "f", Args: "{}"} }
	want := []stub.Message{
		{Role: "user", Text: "hi"},
		{Role: "assistant", Calls: []stub.Call{call("a"), call("b")}},
		{Role: "tool", Results: []stub.Result{{ID: "a"}}},
		{Role: "tool", Results: []stub.Result{{ID: "b"}}},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Error(diff)
	}
}

func TestScriptAtItsEnd(t *testing.T) {
	c := start(t, stub.Options{})
	c.srv.Play(stub.Text("only"))
	if status, _ := c.do(c.request(stub.OpenAI, openAIBody(""))); status != 400 {
		t.Errorf("status %d", status)
	}
	// The refused request took no step.
	if _, body := c.do(c.request(stub.OpenAI, plainOpenAI)); !strings.Contains(body, "only") {
		t.Errorf("body %s", body)
	}
	if status, body := c.do(c.request(stub.OpenAI, plainOpenAI)); status != 400 || !strings.Contains(body, "script is at its end") {
		t.Errorf("status %d: %s", status, body)
	}
}

func TestStepsThatCannotBeEncoded(t *testing.T) {
	c := start(t, stub.Options{})
	c.srv.Play(stub.Calls(stub.Call{ID: "a", Name: "f", Args: "{"}), stub.Step{Raw: &stub.Raw{Wire: stub.OpenAI}})
	for range 2 {
		if status, _ := c.do(c.request(stub.Anthropic, plainAnthropic)); status != 500 {
			t.Errorf("status %d", status)
		}
	}
}

func TestPlainHandler(t *testing.T) {
	h := stub.New(stub.Options{})
	h.Play(stub.Text("hi"))
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(plainAnthropic))
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	h.ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"text":"hi"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCanned(t *testing.T) {
	body := func(text string) []byte {
		b, err := stub.Encode(stub.Form{Wire: stub.Anthropic, Stream: true, Model: "m", ID: "msg_1"}, stub.Reply{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	l, err := stub.Listen(stub.Canned(stub.EventStream, body("a"), body("b")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var texts []string
	for range 3 {
		resp, err := http.Post(l.OpenAIURL()+"/anything", "", strings.NewReader("not even JSON"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		texts = append(texts, string(got))
	}
	if !slices.Equal(texts, []string{string(body("a")), string(body("b")), string(body("a"))}) {
		t.Errorf("answers %q", texts)
	}
	if _, err := stub.Encode(stub.Form{Wire: "smtp"}, stub.Reply{}); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("error %v", err)
	}
}
