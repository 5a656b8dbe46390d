package skill

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// What is hidden is no part of a skill: no list shows it, no digest counts it,
// nothing here reads it, and an archive that brings it is refused, so that what
// was looked at is all that was installed.

// isHidden reports a name that file managers and shells do not show.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// isLitter reports a path that macOS adds to a folder or an archive of its own
// accord: it belongs to nobody's skill, and is passed over.
func isLitter(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	base := path.Base(name)
	return top == "__MACOSX" || base == ".DS_Store" || strings.HasPrefix(base, "._")
}

// hiddenIn returns the part of a path that is hidden. Empty: none is.
func hiddenIn(name string) string {
	parts := strings.Split(name, "/")
	if i := slices.IndexFunc(parts, isHidden); i >= 0 {
		return parts[i]
	}
	return ""
}

// maxNoted bounds the names of one note.
const maxNoted = 5

// noteOf says what names are. No names: no note.
func noteOf(what string, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	var quoted []string
	for _, name := range names[:min(maxNoted, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%.80q", name))
	}
	if more := len(names) - maxNoted; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return []string{what + ": " + strings.Join(quoted, ", ")}
}
