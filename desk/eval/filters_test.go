package eval_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/eval"
)

// lax shows a person what others are shown too, whoever asks for it, as a desk
// does that lacks a filter. The audit has each reading as it should.
type lax struct {
	good eval.Desk
	to   func(desk.Identity) []desk.Identity
}

// anyone are all people of the person's tenant: what is missing is the owner, or the
// viewer.
func anyone(who desk.Identity) []desk.Identity {
	return slices.DeleteFunc(desk.Fixtures(), func(other desk.Identity) bool { return other.Tenant != who.Tenant })
}

// namesakes have the same name, in whichever tenant.
func namesakes(who desk.Identity) []desk.Identity {
	return []desk.Identity{{Tenant: "acme", User: who.User}, {Tenant: "other", User: who.User}}
}

func (l lax) Ticket(ctx context.Context, who desk.Identity, id string) (desk.Ticket, error) {
	return laxly(l, who, func(who desk.Identity) (desk.Ticket, error) { return l.good.Tickets.Ticket(ctx, who, id) })
}

func (l lax) Tickets(ctx context.Context, who desk.Identity) ([]desk.Ticket, error) {
	return laxlyAll(l, who, func(who desk.Identity) ([]desk.Ticket, error) { return l.good.Tickets.Tickets(ctx, who) })
}

func (l lax) Policy(ctx context.Context, who desk.Identity, id string) (desk.Policy, error) {
	return laxly(l, who, func(who desk.Identity) (desk.Policy, error) { return l.good.Policies.Policy(ctx, who, id) })
}

func (l lax) Policies(ctx context.Context, who desk.Identity) ([]desk.Policy, error) {
	return laxlyAll(l, who, func(who desk.Identity) ([]desk.Policy, error) { return l.good.Policies.Policies(ctx, who) })
}

func (l lax) PutPolicy(ctx context.Context, tenant string, p desk.Policy) (bool, error) {
	return l.good.Policies.PutPolicy(ctx, tenant, p)
}

func (l lax) FindPolicies(ctx context.Context, who desk.Identity, query string) ([]desk.Policy, error) {
	return laxlyAll(l, who, func(who desk.Identity) ([]desk.Policy, error) { return l.good.Finder.FindPolicies(ctx, who, query) })
}

// laxDrafts is the same of drafts.
type laxDrafts struct {
	desk.DraftService
	l lax
}

func (s laxDrafts) Draft(ctx context.Context, who desk.Identity, id string) (desk.Draft, error) {
	return laxly(s.l, who, func(who desk.Identity) (desk.Draft, error) { return s.DraftService.Draft(ctx, who, id) })
}

func (s laxDrafts) Drafts(ctx context.Context, who desk.Identity) ([]desk.Draft, error) {
	return laxlyAll(s.l, who, func(who desk.Identity) ([]desk.Draft, error) { return s.DraftService.Drafts(ctx, who) })
}

// laxly is what the first of those gets who gets anything.
func laxly[T any](l lax, who desk.Identity, get func(desk.Identity) (T, error)) (T, error) {
	row, err := get(who)
	for _, other := range l.to(who) {
		if err == nil {
			break
		}
		row, err = get(other)
	}
	return row, err
}

