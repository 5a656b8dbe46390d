package openai

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

func TestStreamedCalls(t *testing.T) {
	tests := []struct {
		name   string
		chunks []string
		want   string
		fault  string // part of it; empty: none
	}{
		{
			"Report A01 (a): ids without indices",
			[]string{fragments(`{"id":"c1","type":"function","function":{"name":"get","arguments":"{\"id\":1}"}},{"id":"c2","type":"function","function":{"name":"get","arguments":"{\"id\":2}"}}`)},
			`c1=get({"id":1}) c2=get({"id":2})`, "",
		},
		{
			"Report A01 (b): a bare fragment continues the only call",
			[]string{fragments(`{"id":"c1","function":{"name":"get","arguments":""}}`), fragments(`{"function":{"arguments":"{\"id\":1}"}}`)},
			`c1=get({"id":1})`, "",
		},
		{
			"Report A01 (c): a bare fragment and two open calls",
			[]string{fragments(`{"id":"c1","function":{"name":"get"}},{"id":"c2","function":{"name":"get"}}`), fragments(`{"function":{"arguments":"{}"}}`)},
			"c1=get() c2=get()", "more than one call",
		},
		{
			"a bare fragment and no call",
			[]string{fragments(`{"function":{"arguments":"{}"}}`)},
			"", "no call",
		},
		{
			"fragments named by id alone",
			[]string{
				fragments(`{"id":"c1","function":{"name":"f","arguments":"{"}}`), fragments(`{"id":"c2","function":{"name":"g","arguments":"["}}`),
				fragments(`{"id":"c1","function":{"arguments":"}"}}`), fragments(`{"id":"c2","function":{"arguments":"]"}}`),
			},
			"c1=f({}) c2=g([])", "",
		},
		{
			"names begin calls where there is nothing else",
			[]string{fragments(`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}`)},
			"=f({}) =f({})", "",
		},
		{
			"Report A02: interleaved by index",
			[]string{
				fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), fragments(`{"index":1,"id":"b","function":{"name":"g","arguments":""}}`),
				fragments(`{"index":0,"function":{"arguments":"{\"x\":"}}`), fragments(`{"index":1,"function":{"arguments":"{\"y\":"}}`),
				fragments(`{"index":0,"id":null,"function":{"name":null,"arguments":"1}"}}`), fragments(`{"index":1,"id":"","function":{"name":"","arguments":"2}"}}`),
			},
			`a=f({"x":1}) b=g({"y":2})`, "",
		},
		{
			"Report A02: in index order",
			[]string{fragments(`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}},{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`)},
			"a=f({}) b=g({})", "",
		},
		{
			"one index for all, told apart by id",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`)},
			"a=f({}) b=g({})", "",
		},
		{
			"one index for two, then a fragment of either",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f"}},{"index":0,"id":"b","function":{"name":"g"}}`), fragments(`{"index":0,"function":{"arguments":"{}"}}`)},
			"a=f() b=g()", "more than one call",
		},
		{
			"two ids for one call",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f"}}`), fragments(`{"index":0,"id":"b","function":{"arguments":"{}"}}`)},
			"a=f()", "two ids",
		},
		{
			"two names for one call",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f"}}`), fragments(`{"index":0,"id":"a","function":{"name":"g"}}`)},
			"a=f()", "two names",
		},
		{
			"id and name repeated",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`)},
			"a=f({})", "",
		},
		{
			"a late id, and fragments that say nothing",
			[]string{fragments(`{"index":0,"function":{"name":"f"}}`), fragments(`{}`), fragments(`{"index":0,"id":"a"}`)},
			"a=f()", "",
		},
		{
			"an unknown type of call",
			[]string{fragments(`{"index":0,"id":"a","type":"custom","custom":{"name":"f"}}`)},
			"", "unknown type",
		},
		{
			"an id that is no string",
			[]string{fragments(`{"index":0,"id":7,"function":{"name":"f","arguments":"{}"}}`)},
			"=f({})", "wrong type",
		},
		{
			"Report A06: the older form",
			[]string{chunk(`{"function_call":{"name":"list","arguments":""}}`), chunk(`{"function_call":{"arguments":"{}"}}`)},
			"=list({})", "",
		},
		{
			"both forms",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f"}}`), chunk(`{"function_call":{"name":"f"}}`)},
			"a=f() =f()", "two forms",
		},
		{
			"Report A08: digits",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"id\":9007199254740993,"}}`), fragments(`{"index":0,"function":{"arguments":"\"max\":9223372036854775807,\"d\":0.10}"}}`)},
			`a=f({"id":9007199254740993,"max":9223372036854775807,"d":0.10})`, "",
		},
		{
			"Report A40: a surrogate pair in two fragments",
			[]string{fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"s\":\"\\ud83d"}}`), fragments(`{"index":0,"function":{"arguments":"\\ude00\"}"}}`)},
			`a=f({"s":"\ud83d\ude00"})`, "",
		},
		{
			"too many calls",
			[]string{fragments(`{"id":"x","function":{"name":"f"}}`), fragments(manyCalls(maxCalls))},
			"", "too many calls",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _, err := stream(t, append(tt.chunks, finish("tool_calls"), done)...)
			if err != nil {
				t.Fatal(err)
			}
			if (r.Fault == "") != (tt.fault == "") || !strings.Contains(r.Fault, tt.fault) {
				t.Errorf("fault %q, want %q", r.Fault, tt.fault)
			}
			if got := callsOf(r); got != tt.want && tt.name != "too many calls" {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if r.Stop != kernel.StopCalls {
				t.Errorf("stop %q", r.Stop)
			}
		})
	}
}

