package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
)

func user(text string) kernel.Message {
	return kernel.Message{Role: kernel.RoleUser, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}}
}

func calling(text string, ids ...string) kernel.Message {
	m := kernel.Message{Role: kernel.RoleAssistant}
	if text != "" || len(ids) == 0 {
		m.Blocks = append(m.Blocks, kernel.Block{Kind: kernel.BlockText, Text: text})
	}
	for _, id := range ids {
		m.Blocks = append(m.Blocks, kernel.Block{Kind: kernel.BlockCall, Call: &kernel.Call{ID: id, Name: "look", Arguments: `{"at":"` + id + `"}`}})
	}
	return m
}

func told(id, text string) kernel.Message {
	return kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{Kind: kernel.BlockResult, CallID: id, Text: text}}}
}

// tokens is an estimate that is not the package's own.
func tokens(m *kernel.Message) (n int64) {
	for _, b := range m.Blocks {
		n += 24 + prompt.EstimateTokens(kernel.AppendString(nil, b.Text))
		if b.Call != nil {
			n += prompt.EstimateTokens(b.Call.Arguments) + 10
		}
	}
	return n
}

func held(messages []kernel.Message, question int) *prompt.Held {
	h := &prompt.Held{Messages: messages, Question: question, Fixed: 50, Archive: "run_1.7"}
	for i := range messages {
		h.Tokens = append(h.Tokens, tokens(&messages[i]))
	}
	return h
}

func total(messages []kernel.Message) (n int64) {
	for i := range messages {
		n += tokens(&messages[i])
	}
	return n + 50
}

// commit carries a compaction out.
func compacted(t interface {
	Helper()
	Fatal(...any)
}, messages []kernel.Message, s *prompt.Smaller) []kernel.Message {
	t.Helper()
	h := prompt.NewHistory(messages)
	if _, err := h.Commit(kernel.Commit{What: kernel.CommitCompaction}, prompt.Content{Compaction: &s.Compaction}); err != nil {
		t.Fatal(err)
	}
	return h.Messages()
}

// strict is what a wire demands of a history: a user's text first, every call
// answered by the messages right behind it, no result without its call.
func strict(messages []kernel.Message, pending int) error {
	if len(messages) == 0 || messages[0].Role != kernel.RoleUser || strings.TrimSpace(prompt.Text(&messages[0])) == "" {
		return fmt.Errorf("it does not begin with a user's text")
	}
	open, used := map[string]bool{}, map[string]bool{}
	for i, m := range messages {
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if m.Role == kernel.RoleTool {
			if id := m.Blocks[0].CallID; !open[id] {
				return fmt.Errorf("message %d answers %s, which is not open", i, id)
			}
			delete(open, m.Blocks[0].CallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes while %v are open", i, open)
		}
		for _, b := range m.Blocks {
			if b.Call != nil {
				if used[b.Call.ID] {
					return fmt.Errorf("call %s comes twice", b.Call.ID)
				}
				open[b.Call.ID], used[b.Call.ID] = true, true
			}
		}
	}
	if len(open) != pending {
		return fmt.Errorf("%v are open at the end, want %d", open, pending)
	}
	return nil
}

// talk is a session: what earlier runs left, and the present one.
type talk struct {
	messages []kernel.Message
	question int
	pending  int // calls that wait for somebody
}

func drawTalk(t *rapid.T) talk {
	var k talk
	n := 0
	words := func(name string) string {
		size := rapid.SampledFrom([]int{3, 60, 900, 2500, 9000}).Draw(t, name)
		unit := rapid.SampledFrom([]string{"word ", "汉字", "\"\n\\", "é"}).Draw(t, name+" of")
		n++
		return fmt.Sprint(n) + ":" + strings.Repeat(unit, size/len(unit)+1)
	}
	turns := func(count int) {
		for range count {
			var ids []string
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				n++
				ids = append(ids, fmt.Sprint("c", n))
			}
			k.messages = append(k.messages, calling("", ids...))
			for _, id := range ids {
				k.messages = append(k.messages, told(id, words("result")))
			}
			if rapid.IntRange(0, 5).Draw(t, "said") == 0 {
				k.messages = append(k.messages, user(words("said")))
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "runs") {
		k.messages = append(k.messages, user(words("question")))
		turns(rapid.IntRange(0, 3).Draw(t, "turns"))
		if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
			k.messages = append(k.messages, calling(words("answer")))
		}
	}
	k.question = len(k.messages)
	k.messages = append(k.messages, user(words("question")))
	turns(rapid.IntRange(0, 6).Draw(t, "turns"))
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		k.messages = append(k.messages, calling(words("answer")), user(words("finding")))
	case 1:
		k.messages = append(k.messages, calling("", "p1", "p2"), told("p1", words("result")))
		k.pending = 1
	}
	return k
}

