package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// idShape is what ids look like: an ASCII letter, and later on a digit.
var idShape = regexp.MustCompile(`^[A-Za-z][A-Za-z._-]*\d[A-Za-z0-9._-]*$`)

// maxID bounds what may look like an id, in bytes.
const maxID = 40

// note writes a line of the audit about what came to an answer, or to an error with a code.
func (tx *tx) note(who desk.Identity, action, object string, answer error) error {
	outcome := string(cmp.Or(kernel.CodeOf(answer), "ok"))
	if kernel.CodeOf(answer) == kernel.CodeNotFound {
		object = askedFor(object)
	}
	_, err := tx.ExecContext(tx.ctx, `INSERT INTO audit (at, tenant, user, through, action, object, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		stamp(tx.now), who.Tenant, who.User, who.Through, action, kernel.Clip(object, 500), outcome)
	return err
}

// askedFor is what the audit says of an object that is not there: whoever asks may
// write anything where an id belongs, and the audit holds no content.
func askedFor(id string) string {
	if len(id) <= maxID && idShape.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// Accesses returns the audit of a tenant. See [desk.Auditor].
func (d *DB) Accesses(ctx context.Context, tenant string, after int) (lines []desk.Access, err error) {
	if !kernel.IsName(tenant) || after < 0 {
		return nil, &kernel.Error{
			Code: kernel.CodeInvalidArgument, Message: "an audit is of a tenant, after the number of a line",
			Hint: "name the tenant; begin after line 0, and go on after the number of the last line that was read",
		}
	}
	err = d.read(ctx, func(tx *tx) error {
		lines, err = collect(tx, func(row scanner) (a desk.Access, err error) {
			var at int64
			err = row.Scan(&a.Number, &at, &a.Who.Tenant, &a.Who.User, &a.Who.Through, &a.Action, &a.Object, &a.Outcome)
			a.At = instant(at)
			return a, err
		}, `SELECT number, at, tenant, user, through, action, object, outcome FROM audit WHERE tenant = ? AND number > ? ORDER BY number LIMIT ?`,
			tenant, after, desk.MaxAccesses)
		return err
	})
	return lines, err
}
