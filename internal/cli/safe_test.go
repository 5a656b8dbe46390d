package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Reports A19 and A28: what is shown is one valid line that moves no cursor.
func TestPreview(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", " hello \n", "hello"},
		{"lines", "a\nb\tc", `a\nb\tc`},
		{"escape sequence", "\x1b[31mred", `\x1b[31mred`},
		{"bidi override", "a\u202Eb", `a\u202eb`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"NUL and DEL", "a\x00\x7f", `a\x00\x7f`},
		{"broken UTF-8", "a\xffb", "a\uFFFDb"},
		{"emoji family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := preview(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for n := 195; n < 1000; n++ {
		got := preview(strings.Repeat("a", n%7) + strings.Repeat("汉", n))
		if len(got) > maxPreview || !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") || !strings.HasSuffix(got, "…") {
			t.Fatalf("n = %d: %d bytes %q", n, len(got), got)
		}
	}
	if got := preview(strings.Repeat("\x1b", 500)); len(got) > maxPreview {
		t.Errorf("%d bytes", len(got))
	}
}

func TestSafeLinesKeepsLines(t *testing.T) {
	if got := safeLines("a\n\tb\r\x1b]0;x\x07"); got != "a\n\tb\\r\\x1b]0;x\\a" {
		t.Errorf("got %q", got)
	}
}
