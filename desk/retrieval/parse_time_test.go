package retrieval

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// However long a page would take, the parser stops at the end of its time.
func TestReadHTMLEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := io.ReadAll(&until{ctx, strings.NewReader("<p>")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := readHTML(ctx, "a.html", []byte("<p>a")); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}