// Report A13, rows 73 and 74: however a history is made smaller, a strict wire
// takes it, the present question and what was not seen stay word for word and in
// order, and nothing changes where nothing is gained.
func TestCompactKeepsAHistoryWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawTalk(t)
		before := slices.Clone(k.messages)
		h := held(k.messages, k.question)
		limit := rapid.Int64Range(1, total(k.messages)+100).Draw(t, "limit")
		s := h.Compact(limit)
		if s == nil {
			return
		}
		after := compacted(t, k.messages, s)
		if !cmp.Equal(before, k.messages) {
			t.Fatal("the history itself was changed")
		}
		if err := strict(after, k.pending); err != nil {
			t.Fatalf("%v\n%v", err, shape(after))
		}
		if total(after) >= total(before) || s.After >= s.Before {
			t.Fatalf("from %d to %d, said to be %d to %d", total(before), total(after), s.Before, s.After)
		}
		if total(after) != s.After {
			t.Fatalf("%d tokens, said to be %d", total(after), s.After)
		}
		keeps(t, &k, s, after)
		settles(t, after, s, limit)
	})
}

func shape(messages []kernel.Message) (s []string) {
	for i := range messages {
		s = append(s, string(messages[i].Role)+" "+prompt.Head(prompt.Text(&messages[i]), 20)+messages[i].Blocks[0].CallID)
	}
	return s
}

func keeps(t *rapid.T, k *talk, s *prompt.Smaller, after []kernel.Message) {
	unseen := prompt.Unseen(k.messages)
	tail := k.messages[unseen:]
	if got := after[len(after)-len(tail):]; !cmp.Equal(got, tail) {
		t.Fatal("what was not seen has changed")
	}
	place := slices.IndexFunc(after, func(m kernel.Message) bool { return cmp.Equal(m, k.messages[k.question]) })
	if place < 0 {
		t.Fatal("the present question is gone")
	}
	// What remains is in the order it had.
	next := 0
	for i := range after {
		if _, is := prompt.IsSummary(&after[i]); is || spilled(s, len(after)-i) {
			continue
		}
		for next < len(k.messages) && !cmp.Equal(k.messages[next], after[i]) {
			next++
		}
		if next == len(k.messages) {
			t.Fatalf("message %d is none of the history, or out of order", i)
		}
		next++
	}
	if s.Removed > 0 && !strings.Contains(prompt.Text(&after[0]), "archive run_1.7") {
		t.Fatalf("the summary does not name its archive: %.200q", prompt.Text(&after[0]))
	}
}

func spilled(s *prompt.Smaller, position int) bool {
	return slices.ContainsFunc(s.Spills, func(p prompt.Spill) bool { return p.Position == position })
}

// settles: the same again comes to an end, soon.
func settles(t *rapid.T, messages []kernel.Message, first *prompt.Smaller, limit int64) {
	question := slices.IndexFunc(messages, func(m kernel.Message) bool { _, is := prompt.IsSummary(&m); return !is && m.Role == kernel.RoleUser })
	if first.After <= limit && held(messages, question).Compact(first.After) != nil {
		t.Fatal("a history that fits was made smaller")
	}
	for round := 0; ; round++ {
		s := held(messages, question).Compact(limit)
		if s == nil || s.After <= limit {
			return
		}
		if round == 8 {
			t.Fatal("it does not settle")
		}
		messages = compacted(t, messages, s)
	}
}

// enter commits a message as a run does.
func enter(t *rapid.T, h *prompt.History, m *kernel.Message) {
	c, content := kernel.Commit{What: kernel.CommitQuestion}, prompt.Content{Question: prompt.Text(m)}
	switch m.Role {
	case kernel.RoleAssistant:
		c, content = kernel.Commit{What: kernel.CommitReply}, prompt.Content{Message: m}
		for _, b := range m.Blocks {
			if b.Call != nil {
				c.Calls = append(c.Calls, *b.Call)
			}
		}
	case kernel.RoleTool:
		c, content = kernel.Commit{What: kernel.CommitResult, Call: m.Blocks[0].CallID}, prompt.Content{Result: m.Blocks[0].Text}
	}
	if _, err := h.Commit(c, content); err != nil {
		t.Fatal(err)
	}
}

