package transport

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Report A40: one U+FFFD for each maximal subpart of an ill-formed sequence.
// The cases of Unicode's table 3-8 and its neighbours.
func TestOneReplacementAMaximalSubpart(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain 中 😀", "plain 中 😀"},
		{"a\xE4\xB8b", "a\uFFFDb"},                  // a cut 中
		{"a\xF0\x9F\x98", "a\uFFFD"},                // a cut 😀
		{"\xF0\x9F\x98\xF0\x9F\x98\x80", "\uFFFD😀"}, // cut, then whole
		{"\xFF\xFE", "\uFFFD\uFFFD"},
		{"\x80\x80", "\uFFFD\uFFFD"},
		{"\xC0\xAF", "\uFFFD\uFFFD"},                     // overlong
		{"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},           // overlong
		{"\xED\xA0\xBD", "\uFFFD\uFFFD\uFFFD"},           // a surrogate
		{"\xF4\x91\x92\x93", "\uFFFD\uFFFD\uFFFD\uFFFD"}, // beyond the last code point
		{"\xF1\x80\x80\xE1\x80\xC2\x41", "\uFFFD\uFFFD\uFFFDA"},
	}
	for _, tt := range tests {
		if got := string(ValidUTF8([]byte(tt.in))); got != tt.want {
			t.Errorf("ValidUTF8(%q) = %q, want %q", tt.in, got, tt.want)
		}
		var back string
		if err := json.Unmarshal(AppendString(nil, tt.in), &back); err != nil || back != tt.want {
			t.Errorf("AppendString(%q) reads back as %q, %v", tt.in, back, err)
		}
	}
}

func TestAppendStringEscapesNoMoreThanItMust(t *testing.T) {
	got := string(AppendString([]byte("x"), "<a href=\"&\">\\\n\r\t\b\x00\x1f\u2028é"))
	want := `x"<a href=\"&\">\\\n\r\t\b\u0000\u001f` + "\u2028é\""
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Lone surrogates never reach a request.
func TestPairSurrogates(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"s":"plain"}`, `{"s":"plain"}`},
		{`{"s":"\ud83d\ude00"}`, `{"s":"\ud83d\ude00"}`},
		{`{"s":"\uD83D\uDE00"}`, `{"s":"\uD83D\uDE00"}`},
		{`{"s":"\ud83d"}`, `{"s":"\ufffd"}`},
		{`{"s":"\ude00"}`, `{"s":"\ufffd"}`},
		{`{"s":"\ude00\ud83d"}`, `{"s":"\ufffd\ufffd"}`},
		{`{"s":"\ud83d\ud83d\ude00"}`, `{"s":"\ufffd\ud83d\ude00"}`},
		{`{"s":"\\ud83d"}`, `{"s":"\\ud83d"}`},
		{`{"s":"\\\ud83d"}`, `{"s":"\\\ufffd"}`},
		{`{"s":"\u4e2d\n"}`, `{"s":"\u4e2d\n"}`},
		{`\ud83`, `\ud83`},
		{`\ud83d\u12`, `\ufffd\u12`},
	}
	for _, tt := range tests {
		if got := PairSurrogates(tt.in); got != tt.want {
			t.Errorf("PairSurrogates(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestObjectKeepsEveryDigit(t *testing.T) {
	// Report A08.
	const in = `{"id":9007199254740993, "max":9223372036854775807,"d":0.10}`
	if got, ok := Object(in); !ok || got != in {
		t.Errorf("%s, %v", got, ok)
	}
	for _, bad := range []string{"", "[1]", "1", "null", `{"a":1}{"a":2}`, `{"a":1}</tool_call>`, "{"} {
		if _, ok := Object(bad); ok {
			t.Errorf("Object(%q) accepted", bad)
		}
	}
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{
		`"plain 中"`: "plain 中", `""`: "", `"a\"\u4e2d\ud83d"`: "a\"中\uFFFD", `null`: "", `7`: "", `"`: "", ``: "",
	} {
		if got := Unquote([]byte(raw)); got != want {
			t.Errorf("Unquote(%s) = %q, want %q", raw, got, want)
		}
	}
}

func TestOther(t *testing.T) {
	if got := Other("end\nturn é"); got != "other:end?turn??" {
		t.Errorf("got %q", got)
	}
	if got := Other(strings.Repeat("x", 100)); len(got) != len("other:")+64 {
		t.Errorf("got %d bytes", len(got))
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\xE4\xB8\"\\" + `\ud83d`)
	f.Add(`{"s":"\ud83d\\\ude00"}`)
	f.Fuzz(func(t *testing.T, in string) {
		clean := string(ValidUTF8([]byte(in)))
		if !utf8.ValidString(clean) {
			t.Fatalf("%q is not valid", clean)
		}
		var back string
		if err := json.Unmarshal(AppendString(nil, in), &back); err != nil || back != clean {
			t.Fatalf("%q reads back as %q, %v; want %q", in, back, err, clean)
		}
		if json.Valid([]byte(clean)) && !json.Valid([]byte(PairSurrogates(clean))) {
			t.Fatalf("%s is no JSON any more", clean)
		}
	})
}
