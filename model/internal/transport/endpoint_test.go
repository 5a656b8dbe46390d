package transport

import (
	"testing"

	"github.com/holdfast-run/holdfast/model"
)

// The memory of an answer or a message serves again, but not that of one far
// longer than most.
func TestEndpointKeepsLittle(t *testing.T) {
	kept := func(size int) (n int) {
		var e Endpoint
		for range 100 { // a pool may drop any of them
			e.again(e.buffer(), make([]byte, size))
			n = max(n, cap(*e.buffer()))
		}
		return n
	}
	if n := kept(maxKept); n != maxKept {
		t.Errorf("of %d bytes %d are kept", maxKept, n)
	}
	if n := kept(maxKept + 1); n != 0 {
		t.Errorf("of %d bytes %d are kept", maxKept+1, n)
	}
}

// A text that was quoted before is referred to, and nothing that is written
// behind what stands before it reaches what stands after it.
func TestQuotedTextIsNotCopied(t *testing.T) {
	quoted := []byte(`"as it was quoted"`)
	encode := func(quoted []byte) (model.Encoded, error) {
		return new(Endpoint).Encoded(quoted, func(b []byte) ([]byte, int, error) {
			b, at := AppendUnquoted(append(b, "<"...), "as it was quoted", quoted)
			return append(b, '>'), at, nil
		})
	}
	e, err := encode(quoted)
	if err != nil || &e.Text[0] != &quoted[0] || string(e.Append(nil)) != `<"as it was quoted">` {
		t.Fatalf("%s|%s|%s, %v", e.Before, e.Text, e.After, err)
	}
	if _ = append(e.Before, 0); string(e.After) != ">" {
		t.Errorf("behind it: %q", e.After)
	}
	if e, err = encode(nil); err != nil || e.Text != nil || string(e.Before) != `<"as it was quoted">` {
		t.Errorf("not quoted before: %s|%s|%s, %v", e.Before, e.Text, e.After, err)
	}
}