func manyCalls(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"index":%d,"function":{"name":"f"}}`, i))
	}
	return strings.Join(out, ",")
}

// Report A07: what equals no arguments, and what stays malformed.
func TestArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`,"arguments":""`:              "",
		`,"arguments":"  "`:            "  ",
		`,"arguments":null`:            "",
		``:                             "",
		`,"arguments":"{"`:             "{",
		`,"arguments":{"a":1.50}`:      `{"a":1.50}`,
		`,"arguments":"{\"a\":1}{}"`:   `{"a":1}{}`,
		`,"arguments":"{} </tool>"`:    `{} </tool>`,
		`,"arguments":"{\"a\":\"中\"}"`: `{"a":"中"}`,
	} {
		call := `{"index":0,"id":"a","function":{"name":"f"` + arguments + `}}`
		streamed, _, err := stream(t, fragments(call), finish("tool_calls"), done)
		if err != nil {
			t.Fatal(err)
		}
		whole, _, err := plain(t, `{"choices":[{"message":{"tool_calls":[`+call+`]},"finish_reason":"tool_calls"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*model.Reply{streamed, whole} {
			if got := callsOf(r); got != "a=f("+want+")" || r.Fault != "" {
				t.Errorf("%s: %s, fault %q", arguments, got, r.Fault)
			}
		}
	}
}

// Report A03.
func TestNoise(t *testing.T) {
	body := ": OPENROUTER PROCESSING\n\n:\n\ndata:\n\ndata: : keepalive\n\nid: 7\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" +
		"data:" + chunk(`{"content":"Hel"}`) + "\r\n\r\n" +
		": more\r\n" + "data: " + chunk(`{"content":"lo"}`) + "\n\n" +
		events(finish("stop"), done)
	r, seen, err := ask(t, "text/event-stream", body)
	if err != nil || textOf(r) != "Hello" || seen != "Hello" || r.Stop != kernel.StopEnd || r.Fault != "" {
		t.Errorf("%+v, %q, %v", r, seen, err)
	}
	if r.Size != len(body) {
		t.Errorf("size %d, want %d", r.Size, len(body))
	}
	_, _, err = stream(t, chunk(`{"content":"Hel"}`), `{"choices":[`, finish("stop"), done)
	fails(t, err, kernel.FailInvalid)
}

// Report A04.
func TestUsageChunks(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}`
	tests := map[string][]string{
		"last chunk": {`{"choices":[],"prompt_filter_results":[]}`, chunk(`{"content":"hi"}`), finish("stop"), `{"choices":[],` + usage + `}`, done},
		"null before": {`{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}],"usage":null}`,
			finish("stop"), `{"choices":[],` + usage + `}`, done},
		"no choices key": {`{"id":"x"}`, chunk(`{"content":"hi"}`), finish("stop"), `{` + usage + `}`, done},
		"finish chunk":   {chunk(`{"content":"hi"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],` + usage + `}`, done},
		"every chunk":    {`{"choices":[{"index":0,"delta":{"content":"hi"}}],` + usage + `}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],` + usage + `}`, done},
	}
	for name, chunks := range tests {
		r, _, err := stream(t, chunks...)
		if err != nil || textOf(r) != "hi" || r.Fault != "" || !cmp.Equal(r.Usage, &kernel.Usage{Input: 10, Output: 3}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// Report A29: what is cached is counted once.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]*kernel.Usage{
		`{"prompt_tokens":10007,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":9800}}`: {Input: 10007, Output: 50, CacheRead: 9800},
		`{"prompt_tokens":10007,"completion_tokens":50,"prompt_tokens_details":null}`:                   {Input: 10007, Output: 50},
		`{"prompt_tokens":10007,"completion_tokens":50}`:                                                {Input: 10007, Output: 50},
		`{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":9}}`:                               {Input: 5, CacheRead: 5},
		// Of what is there twice the last counts, whole.
		`{"prompt_tokens":7,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":3}},"usage":{"prompt_tokens":5}`: {Input: 5},
		`{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":3},"prompt_tokens_details":{}}`:                        {Input: 5},
		`{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":3},"prompt_tokens_details":{"cached_tokens":2}}`:       {Input: 5, CacheRead: 2},
		`null`:                    nil,
		`{}`:                      nil,
		`{"prompt_tokens":-1}`:    nil,
		`{"prompt_tokens":1.5}`:   nil,
		`{"prompt_tokens":"10"}`:  nil,
		`{"prompt_tokens":9e18}`:  nil,
		`{"prompt_tokens":1e400}`: nil,
		`[]`:                      nil,
		`{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000}`: nil,
	} {
		r, _, err := plain(t, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":`+usage+`}`)
		if err != nil || !cmp.Equal(r.Usage, want) || r.Fault != "" {
			t.Errorf("%s: %+v, want %+v, %v", usage, r.Usage, want, err)
		}
	}
}

