package stub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a raw HTTP client of one stub.
type client struct {
	t    *testing.T
	srv  *stub.Server
	http *http.Client
}

func start(t *testing.T, o stub.Options) *client {
	t.Helper()
	srv, err := stub.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	return &client{t: t, srv: srv, http: &http.Client{Transport: transport}}
}

// request builds a good request of a wire around a body.
func (c *client) request(w stub.Wire, body string) *http.Request {
	c.t.Helper()
	url := c.srv.OpenAIURL() + "/chat/completions"
	if w == stub.Anthropic {
		url = c.srv.AnthropicURL() + "/v1/messages"
	}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if w == stub.Anthropic {
		r.Header.Set("X-Api-Key", "k")
		r.Header.Set("Anthropic-Version", "2023-06-01")
	} else {
		r.Header.Set("Authorization", "Bearer k")
	}
	return r
}

func (c *client) do(r *http.Request) (int, string) {
	c.t.Helper()
	status, body, err := c.try(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return status, body
}

// try also returns what came before an error.
func (c *client) try(r *http.Request) (int, string, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), errors.Join(err, resp.Body.Close())
}

const (
	openAIUser    = `{"role":"user","content":"hi"}`
	anthropicTool = `{"name":"f","input_schema":{"type":"object"}}`
)

func openAIBody(messages string) string {
	return `{"model":"m","messages":[` + messages + `]}`
}

func anthropicBody(messages string) string {
	return `{"model":"m","max_tokens":100,"messages":[` + messages + `]}`
}

func toolCalls(ids ...string) string {
	calls := make([]string, len(ids))
	for i, id := range ids {
		calls[i] = fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id)
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func toolMessage(id string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":""}`, id)
}

func toolUse(ids ...string) string {
	uses := make([]string, len(ids))
	for i, id := range ids {
		uses[i] = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"f","input":{}}`, id)
	}
	return `{"role":"assistant","content":[` + strings.Join(uses, ",") + `]}`
}

func userBlocks(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func toolResult(id string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"r"}`, id)
}

func join(messages ...string) string { return strings.Join(messages, ",") }

// bodyCase is a body and a word of the refusal; empty: accepted.
type bodyCase struct{ name, body, refusal string }

func runBodies(t *testing.T, w stub.Wire, cases []bodyCase) {
	c := start(t, stub.Options{})
	c.srv.Always(stub.Text("ok"))
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			status, body := c.do(c.request(w, tc.body))
			requests := c.srv.Requests()
			refused := requests[len(requests)-1].Refused
			if tc.refusal == "" {
				if status != http.StatusOK || refused != "" {
					t.Fatalf("status %d, refused %q; want it accepted", status, refused)
				}
				return
			}
			if status != http.StatusBadRequest || !strings.Contains(refused, tc.refusal) {
				t.Fatalf("status %d, refused %q; want 400 about %q", status, refused, tc.refusal)
			}
			var shape struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(body), &shape); err != nil || shape.Error.Type != "invalid_request_error" || shape.Error.Message != refused {
				t.Errorf("error body %s", body)
			}
			if (shape.Type == "error") != (w == stub.Anthropic) {
				t.Errorf("error body of the wrong wire: %s", body)
			}
		})
	}
}

