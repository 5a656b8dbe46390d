package tool

import "fmt"

// Join makes one Set of several. A name is the tool of the first set that has
// it, and of tools over MaxTools the later ones are left out: both are named in
// words for people. Where only one of the sets has tools, it is returned itself.
func Join(sets ...*Set) (*Set, []string) {
	var only *Set
	for _, s := range sets {
		switch {
		case len(s.Names()) == 0:
		case only != nil:
			return join(sets)
		default:
			only = s
		}
	}
	return only, nil
}

func join(sets []*Set) (*Set, []string) {
	members := map[string]*member{}
	var taken, over, warnings []string
	for _, s := range sets {
		for _, name := range s.Names() {
			switch {
			case members[name] != nil:
				taken = append(taken, name)
			case len(members) == MaxTools:
				over = append(over, name)
			default:
				members[name] = s.tools[name]
			}
		}
	}
	if len(taken) > 0 {
		warnings = append(warnings, "tools were left out whose names other tools have already: "+listNames(taken))
	}
	if len(over) > 0 {
		warnings = append(warnings, fmt.Sprintf("tools were left out, since a request offers at most %d: %s", MaxTools, listNames(over)))
	}
	return freeze(members), warnings
}
