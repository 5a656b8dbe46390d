package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/internal/ranking"
	"github.com/holdfast-run/holdfast/kernel"
)

// depth is how many of each leg are fused.
const depth = 50

// FindPolicies ranks what the person may see by the words of the query, of
// which any may be missing, and with an embedder by vectors too. A policy without
// a vector, which somebody kept through a desk without an embedder, is found by
// its words alone until EmbedPolicies: one import does not stop the search. It
// says EMBEDDING_FAILED where the embedder fails, and CONFIGURATION where vectors
// are those of another one. See [desk.PolicyFinder].
func (d *DB) FindPolicies(ctx context.Context, who desk.Identity, query string) ([]desk.Policy, error) {
	leg := desk.Keyword
	if d.embedder != nil {
		leg = desk.Hybrid
	}
	s, err := d.newSearch(ctx, who, leg, query)
	if err != nil {
		return nil, err
	}
	return see(ctx, d, who, "policy.search", func(tx *tx) ([]desk.Policy, string, error) {
		ranked, err := tx.rank(s)
		if err != nil {
			return nil, "", err
		}
		found, err := tx.numbered(ranking.Top(ranked, desk.MaxFound))
		return found, idsOf(found), err
	})
}

// RankPolicies ranks without reading. See [desk.PolicyRanker].
func (d *DB) RankPolicies(ctx context.Context, who desk.Identity, leg desk.Leg, query string, k int) (matches []desk.Match, err error) {
	if !slices.Contains(desk.Legs(), leg) || k < 1 || k > desk.MaxRanked {
		return nil, &kernel.Error{
			Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("a ranking is by keyword, vector or hybrid, of 1 to %d policies", desk.MaxRanked),
			Hint: "name one of the three, and how many policies to rank",
		}
	}
	s, err := d.newSearch(ctx, who, leg, query)
	if err != nil {
		return nil, err
	}
	s.measured = true
	err = d.read(ctx, func(tx *tx) error {
		ranked, err := tx.rank(s)
		if err != nil {
			return err
		}
		for _, r := range ranking.Top(ranked, k) {
			m, err := only(tx, desk.NotFound("policy"), func(row scanner) (m desk.Match, err error) { return m, row.Scan(&m.ID, &m.Version) },
				`SELECT id, version FROM policies WHERE number = ?`, r.Document)
			if err != nil {
				return err
			}
			m.Score = r.Score
			matches = append(matches, m)
		}
		return nil
	})
	return matches, err
}

// search is a query that is ready to be carried out.
type search struct {
	who    desk.Identity
	leg    desk.Leg
	words  []string
	vector []float32 // nil: the leg needs none
	// measured is one whose order is measured: missing vectors are refused.
	measured bool
}

// newSearch refuses nobody's query before any of it goes to an embedder, which
// is asked before the transaction begins.
func (d *DB) newSearch(ctx context.Context, who desk.Identity, leg desk.Leg, query string) (s search, err error) {
	if err := who.Check(); err != nil {
		return s, err
	}
	if query, err = desk.Text(query, "the query", desk.MaxQuery); err != nil {
		return s, err
	}
	s = search{who: who, leg: leg, words: ranking.QueryWords(query)}
	if leg == desk.Keyword || len(s.words) == 0 {
		return s, nil
	}
	if d.embedder == nil {
		return s, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the desk was opened without an embedder", Hint: "name one in its options"}
	}
	vectors, err := desk.Embed(ctx, d.embedder, []string{query})
	if err != nil {
		return s, err
	}
	s.vector = vectors[0]
	return s, nil
}

// rank orders what the person may see: first it is settled what that is, and
// then nothing else is counted, ranked or cut off. What has no word finds nothing.
func (tx *tx) rank(s search) ([]ranking.Scored, error) {
	if len(s.words) == 0 {
		return nil, nil
	}
	seen, err := tx.visibleTo(s.who)
	if err != nil {
		return nil, err
	}
	var byWords []ranking.Scored
	if s.leg != desk.Vector {
		if byWords, err = tx.byWords(s.who.Tenant, seen, s.words); err != nil || s.leg == desk.Keyword {
			return byWords, err
		}
	}
	byVector, lacking, err := tx.byVector(&s, seen)
	if err != nil || s.leg == desk.Vector {
		return byVector, err
	}
	return ranking.Fuse(ranking.Top(byWords, depth), ranking.Top(byVector, depth), lacking), nil
}

// numbered reads versions in the order in which they were ranked.
func (tx *tx) numbered(ranked []ranking.Scored) ([]desk.Policy, error) {
	policies := make([]desk.Policy, len(ranked))
	for i := range ranked {
		var err error
		if policies[i], err = only(tx, desk.NotFound("policy"), readPolicy, `SELECT `+policyColumns+` FROM policies p WHERE p.number = ?`, ranked[i].Document); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

func idsOf(policies []desk.Policy) string {
	ids := make([]string, len(policies))
	for i := range policies {
		ids[i] = policies[i].ID
	}
	return strings.Join(ids, " ")
}
