package sqlite

import (
	"context"

	"github.com/holdfast-run/holdfast/desk"
)

// AddFixtures adds those of the fixtures that are missing, to try a desk with:
// tickets and policies of [desk.Fixtures], people of companies that do not exist.
// What is there stays as it is. EMBEDDING_FAILED.
func (d *DB) AddFixtures(ctx context.Context) error {
	policies := fixturePolicies()
	if err := d.embed(ctx, policies); err != nil {
		return err
	}
	return d.write(ctx, func(tx *tx) error { return tx.seed(policies) })
}

func (tx *tx) seed(policies []*version) error {
	for _, t := range desk.FixtureTickets() {
		if _, err := tx.ExecContext(tx.ctx, `INSERT OR IGNORE INTO tickets (id, tenant, user, subject, body, status, created) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			t.ID, t.Owner.Tenant, t.Owner.User, t.Subject, t.Body, t.Status, stamp(tx.now)); err != nil {
			return err
		}
	}
	var missing []*version
	for _, p := range policies {
		have, err := only(tx, nil, readString, `SELECT id FROM policies WHERE tenant = ? AND id = ? LIMIT 1`, p.tenant, p.ID)
		if err != nil {
			return err
		}
		if have == "" {
			p.read()
			missing = append(missing, p)
		}
	}
	_, err := tx.putPolicies(missing)
	return err
}

func fixturePolicies() (all []*version) {
	for _, p := range desk.FixturePolicies() {
		all = append(all, &version{tenant: p.Tenant, Policy: p.Policy})
	}
	return all
}
