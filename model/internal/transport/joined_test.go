package transport

import (
	"testing"
)

// Report A40: the halves of a character in two pieces.
func TestJoined(t *testing.T) {
	for name, tc := range map[string]struct {
		pieces []string
		want   string
	}{
		"whole":                {[]string{`"a"`, `""`, `"b\n"`}, "ab\n"},
		"two halves":           {[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		"halves alone":         {[]string{`"\uD83D"`, `"\uDE00"`}, "😀"},
		"nothing between":      {[]string{`"\ud83d"`, `""`, `null`, ``, `"\ude00"`}, "😀"},
		"two characters":       {[]string{`"\ud83d\ude00\ud83d"`, `"\ude01"`}, "😀😁"},
		"no other half":        {[]string{`"a\ud83d"`}, "a\uFFFD"},
		"another character":    {[]string{`"\ud83d"`, `"x"`}, "\uFFFDx"},
		"two first halves":     {[]string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, "\uFFFD😀"},
		"a low half alone":     {[]string{`"a"`, `"\ude00"`}, "a\uFFFD"},
		"an escaped backslash": {[]string{`"\\ud83d"`, `"\\ude00"`}, `\ud83d\ude00`},
		"a backslash, a half":  {[]string{`"\\\ud83d"`, `"\ude00"`}, `\😀`},
		"no string":            {[]string{`{"a":1}`, `7`}, ""},
	} {
		var j Joined
		shown := ""
		for _, p := range tc.pieces {
			shown += j.Add([]byte(p))
		}
		if j.String() != tc.want || j.Len() != len(tc.want) {
			t.Errorf("%s: %q of %d bytes, want %q", name, j.String(), j.Len(), tc.want)
		}
		if shown+j.rest() != tc.want {
			t.Errorf("%s: the pieces added %q", name, shown)
		}
	}
}
