package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

func call(id, name, arguments string) kernel.Block {
	return kernel.Block{Kind: kernel.BlockCall, Call: &kernel.Call{ID: id, Name: name, Arguments: arguments}}
}

func say(text string) kernel.Block { return kernel.Block{Kind: kernel.BlockText, Text: text} }

func assistant(blocks ...kernel.Block) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleAssistant, Blocks: blocks}
}

func result(id, text string) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{Kind: kernel.BlockResult, CallID: id, Text: text}}}
}

// sent returns the body of a request as it arrives.
func sent(t testing.TB, req *model.Request, change ...func(*Config)) string {
	t.Helper()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+secret || r.ContentLength != int64(len(body)) {
			t.Errorf("%s, %d bytes of %d", r.URL.Path, len(body), r.ContentLength)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)
	}))
	defer srv.Close()
	if _, err := newModel(t, srv.URL, change...).Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("no JSON: %s", body)
	}
	return string(body)
}

// Rows 1 and 3: the whole request, byte for byte.
func TestRequest(t *testing.T) {
	req := &model.Request{
		System: "Be <brief>.",
		Tools: []model.Tool{
			{Name: "f", Description: "does \"f\"", Schema: []byte(`{"type":"object"}`)},
			{Name: "g", Schema: []byte(`{"type":"object","properties":{}}`)},
		},
		Messages: []model.Message{
			{Message: user("hi & bye")},
			{Message: assistant(say("Let me."), call("c1", "f", `{"id":9007199254740993,"d":0.10}`), call("c2", "g", ""))},
			{Message: result("c1", "one")},
			{Message: result("c2", "")},
		},
		MaxTokens: 512,
	}
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},` +
		`"tools":[{"type":"function","function":{"name":"f","description":"does \"f\"","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"g","description":"","parameters":{"type":"object","properties":{}}}}],` +
		`"messages":[{"role":"system","content":"Be <brief>."},{"role":"user","content":"hi & bye"},` +
		`{"role":"assistant","content":"Let me.","tool_calls":[` +
		`{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"id\":9007199254740993,\"d\":0.10}"}},` +
		`{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":""}],"max_tokens":512}`
	if got := sent(t, req); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSmallestRequest(t *testing.T) {
	got := sent(t, question(), func(c *Config) { c.Stream = false })
	if want := `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4096}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What was encoded before is sent as it is.
func TestKeptBytesAreSent(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	head, err := m.EncodeHead("sys", nil)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := m.EncodeMessage(user("hi"), nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := sent(t, &model.Request{System: "sys", Messages: []model.Message{{Message: user("hi")}}})
	kept := sent(t, &model.Request{Head: head, Messages: []model.Message{{Message: user("changed"), Encoded: wire}}})
	if fresh != kept {
		t.Errorf("fresh %s\nkept  %s", fresh, kept)
	}
}

func TestLimitField(t *testing.T) {
	for want, cfg := range map[LimitField]Config{
		MaxCompletionTokens: {Name: "m", Key: "k"},
		MaxTokensField:      {Name: "m", Key: "k", BaseURL: "https://example.com/v1"},
	} {
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if m.limitField != want {
			t.Errorf("got %s, want %s", m.limitField, want)
		}
	}
	got := sent(t, question(), func(c *Config) { c.LimitField = MaxCompletionTokens })
	if !strings.HasSuffix(got, `],"max_completion_tokens":4096}`) {
		t.Error(got)
	}
}

// Report A35.
func TestAssistantContent(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	tests := []struct {
		msg  *kernel.Message
		want string
	}{
		{assistant(call("c1", "f", "{}")), `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{assistant(), `{"role":"assistant","content":""}`},
		{assistant(say("a"), say(""), say("b")), `{"role":"assistant","content":"a\n\nb"}`},
	}
	for _, tt := range tests {
		got, err := m.EncodeMessage(tt.msg, nil)
		if err != nil || string(got.Before) != tt.want {
			t.Errorf("got  %s, %v\nwant %s", got.Before, err, tt.want)
		}
	}
}

