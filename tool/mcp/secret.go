//go:build linux || darwin

package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/tool"
)

// secrets are what a server was given and what is not to be repeated, the longest
// first.
type secrets struct {
	// keys are the values that came out of the host's environment: not in errors, and
	// not in results either, which models see and journals keep.
	keys []string
	// all are the keys and what the configuration itself gives: not in errors. A
	// result may well speak of a folder that it was configured with.
	all []string
}

// leastSecret is the length in bytes below which a value is not hidden: it would
// only garble the text.
const leastSecret = 6

const hidden = "[secret]"

func secretsOf(c Server, getenv func(string) string) secrets {
	var s secrets
	variables := slices.Concat(slices.Collect(maps.Values(c.HeadersEnv)), slices.Collect(maps.Values(c.EnvFrom)))
	if c.OAuth != nil && c.OAuth.SecretEnv != "" {
		variables = append(variables, c.OAuth.SecretEnv)
	}
	for _, variable := range variables {
		value := getenv(variable)
		s.keys = append(s.keys, forms(value)...)
		if _, token, ok := strings.Cut(value, " "); ok { // of "Bearer TOKEN"
			s.keys = append(s.keys, forms(token)...)
		}
	}
	s.all = slices.Clone(s.keys)
	for _, value := range c.Env {
		s.all = append(s.all, forms(value)...)
	}
	for _, list := range [][]string{s.keys, s.all} {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return s
}

// forms are what a value looks like where it is repeated: as it is, line by line,
// and inside of JSON.
func forms(value string) []string {
	found := []string{value}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			found = append(found, strings.TrimSpace(line))
		}
	}
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		_ = enc.Encode(value) // a text always has a JSON form
		if quoted := strings.TrimSpace(b.String()); len(quoted) > 2 {
			found = append(found, quoted[1:len(quoted)-1])
		}
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(s string) bool { return len(s) < leastSecret })
}

func hide(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// hideIn hides secrets in the texts of what came out of JSON, in place where that
// can be.
func hideIn(v any, secrets []string) any {
	switch v := v.(type) {
	case string:
		return hide(v, secrets)
	case []any:
		for i := range v {
			v[i] = hideIn(v[i], secrets)
		}
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(v)) {
			member := hideIn(v[key], secrets)
			delete(v, key)
			v[hide(key, secrets)] = member
		}
	}
	return v
}

// redact takes out what is secret, and what no line can hold. Nothing may be cut
// off before: half a secret is not found.
func (s *server) redact(text string) string {
	text = hide(tool.Clean(text), s.secrets.all)
	if s.config.URL != "" {
		text = strings.ReplaceAll(text, s.config.URL, safeURL(s.config.URL))
	}
	text, _ = tool.Bound(strings.Join(strings.Fields(text), " "), maxReason)
	return text
}
