package sqlite

import (
	"context"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/internal/ranking"
)

// FindPolicies ranks what the person may see by the words of the query, of
// which any may be missing. See [desk.PolicyFinder].
func (d *DB) FindPolicies(ctx context.Context, who desk.Identity, query string) (found []desk.Policy, err error) {
	if query, err = desk.Text(query, "the query", desk.MaxQuery); err != nil {
		return nil, err
	}
	err = d.seen(ctx, who, "policy.search", func(tx *tx) (string, error) {
		ranked, err := tx.rank(who, query)
		if err != nil {
			return "", err
		}
		found, err = tx.numbered(ranking.Top(ranked, desk.MaxFound))
		return idsOf(found), err
	})
	return found, err
}

// rank orders what the person may see: first it is settled what that is, and
// then nothing else is counted, ranked or cut off.
func (tx *tx) rank(who desk.Identity, query string) ([]ranking.Scored, error) {
	words := ranking.QueryWords(query)
	if len(words) == 0 {
		return nil, nil
	}
	seen, err := tx.visibleTo(who)
	if err != nil {
		return nil, err
	}
	return tx.byWords(who.Tenant, seen, words)
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
	ids := ""
	for i := range policies {
		if i > 0 {
			ids += " "
		}
		ids += policies[i].ID
	}
	return ids
}