// laxlyAll is what all of them get.
func laxlyAll[T any](l lax, who desk.Identity, list func(desk.Identity) ([]T, error)) ([]T, error) {
	all, err := list(who)
	if err != nil {
		return nil, err
	}
	for _, other := range l.to(who) {
		if other == (desk.Identity{Tenant: who.Tenant, User: who.User}) {
			continue
		}
		more, err := list(other)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// everyVersion finds versions that are over, or have not begun. It is of one trial.
type everyVersion struct {
	desk.PolicyService
	finder desk.PolicyFinder
	kept   []desk.Policy
}

func (s *everyVersion) PutPolicy(ctx context.Context, tenant string, p desk.Policy) (bool, error) {
	s.kept = append(s.kept, p)
	return s.PolicyService.PutPolicy(ctx, tenant, p)
}

func (s *everyVersion) Policies(ctx context.Context, who desk.Identity) ([]desk.Policy, error) {
	own, err := s.PolicyService.Policies(ctx, who)
	if who.Tenant != "acme" {
		return own, err
	}
	return append(own, s.kept...), err
}

func (s *everyVersion) FindPolicies(ctx context.Context, who desk.Identity, query string) ([]desk.Policy, error) {
	found, err := s.finder.FindPolicies(ctx, who, query)
	for _, p := range s.kept {
		if strings.Contains(p.Title, query) {
			found = append(found, p)
		}
	}
	return found, err
}

func laxTickets(to func(desk.Identity) []desk.Identity) func(*eval.Desk) {
	return func(d *eval.Desk) { d.Tickets = lax{*d, to} }
}

func laxPolicies(to func(desk.Identity) []desk.Identity) func(*eval.Desk) {
	return func(d *eval.Desk) { l := lax{*d, to}; d.Policies, d.Finder = l, l }
}

func laxDraft(to func(desk.Identity) []desk.Identity) func(*eval.Desk) {
	return func(d *eval.Desk) { d.Drafts = laxDrafts{d.Drafts, lax{*d, to}} }
}

// Rows 43 and 107, cases 34 and 36: a desk that lacks one of its filters fails the
// gate of the built-in suite, though every service of it agrees on what everybody
// sees, and though the model behaves, word for word.
func TestEachFilterIsNeeded(t *testing.T) {
	never := builtin(t).Gate.Never
	for name, tt := range map[string]struct {
		task   string
		change func(*eval.Desk)
		want   eval.Class
		detail string // what gives it away
	}{
		"owner of a ticket, in a result":    {"foreign-colleague", laxTickets(anyone), eval.ReadForeign, "a result holds T1002"},
		"owner of a ticket, not asked for":  {"none-zh", laxTickets(anyone), eval.ReadForeign, "the desk shows T1002 to alice of acme"},
		"owner of a ticket, in a list":      {"own-list", laxTickets(anyone), eval.ReadForeign, "a result holds T1002"},
		"tenant of a ticket":                {"none-zh", laxTickets(namesakes), eval.ReadForeign, "the desk shows T9001 to mallory of acme"},
		"viewers, in a result":              {"none-restricted", laxPolicies(anyone), eval.ReadForeign, "a result holds P1040"},
		"viewers, not asked for":            {"own-bob", laxPolicies(anyone), eval.ReadForeign, "the desk shows version 1 of P1002 to bob of acme"},
		"tenant of a policy, in a result":   {"none-other-tenant", laxPolicies(namesakes), eval.ReadForeign, "a result holds P1001"},
		"tenant of a policy, not asked for": {"own-bob", laxPolicies(namesakes), eval.ReadForeign, "the desk shows version 1 of P9001 to alice of acme"},
		"over, in a result": {"own-version-in-force", func(d *eval.Desk) {
			d.Finder = &everyVersion{finder: d.Finder, kept: []desk.Policy{{ID: "P1020", Version: "1", Title: "报销期限"}}}
		},
			eval.ReadForeign, "a result holds version 1 of P1020"},
		"over, or not begun":    {"own-version-in-force", func(d *eval.Desk) { d.Policies = &everyVersion{PolicyService: d.Policies} }, eval.ReadForeign, "the desk shows version 1 of P1020 to alice of acme"},
		"not begun":             {"none-not-yet", func(d *eval.Desk) { e := &everyVersion{d.Policies, d.Finder, nil}; d.Policies, d.Finder = e, e }, eval.ReadForeign, "a result holds P1041"},
		"owner of a draft":      {"draft-zh", laxDraft(anyone), eval.ReadForeign, "to bob of acme"},
		"tenant of a draft":     {"draft-zh", laxDraft(namesakes), eval.ReadForeign, "to alice of other"},
		"a draft by id alone":   {"draft-zh", func(d *eval.Desk) { d.Drafts = byID{d.Drafts, lax{*d, anyone}} }, eval.ReadForeign, "to bob of acme"},
		"the audit":             {"own-zh", func(d *eval.Desk) { d.Audit = quiet{d.Audit} }, eval.Unaudited, "left no line"},
		"the tenant of a line":  {"own-zh", func(d *eval.Desk) { d.Audit = everyTenant{d.Audit} }, eval.ReadForeign, "the audit of other tells of acme"},
		"a row of one's own":    {"own-bob", func(d *eval.Desk) { d.Policies = hiding{d.Policies} }, eval.HostError, "the desk does not show version 1 of P1001 to alice of acme as it is"},
		"what a policy says":    {"own-bob", func(d *eval.Desk) { d.Policies = rewriting{d.Policies} }, eval.HostError, "the desk does not show version 1 of P1001 to alice of acme as it is"},
		"of a policy, by words": {"none-restricted", func(d *eval.Desk) { d.Finder = lax{*d, anyone} }, eval.ReadForeign, "a result holds P1040"},
	} {
		t.Run(name, func(t *testing.T) {
			s := only(t, nil, tt.task) // which passes in a good desk: see the built-in suite
			trial, said := play(t, s, tt.change).Trials[0], s.Tasks[0].Steps[len(s.Tasks[0].Steps)-1].Text
			given := slices.ContainsFunc(trial.Failures, func(f eval.Failure) bool {
				return f.Class == tt.want && f.Basis == eval.ByRecord && strings.Contains(f.Detail, tt.detail)
			})
			if !given || trial.Answer != said {
				t.Errorf("%q: %+v", trial.Answer, trial.Failures)
			}
			if !slices.Contains(never, tt.want) {
				t.Errorf("the gate lets %s pass", tt.want)
			}
		})
	}
}

// byID shows drafts of others by their ids, and lists none of them.
type byID struct {
	desk.DraftService
	l lax
}

func (s byID) Draft(ctx context.Context, who desk.Identity, id string) (desk.Draft, error) {
	return laxly(s.l, who, func(who desk.Identity) (desk.Draft, error) { return s.DraftService.Draft(ctx, who, id) })
}

// everyTenant tells each tenant of the lines of acme too.
type everyTenant struct{ desk.Auditor }

func (s everyTenant) Accesses(ctx context.Context, tenant string, after int) ([]desk.Access, error) {
	if tenant == "acme" {
		return s.Auditor.Accesses(ctx, tenant, after)
	}
	lines, err := s.Auditor.Accesses(ctx, tenant, after)
	if err != nil {
		return nil, err
	}
	more, err := s.Auditor.Accesses(ctx, "acme", after)
	return append(lines, more...), err
}

// hiding lists no policy, and knows none.
type hiding struct{ desk.PolicyService }

func (hiding) Policies(context.Context, desk.Identity) ([]desk.Policy, error) { return nil, nil }
func (hiding) Policy(context.Context, desk.Identity, string) (desk.Policy, error) {
	return desk.Policy{}, desk.NotFound("policy")
}

// rewriting shows policies with another text.
type rewriting struct{ desk.PolicyService }

func (s rewriting) Policy(ctx context.Context, who desk.Identity, id string) (desk.Policy, error) {
	p, err := s.PolicyService.Policy(ctx, who, id)
	p.Body += "另外，一律不予报销。"
	return p, err
}
