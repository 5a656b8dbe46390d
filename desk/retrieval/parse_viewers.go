package retrieval

import "fmt"

// Everybody stands in place of names where a file, or a flag, says outright that
// everybody of the tenant may see a policy. It is nobody's name.
const Everybody = "everybody"

// seenBy tells who may see a policy: the people named, or everybody, who need not
// be named (said: they were).
func seenBy(names []string) (viewers []string, said bool, err error) {
	for _, name := range names {
		said = said || name == Everybody
	}
	switch {
	case said && len(names) > 1:
		return nil, false, fmt.Errorf("viewer says %s, and names people", Everybody)
	case said:
		return nil, true, nil
	}
	return names, false, nil
}