// Report A12 and row 23: reasoning goes back to its maker alone, and only
// where the profile demands it.
func TestReplayOfReasoning(t *testing.T) {
	reason := func(maker, data string) kernel.Block {
		return kernel.Block{Kind: kernel.BlockReason, Private: &kernel.Private{Provider: maker, Data: []byte(data)}}
	}
	tests := []struct {
		name   string
		replay bool
		block  kernel.Block
		want   bool
	}{
		{"own", true, reason("openai@127.0.0.1", `"PRIVATE"`), true},
		{"not demanded", false, reason("openai@127.0.0.1", `"PRIVATE"`), false},
		{"another server's", true, reason("openai@example.com", `"PRIVATE"`), false},
		{"another wire's", true, reason("anthropic", `{"type":"thinking","thinking":"PRIVATE"}`), false},
		{"parts of a content array", true, reason("openai@127.0.0.1", `[{"type":"thinking","thinking":"PRIVATE"}]`), false},
	}
	for _, tt := range tests {
		m := newModel(t, "http://127.0.0.1:1", func(c *Config) { c.ReplayReasoning = tt.replay })
		got, err := m.EncodeMessage(assistant(tt.block, call("c1", "f", "{}")), nil)
		if err != nil || !json.Valid(got.Before) {
			t.Fatalf("%s: %s, %v", tt.name, got.Before, err)
		}
		if strings.Contains(string(got.Before), `"content":null,"reasoning_content":"PRIVATE","tool_calls"`) != tt.want ||
			strings.Contains(string(got.Before), "PRIVATE") != tt.want {
			t.Errorf("%s: %s", tt.name, got.Before)
		}
	}
}

// Invalid UTF-8 and lone surrogates never reach a request.
func TestOnlyValidTextIsSent(t *testing.T) {
	got := sent(t, &model.Request{Messages: []model.Message{
		{Message: user("a\xE4\xB8b")},
		{Message: assistant(call("c1", "f", `{"s":"\ud83d","t":"\ud83d\ude00"}`))},
		{Message: result("c1", "\xFF\x00")},
	}})
	for _, want := range []string{"\"a\uFFFDb\"", `"{\"s\":\"\\ufffd\",\"t\":\"\\ud83d\\ude00\"}"`, "\"\uFFFD\\u0000\""} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

// Report A09: what the endpoint would refuse does not leave.
func TestWhatTheWireCannotCarry(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	for name, msg := range map[string]*kernel.Message{
		"no id":          assistant(call("", "f", "{}")),
		"no name":        assistant(call("c", "", "{}")),
		"trailing data":  assistant(call("c", "f", "{}{}")),
		"no object":      assistant(call("c", "f", "[1]")),
		"cut":            assistant(call("c", "f", "{")),
		"orphan result":  result("", "x"),
		"two results":    {Role: kernel.RoleTool, Blocks: make([]kernel.Block, 2)},
		"role":           {Role: "system"},
		"text of a tool": {Role: kernel.RoleTool, Blocks: []kernel.Block{say("x")}},
	} {
		if _, err := m.EncodeMessage(msg, nil); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
		_, err := m.Call(t.Context(), &model.Request{Messages: []model.Message{{Message: msg}}}, nil)
		fails(t, err, kernel.FailRequest)
	}
	_, err := m.Call(t.Context(), &model.Request{Tools: []model.Tool{{Name: "f", Schema: []byte("true")}}}, nil)
	fails(t, err, kernel.FailRequest)
}

// Case 17, rows 82 and 55.
func TestConfiguration(t *testing.T) {
	for name, cfg := range map[string]Config{
		"nothing":     {},
		"no key":      {Name: "m"},
		"limit field": {Name: "m", Key: "k", LimitField: "max_output"},
		"tokens":      {Name: "m", Key: "k", MaxTokens: 16385},
	} {
		if _, err := New(cfg); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := newModel(t, "http://127.0.0.1:1", func(c *Config) { c.Profile = kernel.Tolerant })
	want := model.Info{Provider: "openai", Name: "m", Profile: kernel.Tolerant, MaxTokens: 4096, MaxTokensCap: 16384}
	if m.Info() != want {
		t.Errorf("%+v", m.Info())
	}
}

// Invariant I12.
func TestNoPrintShowsTheKey(t *testing.T) {
	cfg := Config{Name: "m", Key: secret, BaseURL: "http://127.0.0.1:1?token=" + secret}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(struct{ Config Config }{Config{Name: "m", Key: secret}})
	if err == nil && strings.Contains(string(data), "secret") {
		t.Errorf("JSON tells: %s", data)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{cfg, &cfg, m, struct{ m *Model }{m}, struct{ M Model }{*m}} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "secret") {
				t.Errorf("%s tells: %s", verb, s)
			}
		}
	}
}

// The bytes of a message are its own, and no more than they need to be.
func TestEncodedMessagesAreTheirOwn(t *testing.T) {
	m := inMemory(t, "")
	first, err := m.EncodeMessage(user("one"), nil)
	if err != nil {
		t.Fatal(err)
	}
	was := string(first.Before)
	if _, err := m.EncodeMessage(user("another"), nil); err != nil {
		t.Fatal(err)
	}
	if b := first.Before; string(b) != was || cap(b) != len(b) {
		t.Errorf("%s in %d bytes, was %s", b, cap(b), was)
	}
}
