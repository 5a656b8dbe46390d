package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// visible are the versions that a person may be shown, of the policies of their tenant:
// for each id the one in force at an instant, where they are among its viewers. Its
// arguments are tenant, instant and user. It filters before anything else looks
// at a row.
const visible = `FROM policies p WHERE p.tenant = ?1 AND p.valid_from <= ?2 AND p.valid_until > ?2
	AND (p.restricted = 0 OR EXISTS (SELECT 1 FROM viewers v WHERE v.policy = p.number AND v.user = ?3))`

const policyColumns = `p.id, p.version, p.title, p.body, ` + policyRest

// policyRest is what readPolicy wants after the body.
const policyRest = `p.valid_from, p.source, p.imported,
	(SELECT coalesce(group_concat(user, char(10)), '') FROM viewers WHERE policy = p.number)`

func readPolicy(row scanner) (p desk.Policy, err error) {
	var from, imported int64
	var viewers string
	err = row.Scan(&p.ID, &p.Version, &p.Title, &p.Body, &from, &p.Source, &imported, &viewers)
	p.ValidFrom, p.Imported = instant(from), instant(imported)
	if viewers != "" {
		p.Viewers = strings.Split(viewers, "\n")
	}
	return p, err
}

// Policy returns the version in force. See [desk.PolicyService].
func (d *DB) Policy(ctx context.Context, who desk.Identity, id string) (p desk.Policy, err error) {
	if id, err = desk.Text(id, "the policy's id", desk.MaxPolicyID); err != nil {
		return p, err
	}
	return see(ctx, d, who, "policy.read", func(tx *tx) (desk.Policy, string, error) {
		p, err := only(tx, desk.NotFound("policy"), readPolicy,
			`SELECT `+policyColumns+` `+visible+` AND p.id = ?4`, who.Tenant, stamp(tx.now), who.User, id)
		return p, id, err
	})
}

// Policies returns what a person may see. See [desk.PolicyService].
func (d *DB) Policies(ctx context.Context, who desk.Identity) ([]desk.Policy, error) {
	return see(ctx, d, who, "policy.list", func(tx *tx) ([]desk.Policy, string, error) {
		all, err := collect(tx, readPolicy, `SELECT p.id, p.version, p.title, '', `+policyRest+` `+visible+` ORDER BY p.id`,
			who.Tenant, stamp(tx.now), who.User)
		return all, "", err
	})
}

// Versions returns all versions of a tenant's policies in the order of their import, without
// bodies, whoever may see them and whether or not they are in force: for an operator who
// checks what people find. It leaves no line in the audit.
func (d *DB) Versions(ctx context.Context, tenant string) (all []desk.Policy, err error) {
	err = d.read(ctx, func(tx *tx) error {
		all, err = collect(tx, readPolicy, `SELECT p.id, p.version, p.title, '', `+policyRest+` FROM policies p WHERE p.tenant = ? ORDER BY p.number`, tenant)
		return err
	})
	return all, err
}

// PutPolicy keeps a version. See [desk.PolicyService].
func (d *DB) PutPolicy(ctx context.Context, tenant string, p desk.Policy) (changed bool, err error) {
	all, err := d.PutPolicies(ctx, []string{tenant}, []desk.Policy{p})
	return err == nil && all[0], err
}