func TestOpenAIRefusals(t *testing.T) {
	call := func(id, name, args string) string {
		return openAIBody(join(openAIUser,
			fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":%s,"type":"function","function":{"name":%q,"arguments":%s}}]}`, id, name, args),
			toolMessage("a")))
	}
	tool := func(tool string) string {
		return `{"model":"m","messages":[` + openAIUser + `],"tools":[` + tool + `]}`
	}
	runBodies(t, stub.OpenAI, []bodyCase{
		{"minimal", openAIBody(openAIUser), ""},
		{"parallel results in any order", openAIBody(join(openAIUser, toolCalls("a", "b"), toolMessage("b"), toolMessage("a"))), ""},
		{"parts", openAIBody(`{"role":"user","content":[{"type":"text","text":"a"}]}`), ""},
		{"empty turn as a string", openAIBody(join(openAIUser, `{"role":"assistant","content":""}`, openAIUser)), ""},
		{"surrogate pair", openAIBody(`{"role":"user","content":"\ud83d\ude00"}`), ""},
		{"not JSON", `{`, "invalid JSON"},
		{"two values", openAIBody(openAIUser) + `{}`, "invalid JSON"},
		{"array", `[]`, "not a JSON object"},
		{"duplicate key", `{"model":"m","model":"n","messages":[` + openAIUser + `]}`, "duplicate key"},
		{"nested duplicate key", openAIBody(`{"role":"user","content":"a","content":"b"}`), "duplicate key"},
		{"invalid UTF-8", openAIBody("{\"role\":\"user\",\"content\":\"\xff\"}"), "UTF-8"},
		{"lone high surrogate", openAIBody(`{"role":"user","content":"\ud83d!"}`), "surrogate"},
		{"lone low surrogate", openAIBody(`{"role":"user","content":"\ude00"}`), "surrogate"},
		{"two high surrogates", openAIBody(`{"role":"user","content":"\ud83d\ud83d\ude00"}`), "surrogate"},
		{"unknown top-level field", `{"model":"m","messages":[` + openAIUser + `],"top_k":1}`, "top_k"},
		{"field in other case", `{"model":"m","Messages":[` + openAIUser + `]}`, "Messages"},
		{"no model", `{"messages":[` + openAIUser + `]}`, "model"},
		{"no messages", `{"model":"m","messages":[]}`, "at least one"},
		{"stream_options without stream", `{"model":"m","stream_options":{},"messages":[` + openAIUser + `]}`, "stream_options"},
		{"both token limits", `{"model":"m","max_tokens":1,"max_completion_tokens":1,"messages":[` + openAIUser + `]}`, "max_tokens"},
		{"fractional limit", `{"model":"m","max_tokens":1.5,"messages":[` + openAIUser + `]}`, "max_tokens"},
		{"unknown role", openAIBody(`{"role":"robot","content":"x"}`), "role"},
		{"null content", openAIBody(`{"role":"user","content":null}`), "content"},
		{"null content without calls", openAIBody(join(openAIUser, `{"role":"assistant","content":null}`, openAIUser)), "content"},
		{"empty final assistant", openAIBody(join(openAIUser, `{"role":"assistant","content":""}`)), "final assistant"},
		{"orphan result", openAIBody(join(openAIUser, toolMessage("a"))), "is none"},
		{"result of another call", openAIBody(join(openAIUser, toolCalls("a"), toolMessage("b"))), "is none"},
		{"result twice", openAIBody(join(openAIUser, toolCalls("a"), toolMessage("a"), toolMessage("a"))), "is none"},
		{"missing result", openAIBody(join(openAIUser, toolCalls("a", "b"), toolMessage("a"), openAIUser)), "missing: [b]"},
		{"missing result at the end", openAIBody(join(openAIUser, toolCalls("a"))), "no results"},
		{"result out of place", openAIBody(join(openAIUser, toolCalls("a"), openAIUser, toolMessage("a"))), "missing: [a]"},
		{"duplicate id", openAIBody(join(openAIUser, toolCalls("a", "a"), toolMessage("a"))), "duplicate id"},
		{"empty id", call(`""`, "f", `"{}"`), "id: must be given"},
		{"null id", call(`null`, "f", `"{}"`), "id: must be given"},
		{"result without id", openAIBody(join(openAIUser, toolCalls("a"), `{"role":"tool","content":""}`)), "tool_call_id"},
		{"illegal name", call(`"a"`, "f.g", `"{}"`), "name"},
		{"name of 65", call(`"a"`, strings.Repeat("f", 65), `"{}"`), "name"},
		{"empty arguments", call(`"a"`, "f", `""`), "arguments"},
		{"arguments as object", call(`"a"`, "f", `{}`), "must be a string"},
		{"arguments with trailing data", call(`"a"`, "f", `"{}</tool_call>"`), "arguments"}, // Report A09 (a)
		{"two argument objects", call(`"a"`, "f", `"{\"a\":1}{\"a\":2}"`), "arguments"},     // Report A09 (b)
		{"arguments as list", call(`"a"`, "f", `"[1]"`), "arguments"},                       // Report A09 (c)
		{"duplicate argument", call(`"a"`, "f", `"{\"a\":1,\"a\":2}"`), "duplicate key"},
		{"foreign reasoning_content", openAIBody(join(openAIUser, `{"role":"assistant","content":"x","reasoning_content":"y"}`, openAIUser)), "reasoning_content"},
		{"foreign thinking", openAIBody(join(openAIUser, `{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}`, openAIUser)), "text part"},
		{"empty tools", `{"model":"m","tools":[],"messages":[` + openAIUser + `]}`, "tools"},
		{"tool", tool(`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`), ""},
		{"tool with an illegal name", tool(`{"type":"function","function":{"name":"f g"}}`), "name"},
		{"tool with another schema", tool(`{"type":"function","function":{"name":"f","parameters":{"type":"array"}}}`), "type object"},
	})
}

