package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// What is quoted is one line of printable text, and a shell reads the same from it.
func TestAShellReadsWhatIsQuoted(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"", "plain_1", "two words", "it's", "'", `a\b`, "$HOME `id` \"x\"", "汉字", "new\nline", "\x1b[31mred", "c1 \u009b31m",
		"\u202ereversed", "\x7f", "broken \xff\xfe utf8", "it's \\ and \x07", "half \xe6\xb1", "\\x41\n", "digit after \x017",
	} {
		quoted := quoteArgument(s)
		if strings.ContainsFunc(quoted, unfit) || safeLine(quoted) != quoted {
			t.Errorf("%q: %q is no line", s, quoted)
		}
		out, err := exec.Command(bash, "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q: %s is read as %q, %v", s, quoted, out, err)
		}
	}
}
