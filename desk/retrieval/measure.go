package retrieval

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/desk"
)

// Searched is a desk whose search is measured.
type Searched interface {
	desk.PolicyRanker
	// Versions returns all versions of a tenant's policies in the order of their import.
	Versions(ctx context.Context, tenant string) ([]desk.Policy, error)
}

// Figures say how well questions were answered by one leg.
type Figures struct {
	Leg       desk.Leg `json:"leg"`
	K         int      `json:"k"`
	Questions int      `json:"questions"`
	Answered  int      `json:"with_answer"` // questions that have one
	Recall    float64  `json:"recall"`      // the mean share of the expected policies among the first k; 0 where no question has an answer
	MRR       float64  `json:"mrr"`         // the mean of 1/place of the first expected policy, 0 where it is not among the first k
	Silent    int      `json:"silent"`      // questions without an answer for which nothing was found
	Missed    []string `json:"missed"`      // ids of questions that found nothing that was expected
	Leaks     []Leak   `json:"leaks"`
}

// Leak is a policy that was found though it must not be: the question forbids
// it, or the person may not see that version.
type Leak struct {
	Question string `json:"question"`
	Policy   string `json:"policy_id"`
	Version  string `json:"version"`
}

// Measure asks the questions by one leg and compares the first k policies with
// what was expected. What a person may see now is worked out here, from all versions that
// there are: no filter of the desk is trusted with finding its own faults. The errors are those of the two.
func Measure(ctx context.Context, s Searched, leg desk.Leg, questions []Question, k int, now time.Time) (Figures, error) {
	f := Figures{Leg: leg, K: k, Questions: len(questions), Missed: []string{}, Leaks: []Leak{}}
	visible := map[desk.Identity]map[string]string{}
	for i := range questions {
		q := &questions[i]
		who := desk.Identity{Tenant: q.Tenant, User: q.User}
		if visible[who] == nil {
			versions, err := versionsFor(ctx, s, who, now)
			if err != nil {
				return f, err
			}
			visible[who] = versions
		}
		found, err := s.RankPolicies(ctx, who, leg, q.Query, k)
		if err != nil {
			return f, err
		}
		f.add(q, found, visible[who])
	}
	if f.Answered > 0 {
		f.Recall /= float64(f.Answered)
		f.MRR /= float64(f.Answered)
	}
	return f, nil
}

// versionsFor returns the version in force of each policy that a person may see.
func versionsFor(ctx context.Context, s Searched, who desk.Identity, now time.Time) (map[string]string, error) {
	all, err := s.Versions(ctx, who.Tenant)
	inForce := map[string]*desk.Policy{}
	for i := range all {
		p := &all[i]
		if before := inForce[p.ID]; !p.Since().After(now) && (before == nil || !p.Since().Before(before.Since())) {
			inForce[p.ID] = p
		}
	}
	versions := map[string]string{}
	for id, p := range inForce {
		if len(p.Viewers) == 0 || slices.Contains(p.Viewers, who.User) {
			versions[id] = p.Version
		}
	}
	return versions, err
}

// add counts one question: sums, where Figures hold means at the end.
func (f *Figures) add(q *Question, found []desk.Match, visible map[string]string) {
	hits := 0
	for i, m := range found {
		if version, may := visible[m.ID]; !may || version != m.Version || slices.Contains(q.Forbid, m.ID) {
			f.Leaks = append(f.Leaks, Leak{q.ID, m.ID, m.Version})
		}
		if slices.Contains(q.Expect, m.ID) {
			hits++
			if hits == 1 {
				f.MRR += 1 / float64(i+1)
			}
		}
	}
	switch {
	case len(q.Expect) > 0:
		f.Answered++
		f.Recall += float64(hits) / float64(len(q.Expect))
		if hits == 0 {
			f.Missed = append(f.Missed, q.ID)
		}
	case len(found) == 0:
		f.Silent++
	}
}
