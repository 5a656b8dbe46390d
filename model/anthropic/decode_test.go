package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

func TestStreamedText(t *testing.T) {
	r, seen, err := stream(t, begun, `{"type":"ping"}`, start(0, `{"type":"text","text":""}`), `{"type":"of_a_later_protocol"}`,
		delta(0, `{"type":"text_delta","text":"Hel"}`), delta(0, `{"type":"citations_delta","citation":{}}`),
		delta(0, `{"type":"text_delta","text":"lo"}`), end(0), stop("end_turn"), whole)
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Reply{
		Message: *assistant(say("Hello")), Stop: kernel.StopEnd,
		Usage: &kernel.Usage{Input: 7, Output: 5}, Size: r.Size,
	}
	if diff := cmp.Diff(want, r); diff != "" || seen != "Hello" {
		t.Errorf("%s, seen %q", diff, seen)
	}
}

// The type stands in the data; a server that gives it as the event's name
// alone is understood.
func TestTypeOfTheEventLine(t *testing.T) {
	r, _, err := ask(t, "text/event-stream", "event: message_start\ndata: {}\n\nevent: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n"+
		"event: content_block_stop\ndata: {\"index\":0}\n\nevent: message_stop\ndata: {}\n\n")
	if err != nil || textOf(r) != "hi" || r.Fault != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Report A07 (d) and (e), A08, A40.
func TestArguments(t *testing.T) {
	const use = `{"type":"tool_use","id":"t1","name":"f","input":{}}`
	tests := []struct {
		name   string
		events []string
		want   string // "" and "{}" are the same
		fault  string
	}{
		{"(d) nothing", nil, "{}", ""},
		{"(e) an empty delta", []string{input("")}, "{}", ""},
		{"pieces", []string{input(""), input(`{"id":90071992`), input(`54740993,"d":0.10}`)}, `{"id":9007199254740993,"d":0.10}`, ""},
		{"a surrogate pair in two", []string{input(`{"s":"\ud83d`), input(`\ude00"}`)}, `{"s":"\ud83d\ude00"}`, ""},
		{"malformed", []string{input("{")}, "{", ""},
		{"two values", []string{input(`{"a":1}{"a":2}`)}, `{"a":1}{"a":2}`, ""},
		{"blank", []string{input("  ")}, "  ", ""},
		{"no object", []string{input("[1]")}, "[1]", "no object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := append([]string{begun, start(0, use)}, tt.events...)
			r, _, err := stream(t, append(list, end(0), stop("tool_use"), whole)...)
			if err != nil || callsOf(r) != "t1=f("+tt.want+")" || r.Stop != kernel.StopCalls {
				t.Errorf("%+v, %v", r, err)
			}
			if (r.Fault == "") != (tt.fault == "") || !strings.Contains(r.Fault, tt.fault) {
				t.Errorf("fault %q", r.Fault)
			}
		})
	}
}

