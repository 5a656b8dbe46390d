package anthropic

import (
	"bytes"
	"reflect"
	"testing"
)

// The memory of a plain answer serves for the next one: a reply holds none of
// it.
func TestReplyHoldsNoMemoryOfItsAnswer(t *testing.T) {
	const body = `{"type":"message","role":"assistant","stop_reason":"tool_use","content":[` +
		`{"type":"thinking","thinking":"because","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"plain"},` +
		`{"type":"tool_use","id":"toolu_1","name":"look","input":{"n":1}},{"type":"strange"}],"usage":{"input_tokens":3,"output_tokens":4}}`
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
		t.Errorf("it becomes %+v\nwithout its memory, with it %+v", got, want)
	}
}
