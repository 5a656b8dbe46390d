package kernel

import (
	"strings"
	"testing"
)

func TestIsName(t *testing.T) {
	for _, name := range []string{"ann", "Ann Lee", "ann@example.com", "Анна", "安娜", "é", strings.Repeat("a", MaxName)} {
		if !IsName(name) {
			t.Errorf("%q is no name", name)
		}
	}
	for _, odd := range []string{
		"", " ", "ann ", " ann", "ann\t", "\nann", "ann\u00a0", "a\u00a0b", "ann\u200b", "\u202eann", "ann\ufeff",
		"a\x1b[2Jb", "a\x00", "ann\u2028", "\xff", strings.Repeat("a", MaxName+1),
	} {
		if IsName(odd) {
			t.Errorf("%q is a name", odd)
		}
	}
}