// Case 11: an input that is no object.
func TestPlainInput(t *testing.T) {
	for in, want := range map[string]struct{ args, fault string }{
		`,"input":{"id":9007199254740993}`: {`{"id":9007199254740993}`, ""},
		`,"input":{}`:                      {"{}", ""},
		`,"input":null`:                    {"", ""},
		``:                                 {"", ""},
		`,"input":[1]`:                     {"[1]", "no object"},
		`,"input":"{}"`:                    {`"{}"`, "no object"},
		`,"input":7`:                       {"7", "no object"},
	} {
		r, _, err := plain(t, reply(`{"type":"tool_use","id":"t1","name":"f"`+in+`}`, "tool_use"))
		if err != nil || callsOf(r) != "t1=f("+want.args+")" || (r.Fault == "") != (want.fault == "") || !strings.Contains(r.Fault, want.fault) {
			t.Errorf("%s: %+v, %v", in, r, err)
		}
	}
	// A server that sends the input with the start of the block.
	use := `{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}`
	r, _, err := stream(t, begun, start(0, use), end(0), stop("tool_use"), whole)
	if err != nil || callsOf(r) != `t1=f({"a":1})` || r.Fault != "" {
		t.Errorf("%+v, %v", r, err)
	}
	r, _, err = stream(t, begun, start(0, use), input(`{"b":1}`), end(0), stop("tool_use"), whole)
	if err != nil || !strings.Contains(r.Fault, "twice") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Row 12, case 12 and report A12: thinking is kept verbatim and never seen.
func TestThinking(t *testing.T) {
	const signed = `{"type":"thinking","thinking":"PRI\"V","signature":"SIG1"}`
	const redacted = `{"type":"redacted_thinking","data":"ENC"}`
	streamed, seen, err := stream(t, begun,
		start(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"PRI"}`),
		delta(0, `{"type":"thinking_delta","thinking":"\"V"}`), delta(0, `{"type":"signature_delta","signature":"SIG1"}`), end(0),
		start(1, redacted), end(1), start(2, `{"type":"text","text":"Hi"}`), end(2), stop("end_turn"), whole)
	if err != nil || seen != "Hi" {
		t.Fatalf("%q, %v", seen, err)
	}
	full, seen, err := plain(t, reply(signed+","+redacted+`,{"type":"text","text":"Hi"}`, "end_turn"))
	if err != nil || seen != "Hi" {
		t.Fatalf("%q, %v", seen, err)
	}
	private := func(kind kernel.BlockKind, data string, signed bool) kernel.Block {
		return kernel.Block{Kind: kind, Private: &kernel.Private{Provider: "anthropic@127.0.0.1", Data: []byte(data), Signed: signed}}
	}
	want := *assistant(private(kernel.BlockThinking, signed, true), private(kernel.BlockRedacted, redacted, false), say("Hi"))
	for _, r := range []*model.Reply{streamed, full} {
		if diff := cmp.Diff(want, r.Message); diff != "" || r.Fault != "" {
			t.Errorf("%s, fault %q", diff, r.Fault)
		}
		if s := fmt.Sprintf("%+v %#v", r, r); strings.Contains(s, "PRI") || strings.Contains(s, "ENC") {
			t.Errorf("a print tells: %s", s)
		}
	}
	// A signature without text.
	r, _, err := stream(t, begun, start(0, `{"type":"thinking","thinking":""}`), delta(0, `{"type":"signature_delta","signature":"S"}`), end(0), stop("end_turn"), whole)
	if err != nil || !cmp.Equal(r.Message.Blocks[0], private(kernel.BlockThinking, `{"type":"thinking","thinking":"","signature":"S"}`, true)) {
		t.Errorf("%+v, %v", r, err)
	}
	// Without a signature: not admitted by a strict profile, unsigned
	// reasoning by a tolerant one.
	for profile, kind := range map[kernel.Profile]kernel.BlockKind{kernel.Strict: kernel.BlockThinking, kernel.Tolerant: kernel.BlockReason} {
		r, _, err = ask(t, "application/json", reply(`{"type":"thinking","thinking":"x"}`, "end_turn"), func(c *Config) { c.Profile = profile })
		if err != nil || r.Message.Blocks[0].Kind != kind || r.Message.Blocks[0].Private.Signed {
			t.Errorf("%s: %+v, %v", profile, r, err)
		}
	}
}

// Rows 11 and 14: kinds and stop reasons are told as they are.
func TestKindsAndStops(t *testing.T) {
	for reason, want := range map[string]kernel.StopReason{
		"end_turn": kernel.StopEnd, "stop_sequence": kernel.StopEnd, "tool_use": kernel.StopCalls, "max_tokens": kernel.StopLength, "model_context_window_exceeded": kernel.StopWindow,
		"refusal": kernel.StopRefusal, "pause_turn": "other:pause_turn", "unknown": "other:unknown", "": kernel.StopAbsent,
	} {
		r, _, err := plain(t, reply(`{"type":"image"},{"type":"server tool\n"},{}`, reason))
		if err != nil || r.Stop != want || r.Fault != "" {
			t.Errorf("%s: %+v, %v", reason, r, err)
		}
		b := r.Message.Blocks
		if len(b) != 3 || b[0].Kind != "other:image" || b[1].Kind != "other:server?tool?" || b[2].Kind != "other:" {
			t.Errorf("%+v", b)
		}
	}
}

func TestContradictions(t *testing.T) {
	const text = `{"type":"text","text":"a"}`
	for name, tt := range map[string]struct {
		events []string
		fault  string
	}{
		"delta of no block":   {[]string{delta(3, `{"type":"text_delta","text":"x"}`)}, "no block"},
		"end of no block":     {[]string{end(3)}, "no block"},
		"one index for two":   {[]string{start(0, text), end(0), start(0, text)}, "one index"},
		"no index":            {[]string{`{"type":"content_block_start","content_block":` + text + `}`}, "no index"},
		"delta without index": {[]string{`{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`}, "no index"},
		"delta after the end": {[]string{start(0, text), end(0), delta(0, `{"type":"text_delta","text":"x"}`)}, "follows the end"},
		"delta of other kind": {[]string{start(0, text), input("{}"), end(0)}, "does not fit"},
		"no end":              {[]string{start(0, text)}, "did not end"},
		"no object":           {[]string{start(0, `"text"`), end(0)}, "no object"},
		"two stop reasons":    {[]string{stop("tool_use")}, "two stop reasons"},
		"wrong type":          {[]string{start(0, `{"type":"tool_use","id":7,"name":"f"}`), end(0)}, "wrong type"},
		"a negative index":    {[]string{start(-1, text), end(-1)}, "negative index"},
		"too many blocks":     {manyBlocks(maxBlocks + 1), "too many"},
	} {
		r, _, err := stream(t, slices.Concat([]string{begun}, tt.events, []string{stop("end_turn"), whole})...)
		if err != nil || !strings.Contains(r.Fault, tt.fault) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	r, _, err := plain(t, `{"role":"assistant","content":"text","stop_reason":"end_turn"}`)
	if err != nil || !strings.Contains(r.Fault, "no list") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A reply that two answers were made of, or that nobody's turn it was to give.
func TestTwoReplies(t *testing.T) {
	const use = `{"type":"tool_use","id":"t1","name":"f","input":{}}`
	begins := func(id string) string {
		return `{"type":"message_start","message":{"id":"` + id + `","role":"assistant","content":[]}}`
	}
	call, last := []string{start(0, use), input("{}"), end(0)}, []string{stop("tool_use"), whole}
	list := func(parts ...[]string) string { return events(slices.Concat(parts...)...) }
	for name, tt := range map[string]struct{ body, strict, tolerant string }{
		"one":                       {list([]string{begins("a")}, call, last), "", ""},
		"one without an id":         {list([]string{begun}, call, last), "", ""},
		"no beginning":              {list(call, last), "no beginning", "no beginning"},
		"no beginning, no block":    {list(last), "no beginning", "no beginning"},
		"a late beginning":          {list(call, []string{begins("a")}, last), "no beginning", "no beginning"},
		"two beginnings of two":     {list([]string{begins("a")}, call[:2], []string{begins("b")}, call[2:], last), "begins twice", "begins twice"},
		"two beginnings without id": {list([]string{begins("")}, call, []string{begins("")}, last), "begins twice", "begins twice"},
		"two beginnings of one":     {list([]string{begins("a"), begins("a")}, call, last), "begins twice", ""},
		"a block after the reason":  {list([]string{begun, stop("tool_use")}, call, []string{whole}), "goes on", "goes on"},
		"a whole one after it":      {list([]string{begun, stop("tool_use"), start(0, `{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}`), end(0), whole}), "goes on", "goes on"},
		"a piece after the reason":  {list([]string{begun}, call[:1], []string{stop("tool_use")}, call[1:], []string{whole}), "goes on", "goes on"},
		"an empty piece after it":   {list([]string{begun}, call[:2], []string{stop("tool_use"), input(""), delta(0, `{"type":"input_json_delta","partial_json":""}`)}, call[2:], []string{whole}), "", ""},
		"an end after the reason":   {list([]string{begun}, call[:2], []string{stop("tool_use")}, call[2:], []string{whole}), "", ""},
		"usage after the reason":    {list([]string{begun}, call, []string{stop("tool_use"), `{"type":"message_delta","delta":{},"usage":{"output_tokens":6}}`, whole}), "", ""},
		"no role":                   {list([]string{`{"type":"message_start","message":{"role":""}}`}, call, last), "", ""},
		"another role":              {list([]string{`{"type":"message_start","message":{"role":"user"}}`}, call, last), "not the assistant's", "not the assistant's"},
	} {
		for profile, fault := range map[kernel.Profile]string{kernel.Strict: tt.strict, kernel.Tolerant: tt.tolerant} {
			r, _, err := ask(t, "text/event-stream", tt.body, func(c *Config) { c.Profile = profile })
			if err != nil || (r.Fault == "") != (fault == "") || !strings.Contains(r.Fault, fault) {
				t.Errorf("%s, %s: %+v, %v", name, profile, r, err)
			}
		}
	}
	r, _, err := plain(t, strings.Replace(reply(use, "tool_use"), `"assistant"`, `"user"`, 1))
	if err != nil || !strings.Contains(r.Fault, "not the assistant's") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Arguments are what the model wrote, or nothing runs. Text has a U+FFFD in the
// place of what is no text.
func TestArgumentsThatAreNoText(t *testing.T) {
	piece := func(s string) string { return delta(0, `{"type":"input_json_delta","partial_json":"`+s+`"}`) }
	for name, tt := range map[string]struct {
		pieces []string
		fault  bool
	}{
		"bytes":                   {[]string{piece(`{\"s\":\"` + "\xFF" + `\"}`)}, true},
		"half a character, twice": {[]string{piece(`{\"s\":\"` + "\xE4\xB8"), piece("\xAD" + `\"}`)}, true},
		"half an escape":          {[]string{piece(`{\"s\":\"\ud83d\"}`)}, true},
		"half an escape, last":    {[]string{piece(`{\"s\":\"\ud83d`)}, true},
		"an escape of U+FFFD":     {[]string{piece(`{\"s\":\"\ufffd\"}`)}, false},
		"U+FFFD":                  {[]string{piece(`{\"s\":\"` + "\uFFFD" + `\"}`)}, false},
		"an escape for the tool":  {[]string{piece(`{\"s\":\"\\ud83d\"}`)}, false}, // the kernel refuses it
	} {
		list := slices.Concat([]string{begun, start(0, `{"type":"tool_use","id":"t1","name":"f","input":{}}`)}, tt.pieces,
			[]string{end(0), start(1, "{\"type\":\"text\",\"text\":\"\xFF\"}"), end(1), stop("tool_use"), whole})
		r, _, err := stream(t, list...)
		if err != nil || (r.Fault != "") != tt.fault || textOf(r) != "\uFFFD" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for in, fault := range map[string]bool{"\xFF": true, "\xE4\xB8": true, `\ud83d`: false, "中": false} {
		r, _, err := plain(t, reply("{\"type\":\"text\",\"text\":\"中\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{\"s\":\""+in+"\"}}", "tool_use"))
		if err != nil || (r.Fault != "") != fault {
			t.Errorf("%q: %+v, %v", in, r, err)
		}
		if !fault && callsOf(r) != `t1=f({"s":"`+in+`"})` {
			t.Errorf("%q: %s", in, callsOf(r))
		}
	}
}

func manyBlocks(n int) (list []string) {
	for i := range n {
		list = append(list, start(i, `{"type":"text","text":"a"}`), end(i))
	}
	return list
}

// Report A10 (d): a truncated reply is no contradiction; it is truncated.
func TestTruncated(t *testing.T) {
	for reason, want := range map[string]kernel.StopReason{"max_tokens": kernel.StopLength, "model_context_window_exceeded": kernel.StopWindow} {
		r, _, err := stream(t, begun, start(0, `{"type":"tool_use","id":"t1","name":"write","input":{}}`), input(`{"path":"R.md","content":"# T`), stop(reason), whole)
		if err != nil || r.Stop != want || r.Fault != "" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// That a reply was cut does not get lost because the same object says more.
func TestTruncatedAndMore(t *testing.T) {
	for more, fault := range map[string]string{`null`: "", `"max_tokens"`: "", `"end_turn"`: "two stop reasons"} {
		twice := `"stop_reason":"max_tokens","stop_reason":` + more
		r, _, err := stream(t, begun, `{"type":"message_delta","delta":{`+twice+`},"usage":{"output_tokens":1}}`, whole)
		if err != nil || r.Stop != kernel.StopLength || !strings.Contains(r.Fault, fault) || (fault == "") != (r.Fault == "") {
			t.Errorf("streamed, %s: %+v, %v", more, r, err)
		}
		r, _, err = plain(t, `{"type":"message","role":"assistant","content":[{"type":"text","text":"a"}],`+twice+`}`)
		if err != nil || r.Stop != kernel.StopLength || !strings.Contains(r.Fault, fault) || (fault == "") != (r.Fault == "") {
			t.Errorf("plain, %s: %+v, %v", more, r, err)
		}
	}
}

// Report A05: before message_stop, a reply is not whole.
func TestCut(t *testing.T) {
	for _, list := range [][]string{
		{},
		{begun},
		{begun, start(0, `{"type":"text","text":"a"}`), end(0)},
		{begun, start(0, `{"type":"text","text":"a"}`), end(0), stop("end_turn")},
	} {
		_, _, err := stream(t, list...)
		e := fails(t, err, kernel.FailCut)
		if (e.Usage != nil) != (len(list) > 0) {
			t.Errorf("%d events: usage %+v", len(list), e.Usage)
		}
	}
}

// Report A29: everything counts once, and a later count replaces an earlier.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]*kernel.Usage{
		`{"input_tokens":7,"cache_read_input_tokens":9800,"cache_creation_input_tokens":200,"output_tokens":50}`: {Input: 10007, Output: 50, CacheRead: 9800, CacheWrite: 200},
		`{"input_tokens":7,"cache_read_input_tokens":null,"output_tokens":50}`:                                   {Input: 7, Output: 50},
		`null`:                  nil,
		`{}`:                    nil,
		`{"input_tokens":-7}`:   nil,
		`{"input_tokens":"7"}`:  nil,
		`{"input_tokens":7.5}`:  nil,
		`{"input_tokens":9e18}`: nil,
		`[]`:                    nil,
		`{"input_tokens":9000000000000000000,"cache_read_input_tokens":9000000000000000000}`: nil,
		`{"input_tokens":1,"output_tokens":-1}`:                                              nil,
	} {
		r, _, err := plain(t, `{"content":[],"usage":`+usage+`}`)
		if err != nil || !cmp.Equal(r.Usage, want) {
			t.Errorf("%s: %+v, want %+v, %v", usage, r.Usage, want, err)
		}
	}
	r, _, err := stream(t, `{"type":"message_start","message":{"usage":{"input_tokens":0,"cache_read_input_tokens":3,"output_tokens":1}}}`,
		`{"type":"message_delta","delta":{},"usage":{"input_tokens":4,"cache_read_input_tokens":null,"output_tokens":9}}`, whole)
	if err != nil || !cmp.Equal(r.Usage, &kernel.Usage{Input: 7, Output: 9, CacheRead: 3}) {
		t.Errorf("%+v, %v", r.Usage, err)
	}
}

func TestPlainThatIsNoReply(t *testing.T) {
	for body, want := range map[string]kernel.FailureKind{
		``:                           kernel.FailCut,
		`{"content":[{"type":"te`:    kernel.FailCut,
		`{"content":}`:               kernel.FailInvalid,
		`{"content":[]}{}`:           kernel.FailInvalid,
		`{}`:                         kernel.FailInvalid,
		`null`:                       kernel.FailInvalid,
		`[]`:                         kernel.FailInvalid,
		`sk-secret`:                  kernel.FailInvalid,
		strings.Repeat("[", 100_000): kernel.FailInvalid,
	} {
		_, _, err := plain(t, body)
		fails(t, err, want)
	}
	_, _, err := stream(t, begun, `{"type":`)
	fails(t, err, kernel.FailInvalid)
}

// The answer's own form counts, whatever was asked for.
func TestFormOfTheAnswer(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		set := func(c *Config) { c.Stream = streamed }
		r, _, err := ask(t, "application/json", reply(`{"type":"text","text":"hi"}`, "end_turn"), set)
		if err != nil || textOf(r) != "hi" {
			t.Errorf("plain: %+v, %v", r, err)
		}
		r, _, err = ask(t, "text/event-stream", events(begun, start(0, `{"type":"text","text":"hi"}`), end(0), stop("end_turn"), whole), set)
		if err != nil || textOf(r) != "hi" {
			t.Errorf("stream: %+v, %v", r, err)
		}
	}
}

// Report A40.
func TestInvalidUTF8(t *testing.T) {
	r, _, err := plain(t, reply("{\"type\":\"text\",\"text\":\"a\xE4\xB8b\xFF\"}", "end_turn"))
	if err != nil || textOf(r) != "a\uFFFDb\uFFFD" {
		t.Errorf("%q, %v", textOf(r), err)
	}
}

// Report A40: a character whose halves are escaped in two deltas.
func TestSplitSurrogates(t *testing.T) {
	r, seen, err := stream(t, begun, start(0, `{"type":"text","text":""}`),
		delta(0, `{"type":"text_delta","text":"a\ud83d"}`), delta(0, `{"type":"text_delta","text":"\ude00b"}`), end(0), stop("end_turn"), whole)
	if err != nil || textOf(r) != "a😀b" || seen != "a😀b" {
		t.Errorf("%+v, seen %q, %v", r, seen, err)
	}
	r, _, err = stream(t, begun, start(0, `{"type":"thinking","thinking":"","signature":""}`),
		delta(0, `{"type":"thinking_delta","thinking":"\ud83d"}`), delta(0, `{"type":"thinking_delta","thinking":"\ude02"}`),
		delta(0, `{"type":"signature_delta","signature":"S"}`), end(0), start(1, `{"type":"tool_use","id":"t1","name":"f","input":{}}`),
		delta(1, `{"type":"input_json_delta","partial_json":"{\"s\":\"\ud83d"}`), delta(1, `{"type":"input_json_delta","partial_json":"\ude00\"}"}`),
		end(1), stop("tool_use"), whole)
	if err != nil || r.Fault != "" || callsOf(r) != `t1=f({"s":"😀"})` {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := string(r.Message.Blocks[0].Private.Data); got != `{"type":"thinking","thinking":"😂","signature":"S"}` {
		t.Errorf("thinking %s", got)
	}
}

// FuzzDecode feeds hostile answers: nothing panics, and a reply holds valid
// text and no more than arrived.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(events(begun, start(0, `{"type":"thinking","thinking":""}`), delta(0, `{"type":"signature_delta","signature":"S"}`), end(0), stop("end_turn"), whole)), true)
	f.Add([]byte(events(start(0, `{"type":"tool_use","id":"t","name":"f","input":{}}`), input(`{"a":`), input(`1}`), end(0), stop("tool_use"), whole)), true)
	f.Add([]byte(events(`{"type":"error","error":{"type":"overloaded_error"}}`)), true)
	f.Add([]byte(reply(`{"type":"tool_use","id":"t","name":"f","input":{"a":1}},{"type":"redacted_thinking","data":"x"}`, "tool_use")), false)
	f.Add([]byte(`{"type":"error","error":7}`), false)
	f.Fuzz(func(t *testing.T, data []byte, streamed bool) {
		a := assembly{maker: "anthropic"}
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
		if len(r.Message.Blocks) > maxBlocks {
			t.Fatalf("%d blocks", len(r.Message.Blocks))
		}
		if n := len(textOf(r)) + len(callsOf(r)); n > 3*len(data)+10*maxBlocks || !utf8.ValidString(textOf(r)+callsOf(r)) {
			t.Fatalf("%d bytes of %d, or not valid", n, len(data))
		}
	})
}
