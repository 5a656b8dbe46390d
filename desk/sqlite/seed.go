package sqlite

import (
	"context"
	"time"

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
	alice, bob := desk.Identity{Tenant: "acme", User: "alice"}, desk.Identity{Tenant: "acme", User: "bob"}
	mallory := desk.Identity{Tenant: "other", User: "mallory"}
	for _, t := range []struct {
		who    desk.Identity
		ticket desk.Ticket
	}{
		{alice, desk.Ticket{ID: "T1001", Subject: "差旅报销：待补材料", Body: "缺少出差审批单。补交之后复核。", Status: desk.NeedsInformation}},
		{bob, desk.Ticket{ID: "T1002", Subject: "办公设备申请", Body: "等部门负责人审批。", Status: desk.Pending}},
		{mallory, desk.Ticket{ID: "T9001", Subject: "另一租户的工单", Body: "acme 的人看不到这里。", Status: desk.Pending}},
	} {
		if _, err := tx.ExecContext(tx.ctx, `INSERT OR IGNORE INTO tickets (id, tenant, user, subject, body, status, created) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			t.ticket.ID, t.who.Tenant, t.who.User, t.ticket.Subject, t.ticket.Body, t.ticket.Status, stamp(tx.now)); err != nil {
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

func fixturePolicies() []*version {
	all := []*version{
		{tenant: "acme", Policy: desk.Policy{ID: "P1001", Title: "差旅报销制度", Body: "差旅报销须附发票和出差审批单。材料补齐后可以申请复核。（虚构的示例，不是任何公司的制度。）"}},
		{tenant: "acme", Policy: desk.Policy{ID: "P1002", Title: "报销附件补充说明", Body: "只给指定人员看的示例材料，不应出现在别人的结果里。", Viewers: []string{"alice"}}},
		{tenant: "other", Policy: desk.Policy{ID: "P9001", Title: "另一租户的报销制度", Body: "另一租户的内部材料。"}},
	}
	for _, p := range all {
		p.Version, p.ValidFrom = "1", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return all
}
