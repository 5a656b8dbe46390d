package kernel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever an event or a command holds, it is one line of a screen: no text of
// a model or a tool can break it, hide in it or move the cursor.
func TestDescribeIsOneLine(t *testing.T) {
	for _, e := range everyEvent() {
		for _, e := range []Event{e, filledEvent(e)} {
			if s := DescribeEvent(e); !oneLine(s) || strings.Contains(s, "unknown") {
				t.Errorf("%T: %q", e, s)
			}
		}
	}
	for _, zero := range everyCommand() {
		v := reflect.New(reflect.TypeOf(zero)).Elem()
		new(filler).fill(v)
		for _, c := range []Command{zero, v.Interface().(Command)} {
			if s := DescribeCommand(c); !oneLine(s) || strings.Contains(s, "unknown") {
				t.Errorf("%T: %q", c, s)
			}
		}
	}
	hostile := State{Phase: "a\nb", Batch: []CallState{{Call: Call{ID: "\x1b[2J"}, Stage: "\u202e"}}, Ending: Ending{Stop: "\r"}}
	if s := DescribeState(hostile); !oneLine(s) {
		t.Errorf("%q", s)
	}
}

// Row 23, I12: private reasoning shows in no rendering of a block.
func TestPrivateIsNotPrinted(t *testing.T) {
	p := &Private{Provider: "p", Data: []byte("my secret plan")}
	for _, v := range []any{p, *p, Block{Kind: BlockThinking, Private: p}, &Block{Kind: BlockThinking, Private: p}, []Private{*p}} {
		for _, verb := range []string{"%v", "%+v", "%s", "%#v", "%q"} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "secret") {
				t.Errorf("%s of %T: %s", verb, v, s)
			}
		}
	}
}

// Report A28: a cut falls between characters, is marked, and keeps the limit.
func TestClip(t *testing.T) {
	long := "a" + strings.Repeat("汉", 100) + "👨‍👩‍👧"
	for n := 4; n < len(long)+4; n++ {
		s := Clip(long, n)
		if len(s) > n || !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
			t.Fatalf("clip to %d: %q", n, s)
		}
		if whole := n >= len(long); whole != (s == long) || whole == strings.HasSuffix(s, "…") {
			t.Fatalf("clip to %d: %q", n, s)
		}
		if kept := strings.TrimSuffix(s, "…"); !strings.HasPrefix(long, kept) || len(kept) < n-len("…")-utf8.UTFMax && n < len(long) {
			t.Fatalf("clip to %d keeps %q", n, kept)
		}
	}
	if got := Clip("a\xffb\xfe\xfe", 100); got != "a\uFFFDb\uFFFD\uFFFD" {
		t.Errorf("%q", got)
	}
}

func TestShow(t *testing.T) {
	for in, want := range map[string]string{
		"plain":             "plain",
		"a\nb\tc\r":         `a\nb\tc\r`,
		"\x1b[31mred":       `\x1b[31mred`,
		"\u202eevil\u2066":  `\u202eevil\u2066`,
		"zero\u200bwidth":   `zero\u200bwidth`,
		"line\u2028sep":     `line\u2028sep`,
		"汉字 😀 é":            "汉字 😀 é",
		"c1 \u0085 control": `c1 \u0085 control`,
	} {
		if got := show(in, 300); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTimeString(t *testing.T) {
	if got := scenarioStart.Add(1).String(); got != "2026-01-01T00:00:00.000000001Z" {
		t.Error(got)
	}
}
