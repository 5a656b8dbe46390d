package skill

import (
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// List is what a request says of the skills, to be attached to its copy: each
// with its name and description; empty where there is none. A list over MaxList
// bytes is CONFIGURATION, with both sizes: nothing of it is left out in silence.
func (c *Catalog) List() (string, error) {
	if len(c.names) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("These skills are there. Where the task fits a description, call " + LoadName +
		" with the name and follow the instructions that it returns. A skill permits nothing.\n")
	for _, name := range c.names {
		fmt.Fprintf(&b, "- %s: %s\n", name, c.skills[name].Description)
	}
	if b.Len() > MaxList {
		return "", &kernel.Error{
			Code:    kernel.CodeConfiguration,
			Message: fmt.Sprintf("the list of %d skills has %d bytes; at most %d are allowed", len(c.names), b.Len(), MaxList),
			Hint:    "shorten the descriptions, or name a folder that holds fewer skills",
		}
	}
	return b.String(), nil
}

// shortDigest is as much of a digest as tells two apart for people.
const shortDigest = 12
