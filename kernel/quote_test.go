package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// quoted is appendString byte by byte.
func quoted(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case strings.IndexByte("\b\f\n\r\t", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte("bfnrt"[strings.IndexByte("\b\f\n\r\t", c)])
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// Every byte, alone and in every place beside every other, is written as it
// would be byte by byte.
func TestAppendStringOfEveryByte(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			s := string([]byte{'x', byte(a), byte(b), 'y', byte(a), 'z', 'z', byte(b), byte(a), 'x'})
			for i := range 3 {
				if got := string(appendString([]byte("before"), s[i:])); got != "before"+quoted(s[i:]) {
					t.Fatalf("%q is written as %s", s[i:], got)
				}
				// The same, where it is plain, escaped or repaired, and longer by eight.
				for _, s := range []string{s[i:], "plain as" + s[i:], s[i:] + "plain as"} {
					if got := string(AppendString(nil, s)); got != quoted(repair(s)) {
						t.Fatalf("%q is written as %s", s, got)
					}
				}
			}
		}
	}
}

// Every byte, in every place of short texts of every length: each is looked at
// among eight, or alone behind the last eight.
func TestAppendStringOfEveryLength(t *testing.T) {
	for length := 1; length <= 25; length++ {
		text := bytes.Repeat([]byte("a"), length)
		for at := range text {
			for c := range 256 {
				text[at] = byte(c)
				sameString(t, string(text))
			}
			text[at] = 'a'
		}
	}
	shorter := []string{""}
	for range 4 {
		var longer []string
		for _, s := range shorter {
			for _, c := range []byte("a \x1f\"\\\x7f\x80\xa9\xc3\xff") {
				longer = append(longer, s+string([]byte{c}))
				sameString(t, longer[len(longer)-1])
			}
		}
		shorter = longer
	}
}

// sameString holds AppendString to what is done rune by rune.
func sameString(t *testing.T, s string) {
	t.Helper()
	if got, want := string(AppendString(nil, s)), quoted(string([]rune(s))); got != want {
		t.Fatalf("%q is written as %s, want %s", s, got, want)
	}
}

func TestAppendStringOfRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const alphabet = "aaaaaaaabcdefgh \"\\\n\t\r\x00\x1f\x7fé汉😀"
	runes := []rune(alphabet)
	for range 5000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
		s := b.String()
		got := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != s || string(got) != quoted(s) {
			t.Fatalf("%q is written as %s, which reads %q, %v", s, got, back, err)
		}
	}
}

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat(`entry 000003 line 00: {"state": "open", "owner": "nobody", "note": "größer"}`+"\n", 26)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		AppendString(nil, text)
	}
}
