package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// A result reads back from the journal as it was, whatever its text.
func TestResultReadsBack(t *testing.T) {
	for _, want := range []engine.Result{
		{},
		{Text: "plain"},
		{Text: "quotes \" and \\, lines\r\n\tand \x00, <html> & \u2028, 汉😀", Elapsed: time.Hour},
		{Text: "no", IsError: true, Data: json.RawMessage(`{"exit_code":9007199254740993,"text":"<&>"}`), Elapsed: 1},
	} {
		record, err := engine.Content{Result: &want}.Record(7, kernel.CallReturned{At: 1, Call: "a"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.DecodeContent(record.Kind, record.Content)
		if err != nil {
			t.Fatalf("%s: %v", record.Content, err)
		}
		if got.Result == nil || !cmp.Equal(*got.Result, want) {
			t.Errorf("%s\n%s", record.Content, cmp.Diff(want, got.Result))
		}
	}
}
