package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// checkPolicy compares the rules with the tools: a tool that is always denied,
// and a rule that is never asked, are most likely not meant.
func checkPolicy(ctx context.Context, c *config.Config) []check {
	rules, err := policy.NewRules(c.Policy)
	if err != nil {
		return []check{broken("policy", err)}
	}
	var checks []check
	note := func(detail, hint string) {
		checks = append(checks, check{Name: "policy", Status: checkNote, Detail: detail, Hint: hint})
	}
	for _, name := range c.Tools {
		d, err := rules.Decide(ctx, policy.Request{Tool: name})
		if err == nil && d.Answer == kernel.Deny {
			note(fmt.Sprintf("every call of %s is denied, by %s", name, d.Rule),
				fmt.Sprintf("write {allow: %s} or {ask: %s} into policy, or take it out of tools", name, name))
		}
	}
	for i, r := range c.Policy {
		if !slices.ContainsFunc(c.Tools, r.Matches) {
			note(fmt.Sprintf("policy rule %d: %s %s matches no tool that is listed", i+1, r.Answer, r.Tool), "list the tool, or take the rule out")
		}
	}
	return checks
}

// checkLimits looks for a limit that another one makes void.
func checkLimits(c *config.Config) []check {
	if c.RequestTimeout <= c.Limits.Deadline {
		return nil
	}
	return []check{{
		Name: "limits", Status: checkNote,
		Detail: fmt.Sprintf("request_timeout (%s) is over deadline (%s), which ends the whole run first", c.RequestTimeout, c.Limits.Deadline),
		Hint:   "raise limits.deadline, or lower limits.request_timeout",
	}}
}