// PutPolicies keeps versions, one for each tenant beside it, all or none: the
// errors of PutPolicy, INVALID_ARGUMENT for more of one than of the other and for more
// than [desk.CheckImport] allows, and EMBEDDING_FAILED. It returns for each whether it changed anything.
func (d *DB) PutPolicies(ctx context.Context, tenants []string, policies []desk.Policy) (changed []bool, err error) {
	versions, err := versionsOf(tenants, policies)
	if err != nil {
		return nil, err
	}
	if err := d.embedNew(ctx, versions); err != nil {
		return nil, err
	}
	for _, v := range versions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v.read()
	}
	err = d.write(ctx, func(tx *tx) error {
		changed, err = tx.putPolicies(versions)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func versionsOf(tenants []string, policies []desk.Policy) ([]*version, error) {
	if len(tenants) != len(policies) {
		return nil, &kernel.Error{
			Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%d tenants for %d policies", len(tenants), len(policies)),
			Hint: "name the tenant of each policy, in their order",
		}
	}
	versions := make([]*version, len(policies))
	text := 0
	for i, p := range policies {
		text += len(p.Body)
		if err := desk.CheckImport(len(policies), text); err != nil {
			return nil, err
		}
		if err := p.Check(tenants[i]); err != nil {
			return nil, err
		}
		versions[i] = &version{tenant: tenants[i], Policy: p}
	}
	return versions, nil
}

// version is one of a policy that is about to be kept.
type version struct {
	desk.Policy
	tenant string
	vector []float32 // nil: there is no embedder
	words  int       // how many it has
	terms  string    // for the index of words
	number int64     // in the file
}

// putPolicies keeps versions that were read. The words come after the rows: the
// index writes all that it has gathered to the file before a statement such as follow's.
func (tx *tx) putPolicies(versions []*version) (changed []bool, err error) {
	changed = make([]bool, len(versions))
	var added []*version
	for i, v := range versions {
		if changed[i], err = tx.putPolicy(v); err != nil {
			return nil, err
		}
		if changed[i] {
			added = append(added, v)
		}
	}
	for _, v := range added {
		if v.vector == nil {
			continue
		}
		if err := tx.putVector(v.number, v.vector); err != nil {
			return nil, err
		}
	}
	return changed, tx.index(added)
}

func (tx *tx) putPolicy(v *version) (changed bool, err error) {
	hash := v.Hash()
	switch stored, err := tx.stored(v); {
	case err != nil || stored == hash:
		return false, err
	case stored != "":
		return false, &kernel.Error{
			Code: kernel.CodeConflict, Message: fmt.Sprintf("version %s of policy %s says something else already", v.Version, v.ID),
			Hint: "a version that was imported does not change: give the change a version of its own",
		}
	}
	if err := tx.opens(v); err != nil {
		return false, err
	}
	added, err := tx.ExecContext(tx.ctx, `INSERT INTO policies (tenant, id, version, title, body, valid_from, source, hash, imported, restricted, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		v.tenant, v.ID, v.Version, v.Title, v.Body, stamp(v.Since()), v.Source, hash, stamp(tx.now), len(v.Viewers) > 0, v.words)
	if err != nil {
		return false, err
	}
	if v.number, err = added.LastInsertId(); err != nil {
		return false, err
	}
	for _, user := range slices.Compact(slices.Sorted(slices.Values(v.Viewers))) {
		if _, err := tx.ExecContext(tx.ctx, `INSERT INTO viewers (policy, user) VALUES (?, ?)`, v.number, user); err != nil {
			return false, err
		}
	}
	return true, tx.follow(v.tenant, v.ID)
}

// stored returns the hash of a version that is kept already, else nothing.
func (tx *tx) stored(v *version) (hash string, err error) {
	return only(tx, nil, readString, `SELECT hash FROM policies WHERE tenant = ? AND id = ? AND version = ?`, v.tenant, v.ID, v.Version)
}

// opens refuses a version that would show to everybody what only some could see,
// and does not say that it is meant to.
func (tx *tx) opens(v *version) error {
	if v.Everybody || len(v.Viewers) > 0 {
		return nil
	}
	restricted, err := only(tx, nil, readBool, `SELECT restricted FROM policies WHERE tenant = ?1 AND id = ?2
		ORDER BY valid_from > ?3, abs(valid_from - ?3), number DESC LIMIT 1`, v.tenant, v.ID, stamp(v.Since()))
	if err == nil && restricted {
		err = &kernel.Error{
			Code: kernel.CodeConflict, Message: fmt.Sprintf("policy %s has viewers, and version %s of it names none", v.ID, v.Version),
			Hint: "nothing was imported; name who may see it, or say viewer: [everybody]",
		}
	}
	return err
}

// follow notes for the versions of a policy when the next one comes into force:
// of those that do so at the same instant the last one imported counts.
func (tx *tx) follow(tenant, id string) error {
	_, err := tx.ExecContext(tx.ctx, `UPDATE policies AS p SET valid_until = coalesce((
		SELECT min(n.valid_from) FROM policies n WHERE n.tenant = ?1 AND n.id = ?2 AND (n.valid_from, n.number) > (p.valid_from, p.number)
	), 0x7fffffffffffffff) WHERE p.tenant = ?1 AND p.id = ?2`, tenant, id)
	return err
}

func readBool(row scanner) (b bool, err error) { return b, row.Scan(&b) }

func readString(row scanner) (s string, err error) { return s, row.Scan(&s) }
