package tool

import (
	"strings"
	"testing"
)

// Report A40: the work of cleaning grows with the text, whatever sequences are
// opened in it and never ended.
func TestCleanIsLinear(t *testing.T) {
	for name, s := range map[string]string{
		"opened and never ended":  strings.Repeat("\x1b]", 1<<16),
		"of every kind":           strings.Repeat("\x1bP\x1bX\x1b^\x1b_\u009d\u0090", 1<<13),
		"on long lines":           strings.Repeat(strings.Repeat("\x1b]", 5000)+"\n", 16),
		"ended far away":          strings.Repeat("\x1b]", 1<<15) + "\a",
		"ended and opened":        strings.Repeat("\x1b]0;t\a\x1b]", 1<<14),
		"one long string, nested": "\x1b]" + strings.Repeat("x\x1b]", 1<<14) + "\x1b\\",
	} {
		c := cleaner{in: s}
		c.clean()
		if c.end.looked > len(s) {
			t.Errorf("%s: looked at %d bytes of %d", name, c.end.looked, len(s))
		}
		if !isClean(string(c.out)) {
			t.Errorf("%s: %.40q is not clean", name, c.out)
		}
	}
}

// Eight bytes at a time say what each of them says, wherever it stands.
func TestPlainBytes(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			for at := range 7 {
				text := []byte("plain   ")
				text[at], text[at+1] = byte(a), byte(b)
				want := true
				for _, c := range text {
					want = want && c >= 0x20 && c < 0x7f
				}
				if isPlain8(string(text)) != want {
					t.Fatalf("%q is plain: %v", text, !want)
				}
			}
		}
	}
}
