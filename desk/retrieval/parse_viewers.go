package retrieval

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Names are of people. In front matter one name may stand without a list.
type Names []string

// UnmarshalYAML reads a list of names, or one name.
func (n *Names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*n = Names{node.Value}
		return nil
	}
	return node.Decode((*[]string)(n))
}

// Everybody stands in place of names where a file, or a flag, says outright that
// everybody of the tenant may see a policy. It is nobody's name.
const Everybody = "everybody"

// seenBy tells who may see a policy: the people named, or everybody, who need not
// be named (said: they were).
func seenBy(names []string) (viewers []string, said bool, err error) {
	for _, name := range names {
		switch {
		case strings.TrimSpace(name) == "":
			return nil, false, errors.New("viewers have names, and one of them has none")
		case strings.ContainsAny(name, ",，、;；"):
			return nil, false, fmt.Errorf("viewer says %.80q, and a name has no commas: write a list, or the flag once for each", name)
		}
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
