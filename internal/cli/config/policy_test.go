package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// Design section 6: what an ask says of people, and what a run does with what
// nobody knows, is checked before anything starts.
func TestReadRefusesHowPeopleAreAsked(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		line int
		want string // part of the message
		hint string // part of the hint
	}{
		{"short expiry", "policy: [{ask: multiply,\n  expires: 999ms}]", 2, "policy rule 1.expires: must be from 1s to 720h, not 999ms", "give a time from 1s to 720h"},
		{"long expiry", "policy: [{ask: multiply, expires: 721h}]", 1, "must be from 1s to 720h", ""},
		{"expiry as a number", "policy: [{ask: multiply, expires: 24}]", 1, "must be a duration", "unit"},
		{"short grant", "policy: [{ask: multiply, grant: 0s}]", 1, "policy rule 1.grant: must be from 1s to 168h", ""},
		{"long grant", "policy: [{ask: multiply, grant: 169h}]", 1, "must be from 1s to 168h", ""},
		{"on_expiry", "policy: [{ask: multiply, on_expiry: approve}]", 1, "policy rule 1.on_expiry", "known here: refuse, escalate"},
		{"expires of an allow", "policy: [{allow: multiply,\n expires: 24h}]", 2, "policy rule 1.expires: belongs to an ask, and this rule says allow", "{ask: TOOL}"},
		{"approvers of a deny", "policy: [{approvers: {not_asker: false}, deny: multiply}]", 1, "policy rule 1.approvers: belongs to an ask, and this rule says deny", ""},
		{"approvers as a list", "policy: [{ask: multiply, approvers: [ann]}]", 1, "policy rule 1.approvers: must be a mapping, not a list", ""},
		{"unknown key", "policy: [{ask: multiply, approvers: {form: [ann]}}]", 1, `unknown key "form"`, "did you mean from? known here: escalate, from, not_asker, quorum"},
		{"not_asker", "policy: [{ask: multiply, approvers: {not_asker: 1}}]", 1, "must be true or false", ""},
		{"quorum 0", "policy: [{ask: multiply, approvers: {quorum: 0}}]", 1, "must be a whole number from 1 to 10", ""},
		{"quorum 11", "policy: [{ask: multiply, approvers: {quorum: 11}}]", 1, "must be a whole number from 1 to 10", ""},
		{"quorum over from", "policy:\n  - {ask: multiply, approvers: {quorum: 2, from: [ann]}}", 2, "policy rule 1: 2 people must agree, and from names 1", "quorum"},
		{"nobody", "policy: [{ask: multiply, approvers: {from: []}}]", 1, "policy rule 1.approvers.from: names nobody", "leave the key out"},
		{"a name as a number", "policy: [{ask: multiply, approvers: {from: [7]}}]", 1, "must be text", "quotes"},
		{"a name twice", "policy: [{ask: multiply, approvers: {from: [ann, ann]}}]", 1, `names "ann" twice`, "once"},
		{"a blank name", `policy: [{ask: multiply, approvers: {from: [" "]}}]`, 1, "white space", ""},
		{"escalation to nobody", "policy: [{ask: multiply, on_expiry: escalate}]", 1, "nobody is named to escalate to", "escalate"},
		{"escalation that never comes", "policy: [{ask: multiply, approvers: {escalate: [eve]}}]", 1, "an expiry does not escalate", "on_expiry: escalate"},
		{"short lease", "engine: {lease: 500ms}", 1, "engine.lease: must be from 1s to 10m", ""},
		{"long lease", "engine: {lease: 11m}", 1, "engine.lease: must be from 1s to 10m", ""},
		{"engine", "engine: {leese: 10s}", 1, `engine: unknown key "leese"`, "did you mean lease?"},
		{"unknown", "unknown: retry", 1, "unknown: ", "known here: tell, wait"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.text)
			_, err := config.Read(path, tools)
			var e *kernel.Error
			if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration {
				t.Fatalf("got %v, want CONFIGURATION", err)
			}
			if at := fmt.Sprintf("%s:%d: ", path, tt.line); !strings.HasPrefix(e.Message, at) || !strings.Contains(e.Message, tt.want) {
				t.Errorf("message %q, want %q and %q", e.Message, at, tt.want)
			}
			if e.Hint == "" || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("hint %q, want %q", e.Hint, tt.hint)
			}
		})
	}
}

func TestReadBoundsOfAsks(t *testing.T) {
	for _, text := range []string{
		"policy: [{ask: multiply, expires: 1s, grant: 1s}]", "policy: [{ask: multiply, expires: 720h, grant: 168h, approvers: {quorum: 10}}]",
		"policy: [{ask: multiply, approvers: {}}]", "engine: {lease: 1s}", "engine: {lease: 10m}", "engine: {}", "unknown: tell",
	} {
		if _, err := config.Read(write(t, text), tools); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A * in a tool's name is a glob over the whole name, those of servers
// included, which are not known when the file is read. What none of them can
// fit is a slip still.
func TestPatternsOverToolsOfServers(t *testing.T) {
	for _, pattern := range []string{"*delete*", "*", "*_page", "m*page", "mcp*", "mcp__*__delete*", "mcp__docs__search"} {
		c, err := config.Read(write(t, fmt.Sprintf("policy: [{deny: %q}]\nhooks: {before: [{tool: %q, command: [./check]}]}", pattern, pattern)), tools)
		if err != nil || len(c.Policy) != 1 || c.Policy[0].Tool != pattern {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{"delete*", "mcp_d*", "mc_*", "wirte_*", "mcp", "docs__search"} {
		if _, err := config.Read(write(t, fmt.Sprintf("policy: [{deny: %q}]", pattern)), tools); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
