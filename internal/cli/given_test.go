package cli

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// A session is called what a run can record, and nothing else.
func TestCheckSession(t *testing.T) {
	for id, ok := range map[string]bool{
		"": true, "s1": true, "Frage zu 票": true, strings.Repeat("x", 200): true,
		strings.Repeat("x", 201): false, strings.Repeat("x", 100_000): false, "a\x1bb": false, "a\xffb": false, "a\nb": false,
	} {
		err := checkSession(id)
		if (err == nil) != ok || err != nil && (kernel.CodeOf(err) != kernel.CodeInvalidArgument || asError(err).Hint == "" || len(err.Error()) > 300) {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}