func TestAnthropicRefusals(t *testing.T) {
	user := userBlocks(`{"type":"text","text":"hi"}`)
	use := func(id, name, input string) string {
		return anthropicBody(join(user,
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, id, name, input),
			userBlocks(toolResult("a"))))
	}
	text := `{"type":"text","text":"go on"}`
	signed := fmt.Sprintf(`{"type":"thinking","thinking":"plan","signature":%q}`, stub.Sign("plan"))
	runBodies(t, stub.Anthropic, []bodyCase{
		{"minimal", anthropicBody(user), ""},
		{"string content", anthropicBody(openAIUser), ""},
		{"parallel results, then text", anthropicBody(join(user, toolUse("a", "b"), userBlocks(toolResult("b"), toolResult("a"), text))), ""},
		{"empty result", anthropicBody(join(user, toolUse("a"), userBlocks(`{"type":"tool_result","tool_use_id":"a","content":""}`))), ""},
		{"its own thinking after a restart", anthropicBody(join(user, `{"role":"assistant","content":[`+signed+`,`+text+`]}`, user)), ""},
		{"no max_tokens", `{"model":"m","messages":[` + user + `]}`, "max_tokens"},
		{"unknown top-level field", `{"model":"m","max_tokens":1,"n":1,"messages":[` + user + `]}`, "body.n"},
		{"no messages", anthropicBody(""), "at least one"},
		{"duplicate key", `{"model":"m","model":"m","max_tokens":1,"messages":[` + user + `]}`, "duplicate key"},
		{"system message", anthropicBody(join(`{"role":"system","content":"x"}`, user)), "alternate"},
		{"assistant first", anthropicBody(`{"role":"assistant","content":"x"}`), "alternate"},
		{"two users", anthropicBody(join(user, user)), "alternate"},
		{"blank text", anthropicBody(userBlocks(`{"type":"text","text":" \n"}`)), "non-whitespace"},
		{"empty string", anthropicBody(`{"role":"user","content":""}`), "blank"},
		{"no blocks", anthropicBody(`{"role":"user","content":[]}`), "at least one block"},
		{"empty final assistant", anthropicBody(join(user, `{"role":"assistant","content":""}`)), "blank"},
		{"blank system block", `{"model":"m","max_tokens":1,"system":[{"type":"text","text":""}],"messages":[` + user + `]}`, "non-whitespace"},
		{"unknown block", anthropicBody(userBlocks(`{"type":"video"}`)), "unknown block"},
		{"orphan result", anthropicBody(userBlocks(toolResult("a"))), "unexpected tool_use_id"},
		{"result twice", anthropicBody(join(user, toolUse("a"), userBlocks(toolResult("a"), toolResult("a")))), "unexpected tool_use_id"},
		{"missing result", anthropicBody(join(user, toolUse("a", "b"), userBlocks(toolResult("a")))), "[b]"},
		{"results in two turns", anthropicBody(join(user, toolUse("a", "b"), userBlocks(toolResult("a")), userBlocks(toolResult("b")))), "[b]"},
		{"text before a result", anthropicBody(join(user, toolUse("a"), userBlocks(text, toolResult("a")))), "before text"},
		{"missing results at the end", anthropicBody(join(user, toolUse("a"))), "immediately after"},
		{"duplicate id", anthropicBody(join(user, toolUse("a", "a"), userBlocks(toolResult("a")))), "unique"},
		{"id of an earlier message", anthropicBody(join(user, toolUse("a"), userBlocks(toolResult("a")), toolUse("a"), userBlocks(toolResult("a")))), "unique"},
		{"empty id", use("", "f", "{}"), "id"},
		{"illegal id", use("a.b", "f", "{}"), "id"},
		{"illegal name", use("a", "f.g", "{}"), "name"},
		{"name of 129", use("a", strings.Repeat("f", 129), "{}"), "name"},
		{"input as string", use("a", "f", `"{}"`), "input"},
		{"tool_use of a user", anthropicBody(userBlocks(`{"type":"tool_use","id":"a","name":"f","input":{}}`)), "assistant's"},
		{"foreign field", anthropicBody(join(user, `{"role":"assistant","content":"x","reasoning_content":"y"}`, user)), "reasoning_content"},
		{"thinking not first", anthropicBody(join(user, `{"role":"assistant","content":[`+text+`,`+signed+`]}`, user)), "precede"},
		{"thinking unsigned", anthropicBody(join(user, `{"role":"assistant","content":[{"type":"thinking","thinking":"plan"},`+text+`]}`, user)), "signature"},
		{"thinking altered", anthropicBody(join(user, `{"role":"assistant","content":[`+strings.Replace(signed, "plan", "plans", 1)+`,`+text+`]}`, user)), "signature"},
		{"redacted of another", anthropicBody(join(user, `{"role":"assistant","content":[{"type":"redacted_thinking","data":"E"},`+text+`]}`, user)), "data"},
		{"tool", `{"model":"m","max_tokens":1,"tools":[` + anthropicTool + `],"messages":[` + user + `]}`, ""},
		{"tool twice", `{"model":"m","max_tokens":1,"tools":[` + anthropicTool + `,` + anthropicTool + `],"messages":[` + user + `]}`, "unique"},
		{"tool without schema", `{"model":"m","max_tokens":1,"tools":[{"name":"f"}],"messages":[` + user + `]}`, "input_schema"},
	})
}

