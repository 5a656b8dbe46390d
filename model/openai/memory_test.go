package openai

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/model"
)

// The memory of a plain answer and that of an assembly serve for the next one: a
// reply holds none of either.
func TestReplyHoldsNoMemoryOfItsAnswer(t *testing.T) {
	const other = `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"x","function":{"name":"y","arguments":"z"}},{"id":"w"}]}}],"usage":{"prompt_tokens":9,"completion_tokens":9}}`
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
		got, want := lost.Reply(), kept.Reply()
		lost.forget()
		if err := lost.ReadPlain([]byte(other)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nbecomes %+v\nwithout its memory, with it %+v", body, got, want)
		}
	}
}

// What one answer left behind is not in the next reply.
func TestAssemblyForgets(t *testing.T) {
	again := &assembly{maker: "m", watch: func(model.Delta) {}}
	if err := again.ReadPlain([]byte(`{"choices":[{"index":1},{"index":0,"message":{"content":[{"type":"thinking"},{"type":"odd"}],"refusal":"no","reasoning_content":"r\ud83d",` +
		`"function_call":{"name":"f"},"tool_calls":[{"index":1,"id":"a","function":{"name":"b","arguments":"c"}},{"id":"d"}]},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":1,"completion_tokens":1}}`)); err != nil {
		t.Fatal(err)
	}
	again.forget()
	first := &assembly{maker: "m"}
	for _, a := range []*assembly{again, first} {
		if err := a.ReadPlain([]byte(`{"choices":[{"index":0,"message":{"content":"plain","tool_calls":[{"id":"e"}]}}]}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := again.Reply(), first.Reply(); !reflect.DeepEqual(got, want) || again.watch != nil {
		t.Errorf("%+v\nwithout what came before %+v", got, want)
	}
}

// A reply holds none of the memory of a stream, either.
func TestReplyHoldsNoMemoryOfItsStream(t *testing.T) {
	body := events(chunk(`{"reasoning_content":"r\ud83d","content":"one "}`), fragments(`{"index":0,"id":"call_1","function":{"name":"look","arguments":"{\"n\""}}`),
		chunk(`{"reasoning_content":"\ude00","content":"two"}`), fragments(`{"index":0,"function":{"arguments":":1}"}}`), finish("tool_calls"), done)
	kept, lost := &assembly{maker: "m"}, &assembly{maker: "m"}
	s := streamOf(strings.NewReader(body))
	if err := lost.ReadStream(s); err != nil {
		t.Fatal(err)
	}
	s.Open(strings.NewReader(strings.Repeat("data:########################################\n\n", 100)))
	for range s.Events {
	}
	if err := kept.ReadStream(streamOf(strings.NewReader(body))); err != nil {
		t.Fatal(err)
	}
	if got, want := lost.Reply(), kept.Reply(); !reflect.DeepEqual(got, want) {
		t.Errorf("it becomes %+v\nwithout its memory, with it %+v", got, want)
	}
}

// Nor does a reply hold anything of the one before it from the same model.
func TestOneCallAfterAnother(t *testing.T) {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"answer %d"},"finish_reason":"stop"}]}`, n)
	}))
	defer srv.Close()
	m := newModel(t, srv.URL)
	for i := range 10 {
		r, err := m.Call(t.Context(), question(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textOf(r), fmt.Sprintf("answer %d", i+1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The chunks of a stream are read into the same memory, of which little is kept,
// and of what was in it nothing.
func TestAssemblyKeepsLittle(t *testing.T) {
	call := func(n int) string { return fmt.Sprintf(`{"index":%d,"id":"call_%d","function":{"name":"f"}}`, n, n) }
	for _, many := range []int{1, 20} {
		a := &assembly{maker: "m"}
		var chunks []string
		for n := range many {
			chunks = append(chunks, fragments(call(n)))
		}
		if err := a.ReadStream(streamOf(strings.NewReader(events(append(chunks, finish("tool_calls"), done)...)))); err != nil {
			t.Fatal(err)
		}
		if has := cap(a.in.fragments); has > 8 {
			t.Errorf("%d chunks of a call each take room for %d", many, has)
		}
		a.forget()
		open := a.calls.open
		if has := cap(open); has > 8 || has == 0 == (many == 1) {
			t.Errorf("room for %d of %d calls is kept", has, many)
		}
		for _, o := range open[:cap(open)] {
			if o != nil {
				t.Errorf("%d calls: %+v is kept", many, o)
			}
		}
		for _, f := range a.in.fragments[:cap(a.in.fragments)] {
			if !reflect.DeepEqual(f, fragment{}) {
				t.Errorf("%d calls: %+v is kept", many, f)
			}
		}
	}
}
