package anthropic

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

// sent returns the body of a request as it arrives.
func sent(t testing.TB, req *model.Request, change ...func(*Config)) string {
	t.Helper()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/messages" || r.Header.Get("x-api-key") != secret || r.Header.Get("anthropic-version") != "2023-06-01" ||
			r.ContentLength != int64(len(body)) {
			t.Errorf("%s, %d bytes of %d", r.URL.Path, len(body), r.ContentLength)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`)
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

// Rows 4 and 5, case 8: the whole request, byte for byte. All results of one
// reply are in one user turn, with what the user says next.
func TestRequest(t *testing.T) {
	failed := result("t2", "no")
	failed.Blocks[0].IsError = true
	req := request(
		user(say("hi & bye")),
		assistant(say("Let me."), call("t1", "read", `{"id":9007199254740993,"d":0.10}`), call("t2", "search", "")),
		result("t1", " "), failed, user(say("and now?")),
		assistant(say("So.")), user(say("a"), say(" "), say("b")), user(say("c")),
	)
	req.System = "Be <brief>."
	req.MaxTokens = 512
	req.Tools = []model.Tool{
		{Name: "read", Description: "reads \"it\"", Schema: []byte(`{"type":"object"}`)},
		{Name: "search", Schema: []byte(`{"type":"object"}`)},
	}
	want := `{"model":"m","stream":true,"system":"Be <brief>.",` +
		`"tools":[{"name":"read","description":"reads \"it\"","input_schema":{"type":"object"}},{"name":"search","description":"","input_schema":{"type":"object"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi & bye"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"Let me."},{"type":"tool_use","id":"t1","name":"read","input":{"id":9007199254740993,"d":0.10}},{"type":"tool_use","id":"t2","name":"search","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"(empty)"},{"type":"tool_result","tool_use_id":"t2","content":"no","is_error":true},{"type":"text","text":"and now?"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"So."}]},` +
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}],"max_tokens":512}`
	if got := sent(t, req); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSmallestRequest(t *testing.T) {
	got := sent(t, request(user(say("hi"))), func(c *Config) { c.Stream = false })
	if want := `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":4096}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = sent(t, &model.Request{System: "\n"}, func(c *Config) { c.Stream = false })
	if want := `{"model":"m","messages":[],"max_tokens":4096}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Results precede the text of their turn even where an attachment stands
// between them, and blank messages leave no empty block.
func TestTurns(t *testing.T) {
	foreign := kernel.Block{Kind: kernel.BlockReason, Private: &kernel.Private{Provider: "openai", Data: []byte(`"x"`)}}
	got := sent(t, request(
		user(say("hi")), assistant(call("t1", "f", "{}"), call("t2", "f", "{}")),
		result("t1", "one"), user(say("notice")), result("t2", "two"),
		assistant(foreign), user(say("more")), assistant(say(" ")), assistant(say("a"), say("b")), assistant(say("c")), user(say("")),
	))
	want := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":"two"},` +
		`{"type":"text","text":"notice"},{"type":"text","text":"more"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}]},` +
		`{"role":"user","content":[{"type":"text","text":"(empty)"}]}],"max_tokens":4096}`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant …%s", got, want)
	}
}

// What was encoded before is sent as it is.
func TestKeptBytesAreSent(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	head, err := m.EncodeHead("sys", nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := request(user(say("hi")), assistant(say("a")), user(say("b")))
	fresh.System = "sys"
	kept := &model.Request{Head: head}
	for _, msg := range fresh.Messages {
		wire, err := m.EncodeMessage(msg.Message, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept.Messages = append(kept.Messages, model.Message{Message: &kernel.Message{Role: msg.Role}, Encoded: wire})
	}
	if a, b := sent(t, fresh), sent(t, kept); a != b {
		t.Errorf("fresh %s\nkept  %s", a, b)
	}
}

// Report A12: verbatim and in place, to the provider that made it.
func TestReplayOfThinking(t *testing.T) {
	const thinking = `{"type":"thinking", "thinking":"a<b","signature":"S"}`
	private := func(maker string) kernel.Block {
		return kernel.Block{Kind: kernel.BlockThinking, Private: &kernel.Private{Provider: maker, Data: []byte(thinking), Signed: true}}
	}
	m := newModel(t, "http://127.0.0.1:1")
	got, err := m.EncodeMessage(assistant(private("anthropic@127.0.0.1"), call("t1", "f", "{}")), nil)
	if err != nil || string(got.Before) != thinking+`,{"type":"tool_use","id":"t1","name":"f","input":{}}` {
		t.Errorf("%s, %v", got.Before, err)
	}
	got, err = m.EncodeMessage(assistant(private("anthropic"), private("openai"), say("hi")), nil)
	if err != nil || string(got.Before) != `{"type":"text","text":"hi"}` {
		t.Errorf("%s, %v", got.Before, err)
	}
}

// An id that another provider minted is written so that this wire takes it,
// the same in the call and in its result.
func TestForeignIDs(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	id := "functions.get:0"
	use, err := m.EncodeMessage(assistant(call(id, "f", "{}")), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.EncodeMessage(result(id, "x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(use.Before), `"id":"`+wireID(id)+`"`) || !strings.Contains(string(answer.Before), `"tool_use_id":"`+wireID(id)+`"`) || wireID(id) == id {
		t.Errorf("%s\n%s", use.Before, answer.Before)
	}
	if wireID("toolu_01-A") != "toolu_01-A" || wireID("functions.get:1") == wireID(id) {
		t.Error("ids are not told apart")
	}
}

// Invalid UTF-8 and lone surrogates never reach a request.
func TestOnlyValidTextIsSent(t *testing.T) {
	got := sent(t, request(user(say("a\xE4\xB8b")), assistant(call("t1", "f", `{"s":"\ud83d"}`)), result("t1", "\xFF\x00")))
	for _, want := range []string{"\"a\uFFFDb\"", `"input":{"s":"\ufffd"}`, "\"\uFFFD\\u0000\""} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

// Report A09: what the endpoint would refuse does not leave.
func TestWhatTheWireCannotCarry(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	own := &kernel.Private{Provider: "anthropic@127.0.0.1", Data: []byte("sk-secret")}
	for name, msg := range map[string]*kernel.Message{
		"no id":         assistant(call("", "f", "{}")),
		"no name":       assistant(call("c", "", "{}")),
		"trailing data": assistant(call("c", "f", "{}{}")),
		"no object":     assistant(call("c", "f", "[1]")),
		"orphan result": result("", "x"),
		"two results":   {Role: kernel.RoleTool, Blocks: make([]kernel.Block, 2)},
		"role":          {Role: "system"},
		"reasoning":     assistant(kernel.Block{Kind: kernel.BlockThinking, Private: own}),
	} {
		if _, err := m.EncodeMessage(msg, nil); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
		_, err := m.Call(t.Context(), request(msg), nil)
		fails(t, err, kernel.FailRequest)
	}
	_, err := m.Call(t.Context(), &model.Request{Tools: []model.Tool{{Name: "f", Schema: []byte("true")}}}, nil)
	fails(t, err, kernel.FailRequest)
}

// Case 17, rows 83 and 55.
func TestConfiguration(t *testing.T) {
	for name, cfg := range map[string]Config{
		"nothing": {},
		"no key":  {Name: "m"},
		"tokens":  {Name: "m", Key: "k", MaxTokens: 127},
	} {
		if _, err := New(cfg); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := New(Config{Name: "m", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	want := model.Info{Provider: "anthropic", Name: "m", Profile: kernel.Strict, MaxTokens: 4096, MaxTokensCap: 16384}
	if m.Info() != want || m.endpoint.Maker != "anthropic" {
		t.Errorf("%+v, %s", m.Info(), m.endpoint.Maker)
	}
}

// Invariant I12.
func TestNoPrintShowsTheKey(t *testing.T) {
	cfg := Config{Name: "m", Key: secret, BaseURL: "http://127.0.0.1:1?token=" + secret}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{cfg, &cfg, m, struct{ m *Model }{m}, struct{ M Model }{*m}} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "secret") {
				t.Errorf("%s tells: %s", verb, s)
			}
		}
	}
}
