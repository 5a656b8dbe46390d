package tool_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/tool"
)

// Report A19 (c), (d); report A40: what a model sees of a terminal's text.
func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"clean", "a\tb\n中 😀\u00a0x", "a\tb\n中 😀\u00a0x"},
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"cursor", "a\x1b[2K\x1b[1Gb\x1b[?25l", "ab"},
		{"title", "\x1b]0;my title\aok", "ok"},
		{"link", "\x1b]8;;http://x/\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"title, C1 end", "\x1b]0;t\u009cok", "ok"},
		{"device string", "\x1bPq#0\x1b\\ok", "ok"},
		{"charset", "\x1b(Bok\x1b7\x1b=", "ok"},
		{"C1 introducer", "\u009b31mred", "red"},
		{"C1 alone", "a\u0085b", "ab"},
		{"unterminated string keeps its text", "\x1b]0;not a title\nmore", "0;not a title\nmore"},
		{"endless parameters are text", "\x1b[" + strings.Repeat("1", 200) + "m", strings.Repeat("1", 200) + "m"},
		{"escape at the end", "ok\x1b", "ok"},
		{"cut sequence", "ok\x1b[3", "ok"},
		{"progress", "x\n 1%\r 50%\r100%\ndone", "x\n100%\ndone"},
		{"progress at the end", "1%\r2%\r", "2%"},
		{"erased line", "1%\r\x1b[Kdone\n", "done\n"},
		{"windows lines", "a\r\nb\r\r\n", "a\nb\n"},
		{"NUL", "a\x00b", "ab"},
		{"bell, backspace, delete", "a\ab\bc\x7f", "abc"},
		{"one mark for a run of invalid bytes", "a\xff\xfe\xfdb\xff", "a\ufffdb\ufffd"},
		{"surrogate bytes", "\xed\xa0\x80", "\ufffd"},
		{"real U+FFFD", "\ufffd", "\ufffd"},
		{"split rune", "中"[:2], "\ufffd"},
	} {
		if got := tool.Clean(tt.in); got != tt.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// checkClean states what Clean promises of every text.
func checkClean(t *testing.T, in string) {
	t.Helper()
	got := tool.Clean(in)
	if !utf8.ValidString(got) {
		t.Errorf("Clean(%q) = %q: not UTF-8", in, got)
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("Clean(%q) = %q: control character at %d", in, got, i)
	}
	if again := tool.Clean(got); again != got {
		t.Errorf("Clean is not idempotent: %q, %q", got, again)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\r\n\xff")
	f.Add("\x1b]0;t\u009c\x1bP\x1b\\")
	f.Fuzz(func(t *testing.T, in string) { checkClean(t, in) })
}

func TestCleanRandomBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := "\x1b\x1b[]P\\;m0\r\n\t\x00\x07\xff\xc2\x9b中e\u0301"
	for range 2000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		checkClean(t, string(b))
	}
}

// Report A28: the cut.
func TestBound(t *testing.T) {
	text := "a" + strings.Repeat("汉", 20000)
	for _, size := range []int{10000, 10001, 10002, 64, 65, 66} {
		got, omitted := tool.Bound(text, size)
		checkExcerpt(t, got, omitted, size, len(text))
		if !strings.HasPrefix(got, "a汉") && size > 100 {
			t.Errorf("size %d: no head in %q", size, got[:20])
		}
		if len(got) < size-8 {
			t.Errorf("size %d: only %d bytes", size, len(got))
		}
	}
	if got, omitted := tool.Bound(text, len(text)); got != text || omitted != 0 {
		t.Error("a text within the limit was changed")
	}
	if got, omitted := tool.Bound(strings.Repeat("x", 1000), 1); len(got) > 64 || omitted == 0 {
		t.Errorf("a tiny limit: %q", got)
	}
}

// checkExcerpt holds for every shortened text of total bytes.
func checkExcerpt(t *testing.T, got string, omitted int64, size, total int) {
	t.Helper()
	if !utf8.ValidString(got) || strings.Contains(got, "\ufffd") {
		t.Errorf("size %d: not clean", size)
	}
	if len(got) > size {
		t.Errorf("size %d: %d bytes", size, len(got))
	}
	head, rest, ok := strings.Cut(got, "\n[")
	if !ok {
		t.Fatalf("size %d: the omission is not stated in %q", size, got)
	}
	_, tail, _ := strings.Cut(rest, " bytes omitted]\n")
	if kept := len(head) + len(tail); int64(total-kept) != omitted {
		t.Errorf("size %d: %d omitted, but %d of %d kept", size, omitted, kept, total)
	}
}

// Report A28: a family emoji, a flag, an accent on the cut.
func TestBoundKeepsClustersWhole(t *testing.T) {
	clusters := []string{
		"👨\u200d👩\u200d👧\u200d👦", "👍🏽", "🇩🇪", "e\u0301", "❤\ufe0f",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
	}
	for _, cluster := range clusters {
		text := strings.Repeat(cluster, 100)
		for size := 80; size < 130; size++ {
			got, omitted := tool.Bound(text, size)
			checkExcerpt(t, got, omitted, size, len(text))
			head, rest, _ := strings.Cut(got, "\n[")
			_, tail, _ := strings.Cut(rest, " bytes omitted]\n")
			if strings.ReplaceAll(head, cluster, "") != "" || strings.ReplaceAll(tail, cluster, "") != "" {
				t.Errorf("size %d: %q is parted: %q … %q", size, cluster, head, tail)
			}
		}
	}
	// An endless chain is cut between characters after all.
	chain := "e" + strings.Repeat("\u0301", 5000)
	got, omitted := tool.Bound(chain, 200)
	checkExcerpt(t, got, omitted, 200, len(chain))
}

func TestExcerpt(t *testing.T) {
	if got, n := tool.Excerpt("ab", "cd", 0, 100); got != "abcd" || n != 0 {
		t.Errorf("nothing left out: %q, %d", got, n)
	}
	if got, n := tool.Excerpt("head", "tail", 150_000_000, 100); got != "head\n[150000000 bytes omitted]\ntail" || n != 150_000_000 {
		t.Errorf("all kept: %q, %d", got, n)
	}
	head, tail := strings.Repeat("汉", 100), strings.Repeat("字", 100)
	for size := 64; size < 200; size++ {
		got, n := tool.Excerpt(head, tail, 5, size)
		checkExcerpt(t, got, n, size, len(head)+len(tail)+5)
	}
}
