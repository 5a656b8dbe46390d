package tool

import "strings"

// names are those that a schema gives to arguments.
type names struct {
	top    map[string]bool // of the arguments themselves
	inside map[string]bool // at any depth: which schema holds for an inner object depends on its values
}

// namesOf collects the names of a schema, whose face shows those of the arguments.
func namesOf(face, doc map[string]any) *names {
	n := &names{top: map[string]bool{}, inside: map[string]bool{}}
	properties, _ := face["properties"].(map[string]any)
	for name := range properties {
		n.top[name], n.inside[name] = true, true
	}
	n.collect(doc)
	return n
}

func (n *names) collect(v any) {
	switch v := v.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name := range properties {
			n.inside[name] = true
		}
		for _, member := range v {
			n.collect(member)
		}
	case []any:
		for _, item := range v {
			n.collect(item)
		}
	}
}

// twins finds an argument, or a member at any depth, that nothing names beside one
// that is named and differs from it in case alone. Rules look at the one, and a program
// that does not tell them apart, as many do, would act on the other. nil: none.
func (n *names) twins(args map[string]any) (name, other string, found bool) {
	if n == nil {
		return "", "", false
	}
	if name, other, found = twinsOf(args, n.top); found {
		return name, other, found
	}
	for _, member := range args {
		if name, other, found = n.below(member); found {
			return name, other, found
		}
	}
	return "", "", false
}

// below looks for twins in a value, whose depth is bounded.
func (n *names) below(v any) (name, other string, found bool) {
	switch v := v.(type) {
	case map[string]any:
		if name, other, found = twinsOf(v, n.inside); found {
			return name, other, found
		}
		for _, member := range v {
			if name, other, found = n.below(member); found {
				return name, other, found
			}
		}
	case []any:
		for _, item := range v {
			if name, other, found = n.below(item); found {
				return name, other, found
			}
		}
	}
	return "", "", false
}

func twinsOf(members map[string]any, named map[string]bool) (name, other string, found bool) {
	if len(members) < 2 {
		return "", "", false
	}
	spelled := map[string]string{}
	for name := range members {
		if named[name] {
			spelled[folded(name)] = name
		}
	}
	for name := range members {
		if named[name] {
			continue
		}
		if other, taken := spelled[folded(name)]; taken {
			return name, other, true
		}
	}
	return "", "", false
}

// folded is the same for names that differ in case alone, as encoding/json sees it.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
