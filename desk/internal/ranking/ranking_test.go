package ranking_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-run/holdfast/desk/internal/ranking"
)

// Words of a text, and what a query looks for.
func TestWords(t *testing.T) {
	for text, want := range map[string][2]string{
		"Taxi, TAXI & tram-7":  {"taxi taxi tram 7", "taxi tram 7"},
		"报销":                   {"报 报销 销", "报销"},
		"报销单":                  {"报 报销 销 销单 单", "报销 销单"},
		"报 销":                  {"报 销", "报 销"},
		"gen-itgc后50条":         {"gen itgc 后 50 条", "gen itgc 后 50 条"},
		"ＰＤＦ　ﾀｸｼｰ":             {"pdf タ タク ク クシ シ シー ー", "pdf タク クシ シー"},
		"출장비":                  {"출 출장 장 장비 비", "출장 장비"},
		"護照々":                  {"護 護照 照 照々 々", "護照 照々"},
		"报\u200b销":             {"报 报销 销", "报销"},
		"re\u00adport":         {"report", "report"},
		"cafe\u0301 STRASSE ß": {"café strasse ss", "café strasse ss"},
		"か\u3099く":             {"が がく く", "がく"},
		"नमस्ते":               {"नमस्ते", "नमस्ते"},
		"a|b}c":                {"a b c", "a b c"},
		"%_*\"'!":              {"", ""},
		"❤️ 🚢":                 {"", ""},
		"":                     {"", ""},
	} {
		got := [2]string{strings.Join(ranking.Words(text), " "), strings.Join(ranking.QueryWords(text), " ")}
		if got != want {
			t.Errorf("%q: words %q, query %q, want %q", text, got[0], got[1], want)
		}
	}
	if got := ranking.Words(strings.Repeat("é", 100)); len(got) != 1 || got[0] != strings.Repeat("é", ranking.MaxWord) {
		t.Errorf("a long word: %q", got)
	}
}

// What stands in an id or a title weighs more, up to a bound.
func TestDocument(t *testing.T) {
	got := ranking.NewDocument("P1", "taxi", "taxi p1 "+strings.Repeat("tram ", 200))
	want := ranking.Document{Weights: map[string]int{"p1": 9, "taxi": 4, "tram": 99}, Length: 1 + 1 + 202}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Places count, not scores; equals stand in the order of their numbers. What
// cannot be in the second list is as good as its place in the first.
func TestFuse(t *testing.T) {
	list := func(numbers ...int64) (l []ranking.Scored) {
		for i, n := range numbers {
			l = append(l, ranking.Scored{Document: n, Score: 100 / float64(i+1)})
		}
		return l
	}
	none := func(int64) bool { return false }
	seven := func(n int64) bool { return n == 7 }
	for _, c := range []struct{ got, want []ranking.Scored }{
		{ranking.Fuse(list(9, 2, 4), list(2, 3), none), list(2, 9, 3, 4)},
		{ranking.Fuse(list(5), list(1), none), list(1, 5)},
		{ranking.Fuse(list(), list(), none), list()},
		{ranking.Fuse(list(7, 8, 9), list(8, 9), seven), list(7, 8, 9)},
		{ranking.Fuse(list(8, 7, 9), list(8, 9), seven), list(8, 7, 9)},
	} {
		ignoringScores := cmp.Transformer("number", func(s ranking.Scored) int64 { return s.Document })
		if diff := cmp.Diff(c.want, c.got, ignoringScores, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}
