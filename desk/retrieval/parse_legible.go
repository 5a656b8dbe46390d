package retrieval

import (
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/desk/internal/unseen"
)

// legible returns s as people see it: without white space around it and without
// characters that take no room. A text that would show something else than it
// says, or that somebody has already lost characters of, is an error.
func legible(s string) (string, error) {
	line := 1
	for _, r := range s {
		if why := unseen.Why(r); why != "" {
			return "", fmt.Errorf("line %d holds %U, %s", line, r, why)
		}
		if r == '\n' {
			line++
		}
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r != '\r' && unseen.BreaksLine(r):
			return '\n'
		case unseen.TakesNoRoom(r):
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s), nil
}
