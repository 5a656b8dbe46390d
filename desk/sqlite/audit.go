package sqlite

import (
	"context"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// note writes a line of the audit.
func (tx *tx) note(who desk.Identity, action, object, outcome string) error {
	_, err := tx.ExecContext(tx.ctx, `INSERT INTO audit (at, tenant, user, through, action, object, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		stamp(tx.now), who.Tenant, who.User, who.Through, action, kernel.Clip(object, 500), outcome)
	return err
}

// Accesses returns the audit of a tenant. See [desk.Auditor].
func (d *DB) Accesses(ctx context.Context, tenant string, after int) (lines []desk.Access, err error) {
	if !kernel.IsName(tenant) || after < 0 {
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "an audit is of a tenant, after a number of lines"}
	}
	err = d.write(ctx, func(tx *tx) error {
		lines, err = collect(tx, func(row scanner) (a desk.Access, err error) {
			var at int64
			err = row.Scan(&at, &a.Who.Tenant, &a.Who.User, &a.Who.Through, &a.Action, &a.Object, &a.Outcome)
			a.At = instant(at)
			return a, err
		}, `SELECT at, tenant, user, through, action, object, outcome FROM audit WHERE tenant = ? ORDER BY number LIMIT -1 OFFSET ?`, tenant, after)
		return err
	})
	return lines, err
}