// A run that is read without its session's earlier runs comes to the same.
func TestPartialHistoryAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawTalk(t)
		s := held(k.messages, k.question).Compact(rapid.Int64Range(1, total(k.messages)).Draw(t, "limit"))
		if s == nil {
			return
		}
		after := compacted(t, k.messages, s)
		own := prompt.Partial()
		for i := range k.messages[k.question:] {
			enter(t, own, &k.messages[k.question+i])
		}
		if _, err := own.Commit(kernel.Commit{What: kernel.CommitCompaction}, prompt.Content{Compaction: &s.Compaction}); err != nil {
			t.Fatal(err)
		}
		got := own.Messages()
		if want := after[len(after)-len(got):]; !cmp.Equal(got, want) {
			t.Fatal(cmp.Diff(want, got))
		}
		if s.Removed > k.question && len(got) != len(after) {
			t.Fatal("the summary speaks of the run, and is not in it")
		}
	})
}

// Report A13: the very history, cut at every place.
func TestCompactNeverPartsACall(t *testing.T) {
	a13 := []kernel.Message{
		user("which"), calling("", "p1", "p2"), told("p1", strings.Repeat("x", 3000)), told("p2", strings.Repeat("y", 3000)),
		user("go on"), calling("done"),
	}
	for name, cut := range map[string]int{"(a) before the second result": 3, "(b) before the first": 2, "inside nothing": 0} {
		h := prompt.NewHistory(a13)
		c := prompt.Compaction{Archive: "r.1", Removed: cut, Rest: len(a13) - cut, Summary: "short"}
		if _, err := h.Commit(kernel.Commit{What: kernel.CommitCompaction}, prompt.Content{Compaction: &c}); kernel.CodeOf(err) != kernel.CodeInvalidEvent {
			t.Errorf("%s: %v", name, err)
		}
		if !cmp.Equal(h.Messages(), a13) {
			t.Errorf("%s: the history changed", name)
		}
	}
	for limit := range int64(2000) {
		s := held(a13, 4).Compact(limit)
		if s == nil {
			continue
		}
		if err := strict(compacted(t, a13, s), 0); err != nil {
			t.Fatalf("limit %d: %v", limit, err)
		}
	}
	// (c) p2 still waits for somebody.
	pending := append([]kernel.Message{user("before"), calling(strings.Repeat("long ", 900))}, a13[:3]...)
	s := held(pending, 2).Compact(100)
	if s == nil {
		t.Fatal("not compacted")
	}
	after := compacted(t, pending, s)
	if err := strict(after, 1); err != nil {
		t.Error(err)
	}
	if !cmp.Equal(after[1:], a13[:3]) {
		t.Error("the pending call has changed")
	}
}

// Case 44: a compaction that gives nothing, or after which no user's text comes
// first, is refused and changes nothing.
func TestCompactionRefused(t *testing.T) {
	history := []kernel.Message{user("one"), calling("two"), user("three"), calling("four", "c"), told("c", "five")}
	for name, c := range map[string]*prompt.Compaction{
		"none":                           nil,
		"no summary":                     {Removed: 2, Rest: 3},
		"a blank one":                    {Removed: 2, Rest: 3, Summary: " \n"},
		"a summary of nothing":           {Rest: 5, Summary: "s"},
		"fewer messages than there are":  {Removed: 1, Rest: 3, Summary: "s"},
		"more":                           {Removed: 2, Rest: 4, Summary: "s"},
		"less than none":                 {Removed: -2, Rest: 7, Summary: "s"},
		"a question that is none":        {Removed: 2, Rest: 3, Summary: "s", Question: 4},
		"a question that is not removed": {Removed: 2, Rest: 3, Summary: "s", Question: 3},
		"a spill of a question":          {Rest: 5, Spills: []prompt.Spill{{Position: 3, Text: "x"}}},
		"a spill of another call":        {Rest: 5, Spills: []prompt.Spill{{Position: 1, Call: "d", Text: "x"}}},
		"a spill of nothing":             {Rest: 5, Spills: []prompt.Spill{{Position: 1, Call: "c"}}},
		"a spill behind the end":         {Rest: 5, Spills: []prompt.Spill{{Position: 0, Call: "c", Text: "x"}}},
		"a spill before the beginning":   {Rest: 5, Spills: []prompt.Spill{{Position: 9, Call: "c", Text: "x"}}},
	} {
		h := prompt.NewHistory(history)
		if _, err := h.Commit(kernel.Commit{What: kernel.CommitCompaction}, prompt.Content{Compaction: c}); kernel.CodeOf(err) != kernel.CodeInvalidEvent {
			t.Errorf("%s: %v", name, err)
		}
		if !cmp.Equal(h.Messages(), history) {
			t.Errorf("%s: the history changed", name)
		}
	}
	reply := prompt.NewHistory(history[1:])
	_, err := reply.Commit(kernel.Commit{What: kernel.CommitCompaction}, prompt.Content{Compaction: &prompt.Compaction{Rest: 4, Spills: []prompt.Spill{{Position: 1, Call: "c", Text: "x"}}}})
	if kernel.CodeOf(err) != kernel.CodeInvalidEvent {
		t.Errorf("a history that begins with a reply: %v", err)
	}
}

