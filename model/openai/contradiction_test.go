package openai

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// A reply that two answers were made of, or that nobody's turn it was to give.
func TestTwoReplies(t *testing.T) {
	const some, rest = `{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}`, `{"index":0,"function":{"arguments":"}"}}`
	const last = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3}}`
	const call = `{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}`
	whole := fragments(call)
	of := func(id, chunk string) string { return `{"id":` + id + `,` + chunk[1:] }
	long := strings.Repeat("x", maxCompared)
	for name, tt := range map[string]struct {
		chunks           []string
		strict, tolerant string
	}{
		"one id":                  {[]string{of(`"x"`, fragments(some)), of(`"x"`, fragments(rest)), of(`"x"`, finish("tool_calls")), of(`"x"`, last)}, "", ""},
		"two ids":                 {[]string{of(`"x"`, fragments(some)), of(`"y"`, fragments(rest)), of(`"x"`, finish("tool_calls"))}, "two ids", ""},
		"another id at the end":   {[]string{of(`"x"`, whole), of(`"y"`, finish("tool_calls"))}, "two ids", ""},
		"ids that begin alike":    {[]string{of(`"x"`, whole), of(`"xy"`, finish("tool_calls"))}, "two ids", ""},
		"a long id":               {[]string{of(`"`+long+`"`, whole), of(`"`+long+`"`, finish("tool_calls"))}, "", ""},
		"ids that say nothing":    {[]string{of(`""`, fragments(some)), of(`"x"`, fragments(rest)), of(`null`, finish("tool_calls")), last}, "", ""},
		"two models":              {[]string{`{"model":"a",` + whole[1:], `{"model":"b",` + finish("tool_calls")[1:]}, "", ""},
		"a call after the end":    {[]string{chunk(`{"content":"a"}`), finish("tool_calls"), whole}, "goes on", "goes on"},
		"a piece after the end":   {[]string{fragments(some), finish("tool_calls"), fragments(rest)}, "goes on", "goes on"},
		"text after the end":      {[]string{whole, finish("tool_calls"), chunk(`{"content":"a"}`)}, "goes on", "goes on"},
		"parts after the end":     {[]string{whole, finish("tool_calls"), chunk(`{"content":[{"type":"text","text":"a"}]}`)}, "goes on", "goes on"},
		"a refusal after the end": {[]string{whole, finish("tool_calls"), chunk(`{"refusal":"a"}`)}, "goes on", "goes on"},
		"thought after the end":   {[]string{whole, finish("tool_calls"), chunk(`{"reasoning_content":"a"}`)}, "goes on", "goes on"},
		"the older form after it": {[]string{finish("tool_calls"), chunk(`{"function_call":{"name":"f"}}`)}, "goes on", "goes on"},
		"a reason with each call": {[]string{fragmentsAnd(call, "tool_calls"), fragmentsAnd(strings.ReplaceAll(call, "c1", "c2"), "tool_calls")}, "goes on", ""},
		"an end that says more":   {[]string{fragmentsAnd(call, "tool_calls")}, "", ""},
		"nothing after the end": {[]string{whole, finish("tool_calls"), chunk(`{}`), chunk(`{"role":"assistant","content":""}`), chunk(`{"content":null,"refusal":null,"tool_calls":[]}`),
			chunk(`{"content":[],"tool_calls":[{"index":0,"function":{"arguments":""}}],"function_call":{}}`), finish("tool_calls"), last}, "", ""},
		"an id once more":        {[]string{whole, finish("tool_calls"), fragments(`{"index":0,"id":"c1","type":"function","function":{"name":null,"arguments":""}}`)}, "", ""},
		"another id, later":      {[]string{whole, finish("tool_calls"), fragments(`{"index":1,"id":"c2","type":"function","function":{"name":null,"arguments":""}}`)}, "goes on", "goes on"},
		"an index below 0":       {[]string{fragments(strings.ReplaceAll(call, ":0", ":-1")), finish("tool_calls")}, "negative index", ""},
		"a choice below 0":       {[]string{strings.Replace(whole, `"index":0`, `"index":-1`, 1), finish("tool_calls")}, "more than one choice", "more than one choice"},
		"a role in each chunk":   {[]string{chunk(`{"role":"assistant","tool_calls":[` + call + `]}`), chunk(`{"role":"assistant"}`), chunk(`{"role":""}`), chunk(`{"role":null}`), finish("tool_calls")}, "", ""},
		"an escaped role":        {[]string{chunk(`{"role":"\u0061ssistant","tool_calls":[` + call + `]}`), finish("tool_calls")}, "", ""},
		"another role":           {[]string{chunk(`{"role":"user"}`), whole, finish("tool_calls")}, "not the assistant's", "not the assistant's"},
		"another role, later":    {[]string{chunk(`{"role":"assistant"}`), whole, chunk(`{"role":"tool"}`), finish("tool_calls")}, "not the assistant's", "not the assistant's"},
		"a role that is no text": {[]string{chunk(`{"role":7}`), whole, finish("tool_calls")}, "wrong type: role", "wrong type: role"},
	} {
		for profile, fault := range map[kernel.Profile]string{kernel.Strict: tt.strict, kernel.Tolerant: tt.tolerant} {
			r, _, err := ask(t, "text/event-stream", events(append(slices.Clone(tt.chunks), done)...), func(c *Config) { c.Profile = profile })
			if err != nil || (r.Fault == "") != (fault == "") || !strings.Contains(r.Fault, fault) {
				t.Errorf("%s, %s: %+v, %v", name, profile, r, err)
			}
		}
	}
	for message, fault := range map[string]string{
		`{"role":"assistant","tool_calls":[` + call + `]}`:                                "",
		`{"role":"user","tool_calls":[` + call + `]}`:                                     "not the assistant's",
		`{"tool_calls":[` + strings.ReplaceAll(call, ":0", ":-1") + `]}`:                  "negative index",
		`{"role":"assistant","role":"user","tool_calls":[` + call + `],"content":"text"}`: "not the assistant's",
	} {
		r, _, err := plain(t, `{"id":"x","choices":[{"index":0,"message":`+message+`,"finish_reason":"tool_calls"}]}`)
		if err != nil || (r.Fault == "") != (fault == "") || !strings.Contains(r.Fault, fault) {
			t.Errorf("%s: %+v, %v", message, r, err)
		}
	}
}

// One assembly serves for one reply after another, which have ids of their own.
func TestIDsOfRepliesInTurn(t *testing.T) {
	a := assembly{}
	for _, id := range []string{"a", "b"} {
		in := events(`{"id":"`+id+`",`+chunk(`{"content":"hi"}`)[1:], finish("stop"), done)
		if err := a.ReadStream(streamOf(strings.NewReader(in))); err != nil {
			t.Fatal(err)
		}
		if r := a.Reply(); r.Fault != "" {
			t.Errorf("%s: %s", id, r.Fault)
		}
		a.forget()
	}
}

// fragmentsAnd is a chunk with fragments and a finish reason.
func fragmentsAnd(list, reason string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + list + `]},"finish_reason":"` + reason + `"}]}`
}

// Arguments are what the model wrote, or nothing runs. Text has a U+FFFD in the
// place of what is no text.
func TestArgumentsThatAreNoText(t *testing.T) {
	for name, tt := range map[string]struct {
		arguments []string // as they stand in the JSON, each in a chunk
		want      string
		fault     bool
	}{
		"bytes":                   {[]string{`"{\"s\":\"` + "\xFF" + `\"}"`}, "{\"s\":\"\uFFFD\"}", true},
		"half a character, twice": {[]string{`"{\"s\":\"` + "\xE4\xB8\"", "\"\xAD" + `\"}"`}, "{\"s\":\"\uFFFD\uFFFD\"}", true},
		"bytes in an object":      {[]string{"{\"s\":\"\xFF\"}"}, "{\"s\":\"\uFFFD\"}", true},
		"half an escape":          {[]string{`"{\"s\":\"\ud83d\"}"`}, "{\"s\":\"\uFFFD\"}", true},
		"the other half":          {[]string{`"{\"s\":\"\ude00\"}"`}, "{\"s\":\"\uFFFD\"}", true},
		"half an escape, last":    {[]string{`"{\"s\":\"\ud83d"`}, "{\"s\":\"\uFFFD", true},
		"an escape in two":        {[]string{`"{\"s\":\"\ud83d"`, `"\ude00\"}"`}, `{"s":"😀"}`, false},
		"an escape of U+FFFD":     {[]string{`"{\"s\":\"\ufffd\"}"`}, "{\"s\":\"\uFFFD\"}", false},
		"U+FFFD":                  {[]string{`"{\"s\":\"` + "\uFFFD" + `\"}"`}, "{\"s\":\"\uFFFD\"}", false},
		"an escape for the tool":  {[]string{`"{\"s\":\"\\ud83d\"}"`}, `{"s":"\ud83d"}`, false}, // the kernel refuses it
	} {
		chunks := []string{chunk("{\"content\":\"\xFF\"}"), fragments(`{"index":0,"id":"c","function":{"name":"f"}}`)}
		older := chunks[:1:1]
		for i, piece := range tt.arguments {
			chunks = append(chunks, fragments(`{"index":0,"function":{"arguments":`+piece+`}}`))
			older = append(older, chunk(`{"function_call":{`+[]string{`"name":"f",`, ``}[min(i, 1)]+`"arguments":`+piece+`}}`))
		}
		for want, chunks := range map[string][]string{"c=f(" + tt.want + ")": chunks, "=f(" + tt.want + ")": older} {
			r, _, err := stream(t, append(chunks, finish("tool_calls"), done)...)
			if err != nil || (r.Fault != "") != tt.fault || textOf(r) != "\uFFFD" || callsOf(r) != want {
				t.Errorf("%s: %+v, %s, %v", name, r, callsOf(r), err)
			}
		}
		if len(tt.arguments) > 1 {
			continue
		}
		r, _, err := plain(t, `{"choices":[{"message":{"content":"中","tool_calls":[{"id":"c","function":{"name":"f","arguments":`+tt.arguments[0]+`}}]},"finish_reason":"tool_calls"}]}`)
		if err != nil || (r.Fault != "") != tt.fault || callsOf(r) != "c=f("+tt.want+")" {
			t.Errorf("plain, %s: %+v, %s, %v", name, r, callsOf(r), err)
		}
	}
}