func TestRefusalsBeforeTheBody(t *testing.T) {
	c := start(t, stub.Options{Key: "right"})
	c.srv.Always(stub.Text("ok"))
	good := map[stub.Wire]string{stub.OpenAI: openAIBody(openAIUser), stub.Anthropic: anthropicBody(openAIUser)}
	cases := []struct {
		name   string
		wire   stub.Wire
		change func(*http.Request)
		status int
	}{
		{"right key", stub.OpenAI, func(r *http.Request) { r.Header.Set("Authorization", "Bearer right") }, 200},
		{"wrong key", stub.OpenAI, func(*http.Request) {}, 401},
		{"no bearer", stub.OpenAI, func(r *http.Request) { r.Header.Set("Authorization", "right") }, 401},
		{"key of the other wire", stub.OpenAI, func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("X-Api-Key", "right") }, 401},
		{"right key", stub.Anthropic, func(r *http.Request) { r.Header.Set("X-Api-Key", "right") }, 200},
		{"wrong key", stub.Anthropic, func(*http.Request) {}, 401},
		{"no version", stub.Anthropic, func(r *http.Request) { r.Header.Set("X-Api-Key", "right"); r.Header.Del("Anthropic-Version") }, 400},
		{"other version", stub.Anthropic, func(r *http.Request) {
			r.Header.Set("X-Api-Key", "right")
			r.Header.Set("Anthropic-Version", "2023-01-01")
		}, 400},
		{"content type", stub.OpenAI, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer right")
			r.Header.Set("Content-Type", "text/plain")
		}, 400},
		{"method", stub.OpenAI, func(r *http.Request) { r.Method = http.MethodPut }, 405},
		{"path", stub.Anthropic, func(r *http.Request) { r.URL.Path = "/v1/messages/batches" }, 404},
	}
	for _, tc := range cases {
		t.Run(string(tc.wire)+" "+tc.name, func(t *testing.T) {
			r := c.request(tc.wire, good[tc.wire])
			tc.change(r)
			if status, body := c.do(r); status != tc.status {
				t.Errorf("status %d, want %d: %s", status, tc.status, body)
			}
		})
	}
	for _, r := range c.srv.Requests() {
		if r.Header.Get("Authorization")+r.Header.Get("X-Api-Key") != "" {
			t.Error("a key was recorded")
		}
	}
}
