package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// A result reads back from the journal as it was, whatever its text.
func TestResultReadsBack(t *testing.T) {
	for _, want := range []engine.Result{
		{},
		{Text: "plain"},
		{Text: "quotes \" and \\, lines\r\n\tand \x00, <html> & \u2028, 汉😀", Elapsed: time.Hour},
		{Text: "no", IsError: true, Data: json.RawMessage(`{"exit_code":9007199254740993,"text":"<&>"}`), Elapsed: 1},
	} {
		record, err := new(engine.Recorder).Record(7, kernel.CallReturned{At: 1, Call: "a"}, engine.Content{Result: &want})
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.DecodeContent(record.Kind, record.Content)
		if err != nil {
			t.Fatalf("%s: %v", record.Content, err)
		}
		if diff := cmp.Diff(&want, got.Result, cmp.AllowUnexported(engine.Result{})); diff != "" {
			t.Errorf("%s\n%s", record.Content, diff)
		}
	}
}

// A long result is written once: the journal keeps what it would keep anyway, and
// the model's wire is given the text as it stands there.
func TestLongResultIsQuotedOnce(t *testing.T) {
	for _, size := range []int{3, 300, 30_000} {
		f := &fake{steps: steps{asks("c1"), answers("done")}}
		d := begin(t, agent(t, encoder{f}, size), "r", "q", nil)
		if o := d.run(); o == nil || o.Stop != kernel.StopAnswered {
			t.Fatalf("stopped: %+v", o)
		}
		i := slices.IndexFunc(d.events, func(e kernel.Event) bool { return e.Kind() == kernel.KindCallReturned })
		content, err := engine.DecodeContent(kernel.KindCallReturned, d.records[i].Content)
		if err != nil {
			t.Fatal(err)
		}
		again, err := new(engine.Recorder).Record(1, d.events[i], content)
		if err != nil || !bytes.Equal(again.Content, d.records[i].Content) {
			t.Errorf("kept %.80s\nwant %.80s, %v", d.records[i].Content, again.Content, err)
		}
		want := ""
		if size >= 300 {
			want = string(kernel.AppendString(nil, content.Result.Text))
		}
		if len(f.quoted) != 1 || string(f.quoted[0]) != want {
			t.Errorf("a result of %d bytes was encoded as quoted: %.80q, want %.80q", size, f.quoted, want)
		}
		if want == "" {
			continue
		}
		text := f.seen[1].Messages[2].Encoded.Text
		at := bytes.Index(d.records[i].Content, text)
		if string(text) != want || &text[0] != &d.records[i].Content[at] || cap(text) != len(text) {
			t.Errorf("a result of %d bytes: the request has a text of its own, or room to write behind it (%d of %d)", size, len(text), cap(text))
		}
	}
}

