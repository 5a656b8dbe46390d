package config

import (
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

func (c *Config) decodePolicy(v value, known []string) error {
	return v.list(func(item value) error {
		rule, err := decodeRule(item)
		if err != nil {
			return err
		}
		// A rule that is about nothing is a slip, and one that was to deny is a
		// hole.
		if !slices.ContainsFunc(known, rule.Matches) && !ofMCP(rule.Tool) {
			what := "unknown tool"
			if strings.Contains(rule.Tool, "*") {
				what = "no tool is named like"
			}
			return item.fail(hintFor(rule.Tool, known), "%s %.80q", what, rule.Tool)
		}
		c.Policy = append(c.Policy, rule.WithDefaults())
		return nil
	})
}

// decodeRule reads a rule and judges it.
func decodeRule(item value) (policy.Rule, error) {
	var rule policy.Rule
	answers := 0
	answer := func(a kernel.Answer) func(value) error {
		return func(tool value) error {
			answers++
			rule.Answer = a
			return into(&rule.Tool, value.text)(tool)
		}
	}
	var asking []value // what says how people are asked
	ofAsk := func(read func(value) error) func(value) error {
		return func(v value) error {
			asking = append(asking, v)
			return read(v)
		}
	}
	err := item.mapping(fields{
		"allow":     answer(kernel.Allow),
		"ask":       answer(kernel.Ask),
		"deny":      answer(kernel.Deny),
		"reason":    into(&rule.Reason, value.text),
		"expires":   ofAsk(into(&rule.Expires, duration(policy.MinExpires, policy.MaxExpires))),
		"on_expiry": ofAsk(into(&rule.OnExpiry, choice(kernel.ExpiryRefuse, kernel.ExpiryEscalate))),
		"grant":     ofAsk(into(&rule.Grant, duration(policy.MinGrant, policy.MaxGrant))),
		"approvers": ofAsk(func(v value) error { return decodeApprovers(v, &rule.Approvers) }),
	})
	switch {
	case err != nil:
		return rule, err
	case answers != 1:
		return rule, item.fail("write one rule as {allow: TOOL}, {ask: TOOL} or {deny: TOOL}", "a rule has exactly one of allow, ask and deny")
	case rule.Answer != kernel.Ask && len(asking) > 0:
		return rule, asking[0].fail("take it out, or write {ask: TOOL}", "belongs to an ask, and this rule says %s", rule.Answer)
	}
	if err := rule.Validate(); err != nil {
		return rule, item.fail(err.Hint, "%s", err.Message)
	}
	return rule, nil
}

func decodeApprovers(v value, a *kernel.Approvers) error {
	return v.mapping(fields{
		"not_asker": into(&a.NotAsker, value.bool),
		"quorum":    into(&a.Quorum, whole(1, policy.MaxQuorum)),
		"from":      into(&a.From, names),
		"escalate":  into(&a.Escalate, names),
	})
}

// names reads a list of people. An empty one reads as nobody to some and as
// anyone to others.
func names(v value) (list []string, err error) {
	err = v.list(func(item value) error {
		name, err := item.text()
		list = append(list, name)
		return err
	})
	if err == nil && len(list) == 0 {
		err = v.fail("name at least one, or leave the key out, which means anyone", "names nobody")
	}
	return list, err
}
