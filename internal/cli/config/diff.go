package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// Diff says how a configuration that was kept with a run differs from another
// one: a line a difference, as `key: old -> new`, in the order of the keys and
// policy last. What means the same is no difference. Lines are short, hold no
// secret, and nothing that moves a cursor. Both configurations are complete (see Complete).
func Diff(kept, now *Config) []string {
	old, other := settings(kept), settings(now)
	keys := maps.Clone(old)
	maps.Copy(keys, other)
	var lines []string
	for _, key := range sortedKeys(keys) {
		if old[key] != other[key] {
			lines = append(lines, change(key, old[key], other[key]))
		}
	}
	return append(lines, diffRules(ruleTexts(kept.Policy), ruleTexts(now.Policy))...)
}

// settings are what a configuration says, but for its policy, by the paths of
// the keys.
func settings(c *Config) map[string]string {
	s := c.stored()
	s.Policy, s.PolicyDir = nil, "" // the rules are compared, wherever they stand
	s.Limits.LastTurn = cmp.Or(s.Limits.LastTurn, kernel.LastTurnRun)
	s.Unknown = cmp.Or(s.Unknown, kernel.UnknownTell)
	context := c.Context.Said()
	s.Context = storeContext(&context)
	s.Model.Profile = cmp.Or(s.Model.Profile, kernel.Strict)
	if s.Model.SecretQuery {
		s.Model.SecretQuery, s.Model.BaseURL = false, s.Model.BaseURL+"?"+hidden
	}
	s.Sandbox = s.Sandbox.withDefaults()
	for name, p := range s.Programs {
		p.Effect = cmp.Or(p.Effect, kernel.Once)
		s.Programs[name] = p
	}
	found := map[string]string{}
	if b, err := json.Marshal(s); err == nil { // what Stored can encode
		flatten(found, "", b)
	}
	delete(found, "version")
	delete(found, "dir") // what follows from it shows in file and workspace
	return found
}

// flatten notes what stands below a path, a mapping's members each for itself.
func flatten(found map[string]string, path string, raw json.RawMessage) {
	var members map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &members) != nil {
		found[path] = leaf(raw)
		return
	}
	for name, member := range members {
		flatten(found, strings.TrimPrefix(path+"."+name, "."), member)
	}
}

// leaf writes a value for people.
func leaf(raw json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return word(text)
	case json.Unmarshal(raw, &list) == nil:
		return words(list)
	}
	if text = string(raw); !printable(text) {
		return strconv.Quote(text)
	}
	return text
}

// word writes a text as it is where that is clear, and else in quotes.
func word(s string) string {
	if s == "" || !printable(s) || strings.TrimSpace(s) != s || strings.Contains(s, `"`) {
		return strconv.Quote(s)
	}
	return s
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// diffRules compares two lists of rules where they differ: what they begin and
// end with is passed over, so that a rule that came in between is one line.
func diffRules(old, now []string) (lines []string) {
	first := 0
	for first < min(len(old), len(now)) && old[first] == now[first] {
		first++
	}
	last := 0
	for last < min(len(old), len(now))-first && old[len(old)-1-last] == now[len(now)-1-last] {
		last++
	}
	old, now = old[first:len(old)-last], now[first:len(now)-last]
	for i := range max(len(old), len(now)) {
		var a, b string
		if i < len(old) {
			a = old[i]
		}
		if i < len(now) {
			b = now[i]
		}
		if a != b {
			lines = append(lines, change(fmt.Sprintf("policy rule %d", first+i+1), a, b))
		}
	}
	return lines
}

func ruleTexts(rules []policy.Rule) []string {
	texts := make([]string, len(rules))
	for i := range rules {
		texts[i] = RuleText(rules[i].WithDefaults())
	}
	return texts
}

// RuleText writes a rule as the file does.
func RuleText(r policy.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%s: %s", r.Answer, r.Tool)
	if r.When != "" {
		b.WriteString(", when: " + strconv.Quote(r.When))
	}
	if r.Risk != "" {
		b.WriteString(", risk: " + string(r.Risk))
	}
	if r.Reason != "" {
		b.WriteString(", reason: " + strconv.Quote(r.Reason))
	}
	if r.Answer == kernel.Ask {
		fmt.Fprintf(&b, ", expires: %s, on_expiry: %s, grant: %s", short(r.Expires), r.OnExpiry, short(r.Grant))
		if who := approversText(&r.Approvers); who != "" {
			b.WriteString(", approvers: {" + who + "}")
		}
	}
	return b.String() + "}"
}

func approversText(a *kernel.Approvers) string {
	var parts []string
	if a.NotAsker {
		parts = append(parts, "not_asker: true")
	}
	if a.Quorum > 1 {
		parts = append(parts, "quorum: "+strconv.Itoa(a.Quorum))
	}
	for _, list := range []struct {
		name  string
		names []string
	}{{"from", a.From}, {"escalate", a.Escalate}} {
		if len(list.names) > 0 {
			parts = append(parts, list.name+": "+words(list.names))
		}
	}
	return strings.Join(parts, ", ")
}

func words(list []string) string {
	shown := make([]string, len(list))
	for i, s := range list {
		if shown[i] = word(s); strings.ContainsAny(s, ",[]{}") {
			shown[i] = strconv.Quote(s)
		}
	}
	return "[" + strings.Join(shown, ", ") + "]"
}

// The room of a value in a line, and what of it is shown before the first
// difference, in characters.
const (
	maxShown = 160
	before   = 20
)

// change is one line. An empty value is one that is not there.
func change(key, old, now string) string {
	a, b := []rune(cmp.Or(old, "(unset)")), []rune(cmp.Or(now, "(unset)"))
	start := 0
	if len(a) > maxShown || len(b) > maxShown {
		for start < min(len(a), len(b)) && a[start] == b[start] {
			start++
		}
		start = max(0, start-before)
	}
	return key + ": " + window(a, start) + " -> " + window(b, start)
}

func window(text []rune, start int) string {
	shown := text[start:]
	tail := ""
	if len(shown) > maxShown {
		shown, tail = shown[:maxShown], "…"
	}
	if start > 0 {
		return "…" + string(shown) + tail
	}
	return string(shown) + tail
}