// A request keeps the text of a result in memory, and not the facts beside it.
func TestShortTextKeepsNoFacts(t *testing.T) {
	f := &fake{steps: steps{asks("c1"), answers("done")}}
	a := agent(t, encoder{f}, 0)
	facts, err := tool.Func(tool.Spec{Name: "look", Description: "Looks.", Effect: kernel.Read}, func(context.Context, tool.Call, struct {
		At string `json:"at"`
	}) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat("x", 300), Data: json.RawMessage(`"` + strings.Repeat("y", 2000) + `"`)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.Tools, err = tool.NewSet(facts); err != nil {
		t.Fatal(err)
	}
	d := begin(t, a, "r", "q", nil)
	if o := d.run(); o == nil || o.Stop != kernel.StopAnswered {
		t.Fatalf("stopped: %+v", o)
	}
	i := slices.IndexFunc(d.events, func(e kernel.Event) bool { return e.Kind() == kernel.KindCallReturned })
	text := f.seen[1].Messages[2].Encoded.Text
	at := bytes.Index(d.records[i].Content, text)
	if len(text) != 302 || at < 0 || &text[0] == &d.records[i].Content[at] {
		t.Errorf("a text of %d bytes, at %d of a record of %d", len(text), at, len(d.records[i].Content))
	}
}

// The result of a call also lets the answers of those behind it into the history,
// and is quoted for its own message alone.
func TestResultIsQuotedForItsOwnMessage(t *testing.T) {
	f := &fake{steps: steps{asksTwice, answers("done")}}
	a := agent(t, encoder{f}, 300)
	a.Policy = firstOnly{}
	d := begin(t, a, "r", "q", nil)
	if o := d.run(); o == nil || o.Stop != kernel.StopAnswered {
		t.Fatalf("stopped: %+v", o)
	}
	want := []string{string(kernel.AppendString(nil, "c1:"+strings.Repeat("x", 300))), ""}
	if !slices.EqualFunc(f.quoted, want, func(q []byte, s string) bool { return string(q) == s }) {
		t.Errorf("quoted %.60q, want %.60q", f.quoted, want)
	}
}

// firstOnly allows the first call alone.
type firstOnly struct{}

func (firstOnly) Decide(_ context.Context, r policy.Request) (policy.Decision, error) {
	if r.Call == "c1" {
		return policy.Decision{Answer: kernel.Allow}, nil
	}
	return policy.Decision{Answer: kernel.Deny}, nil
}

// What is written by hand is what encoding/json would write, but for escapes:
// of contents with every field, and of those that lack one.
func TestContentRoundTrip(t *testing.T) {
	for _, full := range []any{&engine.Question{}, &engine.Result{}, &kernel.Message{}} {
		fill(reflect.ValueOf(full).Elem(), 1)
		holdTo(t, full)
		for _, path := range paths(reflect.TypeOf(full).Elem()) {
			lacking := reflect.New(reflect.TypeOf(full).Elem())
			fill(lacking.Elem(), 1)
			at(lacking.Elem(), path).SetZero()
			holdTo(t, lacking.Interface())
		}
	}
}

func holdTo(t *testing.T, content any) {
	t.Helper()
	var c engine.Content
	var e kernel.Event
	switch content := content.(type) {
	case *engine.Question:
		c.Question, e = content, kernel.RunStarted{At: 1}
	case *kernel.Message:
		c.Message, e = content, kernel.ModelReplied{At: 1}
	case *engine.Result:
		c.Result, e = content, kernel.CallReturned{At: 1}
	}
	record, err := new(engine.Recorder).Record(7, e, c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, want), decoded(t, record.Content)); diff != "" {
		t.Errorf("%s\nis not as encoding/json has it: %s", record.Content, diff)
	}
	got, err := engine.DecodeContent(record.Kind, record.Content)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("%s\nreads as %v, %v", record.Content, got, err)
	}
}

func decoded(t *testing.T, text []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// fill gives every field a value of its own.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), 10*n+i)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		switch v.Interface().(type) {
		case json.RawMessage:
			v.SetBytes([]byte(`{"n":` + strconv.Itoa(n) + `}`))
			return
		case []byte:
			v.SetBytes([]byte("bytes\xff" + strconv.Itoa(n)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), 10*n)
		fill(v.Index(1), 10*n+1)
	case reflect.String:
		v.SetString("<\"\n汉" + strconv.Itoa(n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(int64(n))
	}
}

// paths are the ways to the fields of a struct, and of those within it: through
// pointers, and through the first element of a list.
func paths(typ reflect.Type) (all [][]int) {
	for i := range typ.NumField() {
		if !typ.Field(i).IsExported() {
			continue
		}
		all = append(all, []int{i})
		f := typ.Field(i).Type
		if f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice {
			f = f.Elem()
		}
		if f.Kind() != reflect.Struct {
			continue
		}
		for _, rest := range paths(f) {
			all = append(all, append([]int{i}, rest...))
		}
	}
	return all
}

func at(v reflect.Value, path []int) reflect.Value {
	for _, i := range path {
		switch v.Kind() {
		case reflect.Pointer:
			v = v.Elem()
		case reflect.Slice:
			v = v.Index(0)
		}
		v = v.Field(i)
	}
	return v
}
