package retrieval_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval"
)

// found is a desk that finds what it was told to find.
type found map[string][]desk.Match

func (f found) RankPolicies(_ context.Context, _ desk.Identity, _ desk.Leg, query string, k int) ([]desk.Match, error) {
	return f[query][:min(k, len(f[query]))], nil
}

// Versions has more than u may see now.
func (found) Versions(context.Context, string) ([]desk.Policy, error) {
	day := func(n int) time.Time { return now().AddDate(0, 0, n) }
	return []desk.Policy{
		{ID: "A", Version: "2", ValidFrom: day(-1)}, {ID: "A", Version: "1", ValidFrom: day(-9)}, {ID: "B", Version: "0"}, {ID: "B", Version: "1"},
		{ID: "C", Version: "1", Viewers: []string{"u", "v"}}, {ID: "C", Version: "2", ValidFrom: day(1)}, {ID: "D", Version: "1", Viewers: []string{"v"}},
	}, nil
}

func now() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

// The figures by hand, and every kind of leak.
func TestMeasure(t *testing.T) {
	a, b, c := desk.Match{ID: "A", Version: "2"}, desk.Match{ID: "B", Version: "1"}, desk.Match{ID: "C", Version: "1"}
	question := func(id string, expect, forbid []string) retrieval.Question {
		return retrieval.Question{ID: id, User: "u", Tenant: "t", Query: id, Expect: expect, Forbid: forbid}
	}
	for _, test := range []struct {
		name      string
		questions []retrieval.Question
		found     found
		want      retrieval.Figures
	}{
		{
			"figures", []retrieval.Question{
				question("first", []string{"A"}, nil), question("second", []string{"C"}, nil), question("half", []string{"B", "A"}, nil),
				question("beyond k", []string{"A"}, nil), question("silent", nil, []string{"X"}), question("not silent", nil, nil),
			},
			found{"first": {a}, "second": {a, c, b}, "half": {b}, "beyond k": {b, c, c, a}, "not silent": {c}},
			retrieval.Figures{Questions: 6, Answered: 4, Recall: (1 + 1 + 0.5 + 0) / 4, MRR: (1 + 0.5 + 1 + 0) / 4, Silent: 1, Missed: []string{"beyond k"}, Leaks: []retrieval.Leak{}},
		},
		{
			"leaks", []retrieval.Question{question("forbidden", nil, []string{"B"}), question("unseen", nil, nil), question("old", []string{"A"}, nil), question("not yet", nil, nil), question("somebody else's", nil, nil), question("replaced", nil, nil)},
			found{"forbidden": {b}, "unseen": {{ID: "X", Version: "1"}}, "old": {{ID: "A", Version: "1"}}, "not yet": {{ID: "C", Version: "2"}}, "somebody else's": {{ID: "D", Version: "1"}}, "replaced": {{ID: "B", Version: "0"}}},
			retrieval.Figures{
				Questions: 6, Answered: 1, Recall: 1, MRR: 1, Missed: []string{},
				Leaks: []retrieval.Leak{{Question: "forbidden", Policy: "B", Version: "1"}, {Question: "unseen", Policy: "X", Version: "1"}, {Question: "old", Policy: "A", Version: "1"},
					{Question: "not yet", Policy: "C", Version: "2"}, {Question: "somebody else's", Policy: "D", Version: "1"}, {Question: "replaced", Policy: "B", Version: "0"}},
			},
		},
	} {
		got, err := retrieval.Measure(t.Context(), test.found, desk.Vector, test.questions, 3, now())
		if err != nil {
			t.Fatal(err)
		}
		test.want.Leg, test.want.K = desk.Vector, 3
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
