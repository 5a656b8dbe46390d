package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		if err := aboutSomething(item, rule, known); err != nil {
			return err
		}
		c.PolicyPlaces = append(c.PolicyPlaces, fmt.Sprintf("%s:%d", item.doc.file, item.node.Line))
		c.Policy = append(c.Policy, rule.WithDefaults())
		return nil
	})
}

// aboutSomething refuses a rule, or a hook, that is about no tool that there can
// be: it is a slip, and where it was to keep something out, a hole.
func aboutSomething(item value, rule policy.Rule, known []string) error {
	known = slices.Concat(known, skillTools())
	if slices.ContainsFunc(known, rule.Matches) || ofMCP(rule.Tool) {
		return nil
	}
	what := "unknown tool"
	if strings.Contains(rule.Tool, "*") {
		what = "no tool is named like"
	}
	return item.fail(hintFor(rule.Tool, known), "%s %.80q", what, rule.Tool)
}

// defaultPolicyDir holds rules where nothing names another folder.
const defaultPolicyDir = "policy"

// SuggestedRules is the file of that folder whose rules come first, in front of
// those of the configuration file: it is for calls that would else be asked about.
// What a rule denies it cannot let through.
const SuggestedRules = "suggested.yaml"

// maxPolicyFiles bounds the files of a folder of rules.
const maxPolicyFiles = 100

// readPolicyDir adds the rules of a folder, file by file in the order of their
// names, behind those of the file itself, but for SuggestedRules. Of the default
// folder it does not matter whether it is there.
func (c *Config) readPolicyDir(doc *document, known []string) error {
	path := filepath.Join(c.Dir, defaultPolicyDir)
	here := doc.at("policy_dir")
	_, named := doc.nodes["policy_dir"]
	if named {
		name, err := nonEmpty(here)
		if err != nil {
			return err
		}
		path = c.resolve(name)
	}
	c.PolicyDir = path
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case err != nil:
		return here.fail("make the folder, or name another one with policy_dir", "the folder of rules %.200q cannot be read", path)
	}
	files := 0
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".yaml" && ext != ".yml" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if files++; files > maxPolicyFiles {
			return here.fail("put more rules into one file", "there are over %d files of rules in %.200q", maxPolicyFiles, path)
		}
		if err := c.readPolicyFile(filepath.Join(path, e.Name()), known); err != nil {
			return err
		}
	}
	return nil
}

// readPolicyFile adds the rules of one file: a list, as in policy.
func (c *Config) readPolicyFile(path string, known []string) error {
	text, err := readBounded(path)
	if err != nil {
		return err
	}
	doc, root, err := parse(path, text)
	if err != nil || root == nil {
		return err
	}
	var behind []policy.Rule
	var places []string
	if filepath.Base(path) == SuggestedRules {
		behind, places, c.Policy, c.PolicyPlaces = c.Policy, c.PolicyPlaces, nil, nil
	}
	err = c.decodePolicy(value{doc: doc, node: root, path: "policy"}, known)
	c.Policy, c.PolicyPlaces = append(c.Policy, behind...), append(c.PolicyPlaces, places...)
	return err
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
		"when":      into(&rule.When, nonEmpty),
		"risk":      into(&rule.Risk, choice(kernel.RiskLow, kernel.RiskMedium, kernel.RiskHigh)),
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
