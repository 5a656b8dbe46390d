package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Reports A19 and A28: JSON moves no cursor of a terminal either, and is the same
// text to whoever reads it.
func TestJSONIsALineThatATerminalShows(t *testing.T) {
	for _, s := range []string{
		"plain <b>&", "c1 \u009b31m", "\x1b[31m\x7f", "\u202ereversed\u2066", "line\u2028separator", "\ufeffmark", "tag \U000E0041",
		"emoji 👨\u200d👩", "back\\slash \\u0041", "汉字\n",
	} {
		var b bytes.Buffer
		if err := writeJSON(&b, map[string]string{"k": s}); err != nil {
			t.Fatal(err)
		}
		line, ended := strings.CutSuffix(b.String(), "\n")
		if !ended || strings.ContainsFunc(line, unfit) {
			t.Errorf("%q: %q", s, line)
		}
		var back map[string]string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back["k"] != s {
			t.Errorf("%q is read as %q, %v", s, back["k"], err)
		}
	}
}
