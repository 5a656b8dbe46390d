package engine_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Records share memory, yet each is what it would be alone, and stays it.
func TestRecordsStayAsTheyAre(t *testing.T) {
	alone := func(seq int64, e kernel.Event, c engine.Content) journal.Record {
		t.Helper()
		record, err := new(engine.Recorder).Record(seq, e, c)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	var shared engine.Recorder
	var got, want []journal.Record
	for i := range int64(300) {
		text := strings.Repeat("t\n", int(i*i%700)) // short and long ones, in any order
		var e kernel.Event = kernel.CallReturned{At: kernel.Time(i), Call: "c", Result: kernel.ResultFacts{Digest: text}}
		c := engine.Content{Result: &engine.Result{Text: text}}
		if i%3 == 0 {
			e, c = kernel.CallStarted{At: kernel.Time(i), Cmd: 1, Call: text}, engine.Content{}
		}
		record, err := shared.Record(i, e, c)
		if err != nil {
			t.Fatal(err)
		}
		got, want = append(got, record), append(want, alone(i, e, c))
		_ = append(record.Payload, "of whoever appends to a payload"...)
		_ = append(record.Content, "of whoever appends to a content"...)
	}
	for i := range want {
		g, w := &got[i], &want[i]
		if !bytes.Equal(g.Payload, w.Payload) || !bytes.Equal(g.Content, w.Content) || (g.Content == nil) != (w.Content == nil) {
			t.Fatalf("record %d is\n%s %s, want\n%s %s", i, g.Payload, g.Content, w.Payload, w.Content)
		}
		if g.Seq != w.Seq || g.Kind != w.Kind || !g.At.Equal(w.At) {
			t.Errorf("record %d is %+v, want %+v", i, g, w)
		}
	}
}

func TestRecordOfNoEvent(t *testing.T) {
	var r engine.Recorder
	if _, err := r.Record(1, nil, engine.Content{}); kernel.CodeOf(err) != kernel.CodeInvalidEvent {
		t.Errorf("%v", err)
	}
}
