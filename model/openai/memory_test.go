package openai

import (
	"bytes"
	"reflect"
	"testing"
)

// The memory of a plain answer serves for the next one: a reply holds none of
// it.
func TestReplyHoldsNoMemoryOfItsAnswer(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"index":0,"message":{"content":"plain","reasoning_content":"because","tool_calls":[` +
			`{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}},` +
			`{"id":"call_2","type":"function","function":{"name":"see","arguments":{"n":2}}}]},"finish_reason":"tool_calls"}],` +
			`"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"one"},{"type":"thinking","thinking":"t"},{"type":"strange"}],"refusal":"no"},"finish_reason":"other"}]}`,
		`{"choices":[{"message":{"function_call":{"name":"old","arguments":"{}"}},"finish_reason":"function_call"}]}`,
	} {
		kept, lost := &assembly{maker: "m"}, &assembly{maker: "m"}
		data := []byte(body)
		if err := lost.ReadPlain(data); err != nil {
			t.Fatal(err)
		}
		copy(data, bytes.Repeat([]byte("#"), len(data)))
		if err := kept.ReadPlain([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, want := lost.Reply(), kept.Reply(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nbecomes %+v\nwithout its memory, with it %+v", body, got, want)
		}
	}
}