// What a summary that the model made must be: something, and smaller.
func TestSummarized(t *testing.T) {
	history := []kernel.Message{user("one " + strings.Repeat("x", 2000)), calling("two"), user("three")}
	h := held(history, 2)
	for name, text := range map[string]string{"empty": "", "blank": " \n\t", "no smaller": strings.Repeat("long ", 500)} {
		if s := h.Summarized(100, 2, text); s != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := h.Summarized(100, 1, "parts the turn"); s != nil {
		t.Errorf("part of a turn: %+v", s)
	}
	s := h.Summarized(100, 2, "They talked.")
	if s == nil || !strings.HasSuffix(s.Summary, "They talked.") || s.Removed != 2 || s.After >= s.Before {
		t.Errorf("%+v", s)
	}
}

// A later summary includes the earlier one, and names both archives.
func TestLaterSummaryIncludesTheEarlier(t *testing.T) {
	history := []kernel.Message{
		user("the first question"), calling("", "c1"), told("c1", "the first result"), calling("the first answer " + strings.Repeat("x", 4000)),
		user("the second question"),
	}
	h := held(history, 4)
	h.Archive = "run_1.7"
	once := compacted(t, history, h.Compact(600))
	for _, want := range []string{"the first question", "the first result", "the first answer", "archive run_1.7", `look "{\"at\":\"c1\"}"`} {
		if !strings.Contains(prompt.Text(&once[0]), want) {
			t.Errorf("the digest lacks %q: %s", want, prompt.Text(&once[0]))
		}
	}
	once = append(slices.Clone(once), calling("the second answer "+strings.Repeat("y", 40000)), user("the third question"))
	for name, again := range map[string]func(h *prompt.Held) *prompt.Smaller{
		"digest": func(h *prompt.Held) *prompt.Smaller { return h.Compact(2000) },
		"model": func(h *prompt.Held) *prompt.Smaller {
			_, said := h.Request(3, 4000)
			if !strings.Contains(said, "the first question") {
				t.Error("the model is not told the earlier summary")
			}
			return h.Summarized(2000, 3, "the first question, summarized again; the second answer")
		},
	} {
		h := held(once, 4)
		h.Archive = "run_2.9"
		twice := compacted(t, once, again(h))
		for _, want := range []string{"the first question", "the second answer", "archive run_1.7", "archive run_2.9"} {
			if !strings.Contains(prompt.Text(&twice[0]), want) {
				t.Errorf("%s: lacks %q: %s", name, want, prompt.Text(&twice[0]))
			}
		}
	}
}

// The largest result goes first, and only as many as have to.
func TestShortenTakesTheLargestFirst(t *testing.T) {
	history := []kernel.Message{
		user("q"), calling("", "a"), told("a", strings.Repeat("a", 4000)), calling("", "b"), told("b", "start"+strings.Repeat("b", 40000)+"end"),
		calling("", "c"), told("c", strings.Repeat("c", 80000)),
	}
	h := held(history, 0)
	s := h.Shorten(total(history) - 100)
	if s == nil || len(s.Spills) != 1 || s.Spills[0].Call != "b" {
		t.Fatalf("%+v", s)
	}
	text := s.Spills[0].Text
	for _, want := range []string{"start", "end", "of 40008 bytes", "archive run_1.7"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q: %s", want, text)
		}
	}
	if s := h.Shorten(1); len(s.Spills) != 2 || s.After <= 20000 {
		t.Errorf("what was not seen is %d tokens, and all is %d", tokens(&history[6]), s.After)
	}
}
