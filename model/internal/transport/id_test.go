package transport

import (
	"strings"
	"testing"
)

func TestWireID(t *testing.T) {
	letters := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' }
	for _, id := range []string{"a", "call_1", strings.Repeat("a", 40), "hf_"} {
		if got := WireID(id, 40, letters); got != id {
			t.Errorf("%s became %s", id, got)
		}
	}
	long := strings.Repeat("a", 40)
	seen := map[string]string{}
	for _, id := range []string{long + "1", long + "2", "a b", "a.b", "中", WireID(long+"1", 40, letters)} {
		name := WireID(id, 40, letters)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q share a name", id, other)
		}
		seen[name] = id
		if name == id || len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool { return !letters(r) }) {
			t.Errorf("%q became %q", id, name)
		}
		if again := WireID(id, 40, letters); again != name {
			t.Errorf("%q became %q, then %q", id, name, again)
		}
	}
	if WireID(strings.Repeat("中", 40), 40, func(rune) bool { return true }) != strings.Repeat("中", 40) {
		t.Error("bytes were counted, not characters")
	}
}
