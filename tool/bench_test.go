package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

func BenchmarkCheck(b *testing.B) {
	set := newSet(b, fake{spec: spec("pair", pairSchema)})
	args := []byte(`{"a":248,"b":15}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := set.Check("pair", args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExecute(b *testing.B) {
	small := ofEffect(kernel.Read, returning(tool.Result{Text: `{"status":"completed","result":3720}`}, nil))
	large := ofEffect(kernel.Read, returning(tool.Result{Text: strings.Repeat("a line of text\n", 10_000)}, nil))
	for name, tl := range map[string]tool.Tool{"small": small, "150KB": large} {
		b.Run(name, func(b *testing.B) {
			bound := bind(b, tl, `{}`)
			b.ReportAllocs()
			for b.Loop() {
				if o := (tool.Border{}).Execute(b.Context(), bound, tool.Call{}); o.IsError {
					b.Fatal(o.Text)
				}
			}
		})
	}
}

// BenchmarkCall is the whole way of a small typed call.
func BenchmarkCall(b *testing.B) {
	type pair struct{ A, B int64 }
	s := spec("pair", pairSchema)
	tl, err := tool.Func(s, func(_ context.Context, _ tool.Call, in pair) (int64, error) { return in.A * in.B, nil })
	if err != nil {
		b.Fatal(err)
	}
	set := newSet(b, tl)
	args := json.RawMessage(`{"a":248,"b":15}`)
	bound := bind(b, tl, string(args))
	b.ReportAllocs()
	for b.Loop() {
		if err := set.Check("pair", args); err != nil {
			b.Fatal(err)
		}
		if o := (tool.Border{}).Execute(b.Context(), bound, tool.Call{Arguments: args}); o.IsError {
			b.Fatal(o.Text)
		}
	}
}

func BenchmarkNewSet(b *testing.B) {
	tl := fake{spec: spec("pair", pairSchema)}
	b.ReportAllocs()
	for b.Loop() {
		newSet(b, tl)
	}
}