// Report A05.
func TestEndOfStream(t *testing.T) {
	whole := fragments(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}`)
	part := fragments(`{"index":0,"id":"c1","function":{"name":"send_mail","arguments":"{\"to\":\"u@ex"}}`)
	for _, chunks := range [][]string{
		{part},                         // (a)
		{chunk(`{"content":"Hello"}`)}, // (b)
		{whole},                        // neither a reason nor [DONE]
		{},
	} {
		_, _, err := stream(t, chunks...)
		fails(t, err, kernel.FailCut)
	}
	r, _, err := stream(t, whole, finish("tool_calls"))
	if err != nil || callsOf(r) != "c1=f({})" || r.Stop != kernel.StopCalls {
		t.Errorf("(c): %+v, %v", r, err)
	}
	r, _, err = stream(t, whole, done)
	if err != nil || callsOf(r) != "c1=f({})" || r.Stop != kernel.StopAbsent || r.Fault != "" {
		t.Errorf("(d): %+v, %v", r, err)
	}
}

func TestUsageOfACutReply(t *testing.T) {
	_, _, err := stream(t, `{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`)
	var e *model.Error
	if !errors.As(err, &e) || !cmp.Equal(e.Usage, &kernel.Usage{Input: 7, Output: 1}) {
		t.Errorf("%+v", err)
	}
}

// Report A06, rows 6 and 7: the reason is told as it is; whether calls run is
// decided by admission.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]kernel.StopReason{
		`"stop"`:           kernel.StopEnd,
		`"tool_calls"`:     kernel.StopCalls,
		`"function_call"`:  kernel.StopCalls,
		`"length"`:         kernel.StopLength,
		`"content_filter"`: kernel.StopFilter,
		`"end_turn"`:       "other:end_turn",
		`"other"`:          "other:other",
		`""`:               kernel.StopAbsent,
		`null`:             kernel.StopAbsent,
	} {
		const call = `{"id":"c1","type":"function","function":{"name":"list","arguments":"{}"}}`
		r, _, err := plain(t, `{"choices":[{"index":0,"finish_reason":`+reason+`,"message":{"role":"assistant","content":"Let me look.","tool_calls":[`+call+`]}}]}`)
		if err != nil || r.Stop != want || callsOf(r) != "c1=list({})" || textOf(r) != "Let me look." || r.Fault != "" {
			t.Errorf("%s: %+v, %v", reason, r, err)
		}
	}
	r, _, err := plain(t, `{"choices":[{"finish_reason":"stop","message":{"function_call":{"name":"list","arguments":"{}"}}}]}`)
	if err != nil || callsOf(r) != "=list({})" || r.Fault != "" {
		t.Errorf("older form: %+v, %v", r, err)
	}
	r, _, err = stream(t, finish("tool_calls"), finish("stop"), done)
	if err != nil || r.Fault == "" {
		t.Errorf("two reasons: %+v, %v", r, err)
	}
}

// Report A35, and private reasoning apart from text.
func TestContentParts(t *testing.T) {
	const thinking = `{"type":"thinking","thinking":[{"type":"text","text":"PRIVATE"}]}`
	whole, seenWhole, err := plain(t, `{"choices":[{"message":{"content":[`+thinking+`,{"type":"text","text":"Hello"}]},"finish_reason":"stop"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	streamed, seen, err := stream(t, chunk(`{"content":[`+thinking+`]}`), chunk(`{"content":""}`), chunk(`{"content":null}`),
		chunk(`{"content":[{"type":"text","text":"Hel"}]}`), chunk(`{"content":"lo"}`), finish("stop"), done)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*model.Reply{whole, streamed} {
		b := r.Message.Blocks
		if len(b) != 2 || b[0].Kind != kernel.BlockReason || string(b[0].Private.Data) != "["+thinking+"]" || b[1].Text != "Hello" || r.Fault != "" {
			t.Errorf("%+v", r)
		}
	}
	if seen != "Hello" || seenWhole != "Hello" {
		t.Errorf("seen %q, %q", seen, seenWhole)
	}
	r, _, err := plain(t, `{"choices":[{"message":{"content":[{"type":"image_url","image_url":{"url":"x"}}]},"finish_reason":"stop"}]}`)
	if err != nil || len(r.Message.Blocks) != 1 || r.Message.Blocks[0].Kind != "other:image_url" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Row 23 and report A12.
func TestReasoningContent(t *testing.T) {
	r, seen, err := stream(t, chunk(`{"reasoning_content":"PRI\"V"}`), chunk(`{"reasoning_content":"ATE","content":null}`), chunk(`{"content":"Hi"}`), finish("stop"), done)
	if err != nil || seen != "Hi" {
		t.Fatalf("%q, %v", seen, err)
	}
	p := r.Message.Blocks[0].Private
	if r.Message.Blocks[0].Kind != kernel.BlockReason || p.Provider != "openai@127.0.0.1" || string(p.Data) != `"PRI\"VATE"` {
		t.Errorf("%s %s", p.Provider, p.Data)
	}
	if s := fmt.Sprintf("%+v %#v", r, r); strings.Contains(s, "VATE") {
		t.Errorf("a print tells: %s", s)
	}
}

func TestRefusal(t *testing.T) {
	r, seen, err := stream(t, chunk(`{"refusal":"I can"}`), chunk(`{"refusal":"not."}`), finish("stop"), done)
	if err != nil || r.Stop != kernel.StopRefusal || textOf(r) != "I cannot." || seen != "I cannot." {
		t.Errorf("%+v, %v", r, err)
	}
	r, _, err = plain(t, `{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}`)
	if err != nil || r.Stop != kernel.StopRefusal || textOf(r) != "No." {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestContradictions(t *testing.T) {
	for body, fault := range map[string]string{
		`{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}`:      "more than one choice",
		`{"choices":[{"index":1,"message":{"content":"b"},"finish_reason":"stop"}]}`: "more than one choice",
		`{"choices":[]}`: "no choice",
		// What was said first must not get lost, that the reply was cut in particular.
		`{"choices":[{"message":{"content":"a"},"finish_reason":"length","finish_reason":null}]}`:                                              "twice: finish_reason",
		`{"choices":[{"message":{"content":"a"},"finish_reason":"length","finish_reason":"stop"}]}`:                                            "twice: finish_reason",
		`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}],"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`:    "twice: choices",
		`{"choices":[{"message":{"content":"a"},"message":{"content":"b"},"finish_reason":"stop"}]}`:                                           "twice: message",
		`{"choices":[{"delta":{"content":"a"},"delta":{"content":"b"},"finish_reason":"stop"}]}`:                                               "twice: delta",
		`{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f"}}],"tool_calls":null,"content":"a"},"finish_reason":"stop"}]}`: "twice: tool_calls",
		`{"choices":[{"message":{"content":7},"finish_reason":"stop"}]}`:                                                                       "neither text nor parts",
		`{"choices":[{"message":{"content":["x"]},"finish_reason":"stop"}]}`:                                                                   "wrong type",
		`{"choices":[{"message":"hi","finish_reason":"stop"}]}`:                                                                                "wrong type",
		`{"choices":[{"message":{"content":"a"},"finish_reason":["` + secret + `"]}]}`:                                                         "wrong type",
	} {
		r, _, err := plain(t, body)
		if err != nil || !strings.Contains(r.Fault, fault) || strings.Contains(r.Fault, secret) {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
	r, _, err := stream(t, done)
	if err != nil || !strings.Contains(r.Fault, "no choice") {
		t.Errorf("%+v, %v", r, err)
	}
}

// null says nothing, and so nothing twice.
func TestNullBefore(t *testing.T) {
	r, _, err := plain(t, `{"choices":null,"choices":[{"message":null,"message":{"content":"a","tool_calls":null,"tool_calls":[]},"delta":null,"delta":{},"finish_reason":null,"finish_reason":"stop"}]}`)
	if err != nil || r.Fault != "" || textOf(r) != "a" || r.Stop != kernel.StopEnd {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPlainThatIsNoReply(t *testing.T) {
	for body, want := range map[string]kernel.FailureKind{
		``:                                       kernel.FailCut,
		` `:                                      kernel.FailCut,
		`{"choices":[{"message":{"con`:           kernel.FailCut,
		`{"choices":}`:                           kernel.FailInvalid,
		`{"choices":[]}{"choices":[]}`:           kernel.FailInvalid,
		`hello`:                                  kernel.FailInvalid,
		`{}`:                                     kernel.FailInvalid,
		`null`:                                   kernel.FailInvalid,
		`[]`:                                     kernel.FailInvalid,
		`"hi"`:                                   kernel.FailInvalid,
		strings.Repeat("[", 100_000):             kernel.FailInvalid,
		`{"error":{"message":"` + secret + `"}}`: kernel.FailStatus,
	} {
		_, _, err := plain(t, body)
		fails(t, err, want)
	}
}

// A plain answer to a request for a stream, and the other way round.
func TestTheAnswersOwnFormCounts(t *testing.T) {
	const body = `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`
	for _, streamed := range []bool{true, false} {
		set := func(c *Config) { c.Stream = streamed }
		r, _, err := ask(t, "application/json", body, set)
		if err != nil || textOf(r) != "hi" {
			t.Errorf("plain: %+v, %v", r, err)
		}
		r, _, err = ask(t, "text/event-stream", events(chunk(`{"content":"hi"}`), finish("stop"), done), set)
		if err != nil || textOf(r) != "hi" {
			t.Errorf("stream: %+v, %v", r, err)
		}
	}
	r, _, err := ask(t, "text/plain", body, func(c *Config) { c.Stream = false })
	if err != nil || textOf(r) != "hi" {
		t.Errorf("as asked: %+v, %v", r, err)
	}
}

// Report A40: invalid bytes give one replacement, and do not stall.
func TestInvalidUTF8(t *testing.T) {
	r, _, err := stream(t, chunk("{\"content\":\"a\xE4\xB8b\xFF\"}"), chunk(`{"content":"\ud83d"}`), finish("stop"), done)
	if err != nil || textOf(r) != "a\uFFFDb\uFFFD\uFFFD" {
		t.Errorf("%q, %v", textOf(r), err)
	}
}

// Report A40: a character whose halves are escaped in two chunks.
func TestSplitSurrogates(t *testing.T) {
	r, seen, err := stream(t, chunk(`{"content":"a\ud83d"}`), chunk(`{"content":"\ude00b\ud83d"}`),
		chunk(`{"content":[{"type":"text","text":"\ude01"}]}`), chunk(`{"reasoning_content":"\ud83d"}`), chunk(`{"reasoning_content":"\ude02"}`),
		fragments(`{"index":0,"id":"c","function":{"name":"f","arguments":"{\"s\":\"\ud83d"}}`), fragments(`{"index":0,"function":{"arguments":"\ude00\"}"}}`),
		finish("tool_calls"), done)
	if err != nil || r.Fault != "" || textOf(r) != "a😀b😁" || seen != "a😀b😁" || callsOf(r) != `c=f({"s":"😀"})` {
		t.Fatalf("%+v, seen %q, %v", r, seen, err)
	}
	if got := string(r.Message.Blocks[0].Private.Data); got != `"😂"` {
		t.Errorf("reasoning %s", got)
	}
	r, _, err = stream(t, chunk(`{"refusal":"\ud83d"}`), chunk(`{"refusal":"\ude00"}`), finish("stop"), done)
	if err != nil || textOf(r) != "😀" || r.Stop != kernel.StopRefusal {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOneLineUpToTheCap(t *testing.T) {
	const overhead = 200
	content := strings.Repeat("x", 1_000_000-overhead)
	body := events(chunk(`{"content":"` + content + `"}`))
	rest := events(finish("stop"), done)
	if len(body)+len(rest) > 1_000_000 {
		t.Fatal("the body is over the cap")
	}
	r, _, err := ask(t, "text/event-stream", body+rest)
	if err != nil || textOf(r) != content {
		t.Fatalf("%v", err)
	}
	_, _, err = ask(t, "text/event-stream", body+events(chunk(`{"content":"`+strings.Repeat("x", overhead)+`"}`))+rest)
	fails(t, err, kernel.FailTooLarge)
}

// FuzzDecode feeds hostile answers: nothing panics, and a reply holds valid
// text and no more than arrived.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(events(chunk(`{"content":"hi","reasoning_content":"r"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":1}}`, done)), true)
	f.Add([]byte(events(fragments(`{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}`), fragments(`{"function":{"arguments":"}"}}`), done)), true)
	f.Add([]byte(events(`{"error":{"code":429}}`)), true)
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"c"}]},"finish_reason":"length"}]}`), false)
	f.Add([]byte(`{"error":"x"}`), false)
	f.Fuzz(func(t *testing.T, data []byte, streamed bool) {
		a := assembly{maker: "openai"}
		var err error
		if streamed {
			err = a.ReadStream(streamOf(bytes.NewReader(data)))
		} else {
			err = a.ReadPlain(data)
		}
		if err != nil {
			var e *model.Error
			if !errors.As(err, &e) || e.Kind == "" {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		r := a.Reply()
		if len(r.Message.Blocks) > 2*maxCalls+5 {
			t.Fatalf("%d blocks", len(r.Message.Blocks))
		}
		if n := len(textOf(r)) + len(callsOf(r)); n > 3*len(data)+1000 || !utf8.ValidString(textOf(r)+callsOf(r)) {
			t.Fatalf("%d bytes of %d, or not valid", n, len(data))
		}
	})
}
