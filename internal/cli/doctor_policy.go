package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	var depending []string
	for _, name := range offered(c) {
		d, err := rules.Decide(ctx, policy.Request{Tool: name})
		switch {
		case err != nil:
		case depends(c.Policy, name):
			depending = append(depending, name)
		case d.Answer == kernel.Deny:
			note(fmt.Sprintf("every call of %s is denied, by %s", name, d.Rule),
				fmt.Sprintf("write {allow: %s} or {ask: %s} into policy, or take it out of %s", name, name, pick(slices.Contains(c.Tools, name), "tools", "the file: it comes with skills")))
		}
	}
	for i, r := range c.Policy {
		of := fmt.Sprintf("policy rule %d: %s %s", i+1, r.Answer, r.Tool)
		switch {
		case slices.ContainsFunc(offered(c), r.Matches) || ofServer(c, r.Tool):
		case strings.HasPrefix(r.Tool, "mcp__"):
			note(of+" matches no tool of a server that is configured", "add the server under mcp, or take the rule out")
		default:
			note(of+" matches no tool that is listed", "list the tool, or take the rule out")
		}
	}
	if len(depending) > 0 {
		checks = append(checks, check{Name: "policy", Status: checkOK,
			Detail: "depends on the call: " + strings.Join(depending, ", ") + " (holdfast policy explain TOOL ARGS)"})
	}
	return checks
}

// depends reports whether a condition has a say about the tool's calls: one of a
// rule that comes before every other that is sure to count.
func depends(rules []policy.Rule, tool string) bool {
	conditional, granted := false, false
	for i := range rules {
		r := &rules[i]
		switch {
		case !r.Matches(tool) || granted && r.Answer != kernel.Deny:
		case r.When != "":
			conditional = true
		case r.Answer == kernel.Deny:
			return false // whatever the others say
		default:
			granted = true
		}
	}
	return conditional
}

// ofServer reports whether a pattern may be about tools of a server that is
// configured. What tools it has is not known before it is started.
func ofServer(c *config.Config, pattern string) bool {
	begins, _, _ := strings.Cut(pattern, "*")
	for name := range c.MCP {
		server := "mcp__" + name + "__"
		if strings.HasPrefix(begins, server) || strings.HasPrefix(server, begins) && begins != pattern {
			return true
		}
	}
	return false
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
