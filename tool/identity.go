package tool

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Identity reaches a tool in its Call, from the host. A name that would let a
// model say who acts is refused wherever a schema speaks of it, at any depth
// and whether or not that part is ever applied, in the fields of a typed
// function's arguments, and once more in each call.

// isIdentity reports whether a name is one. The list is exact, but for case
// (of ASCII), "_" and "-".
func isIdentity(name string) bool {
	var plain [len("principalid")]byte // the longest of them
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case n == len(plain):
			return false
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		plain[n] = c
		n++
	}
	switch string(plain[:n]) {
	case "actor", "actorid", "caller", "callerid", "identity", "identityid", "onbehalfof",
		"principal", "principalid", "tenant", "tenantid", "user", "userid":
		return true
	}
	return false
}

// matchesIdentity reports whether a pattern for names lets one of them in, in
// a spelling that is in use. A call is checked for all spellings.
func matchesIdentity(pattern string) bool {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false // no schema compiles with it
	}
	return slices.ContainsFunc(spellings(), re.MatchString)
}

// spellings are those of identities that are in use.
func spellings() []string {
	all := []string{"onbehalfof", "on_behalf_of", "on-behalf-of", "onBehalfOf", "OnBehalfOf", "ON_BEHALF_OF"}
	for _, who := range []string{"actor", "caller", "identity", "principal", "tenant", "user"} {
		title, upper := strings.ToUpper(who[:1])+who[1:], strings.ToUpper(who)
		all = append(all, who, title, upper)
		for _, id := range []string{"id", "_id", "-id", "Id", "ID", "_ID"} {
			all = append(all, who+id, title+id, upper+id)
		}
	}
	return all
}

func refusedIdentity(name string) string {
	return "argument " + showName(name) + " is refused: identity comes from the host, never from the model"
}

// identityName returns the first of the names, in order, that is an identity.
func identityName(named map[string]any) (first string, found bool) {
	for name := range named {
		if isIdentity(name) && (!found || name < first) {
			first, found = name, true
		}
	}
	return first, found
}

// identityInSchema returns an identity that a schema speaks of. It looks at
// each object of the document as if it were a schema, since a reference can
// make it one.
func identityInSchema(doc any) (string, bool) {
	switch doc := doc.(type) {
	case map[string]any:
		if name, found := identityInKeywords(doc); found {
			return name, true
		}
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			if name, found := identityInSchema(doc[key]); found {
				return name, true
			}
		}
	case []any:
		for _, item := range doc {
			if name, found := identityInSchema(item); found {
				return name, true
			}
		}
	}
	return "", false
}

// identityInKeywords looks at the keywords that name arguments.
func identityInKeywords(schema map[string]any) (string, bool) {
	var names []string
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas", "dependencies"} {
		members, _ := schema[keyword].(map[string]any)
		for name, value := range members {
			names = append(names, name)
			names = append(names, textsOf(value)...)
		}
	}
	names = append(names, textsOf(schema["required"])...)
	patterns, _ := schema["patternProperties"].(map[string]any)
	of, _ := schema["propertyNames"].(map[string]any)
	names = append(names, textsOf(of["enum"])...)
	names = append(names, textsOf([]any{of["const"]})...)
	slices.Sort(names)
	if i := slices.IndexFunc(names, isIdentity); i >= 0 {
		return names[i], true
	}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if matchesIdentity(pattern) {
			return pattern, true
		}
	}
	return "", false
}

// textsOf returns the texts of a list.
func textsOf(v any) []string {
	list, _ := v.([]any)
	var texts []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
