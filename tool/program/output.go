//go:build linux || darwin

package program

import (
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/tool"
)

// text returns what was kept, made into text of at most size bytes, and how many
// bytes that lacks.
func text(o process.Output, size int, made func(string) string) (string, int64) {
	if o.Omitted() == 0 {
		return tool.Bound(made(string(slices.Concat(o.Head, o.Tail))), size)
	}
	head, tail := tool.TrimCut(o.Head, o.Tail)
	omitted := o.Total - int64(len(head)+len(tail))
	return tool.Excerpt(made(string(head)), made(string(tail)), omitted, size)
}

// valid keeps all that a program printed but bytes that are no text: unlike
// clean text it holds what a carriage return would have overwritten, so that
// nothing can be printed that reads as something else to a verifier.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
