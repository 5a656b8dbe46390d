package desk

import "time"

// OwnedTicket is a ticket and whose it is.
type OwnedTicket struct {
	Owner Identity
	Ticket
}

// TenantPolicy is a version of a policy and the tenant that it belongs to.
type TenantPolicy struct {
	Tenant string
	Policy
}

// FixtureTickets are the tickets of [Fixtures], without the times that they are kept at.
func FixtureTickets() []OwnedTicket {
	people := Fixtures()
	alice, bob, mallory := people[0], people[1], people[2]
	return []OwnedTicket{
		{alice, Ticket{ID: "T1001", Subject: "差旅报销：待补材料", Body: "缺少出差审批单。补交之后复核。", Status: NeedsInformation}},
		{bob, Ticket{ID: "T1002", Subject: "办公设备申请", Body: "等部门负责人审批。", Status: Pending}},
		{mallory, Ticket{ID: "T9001", Subject: "另一租户的工单", Body: "acme 的人看不到这里。", Status: Pending}},
	}
}

// FixturePolicies are policies of companies that do not exist.
func FixturePolicies() []TenantPolicy {
	all := []TenantPolicy{
		{"acme", Policy{ID: "P1001", Title: "差旅报销制度", Body: "差旅报销须附发票和出差审批单。材料补齐后可以申请复核。（虚构的示例，不是任何公司的制度。）"}},
		{"acme", Policy{ID: "P1002", Title: "报销附件补充说明", Body: "只给指定人员看的示例材料，不应出现在别人的结果里。", Viewers: []string{"alice"}}},
		{"other", Policy{ID: "P9001", Title: "另一租户的报销制度", Body: "另一租户的内部材料。"}},
	}
	for i := range all {
		all[i].Version, all[i].ValidFrom = "1", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return all
}
