package config

import (
	"maps"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// hintFor names the known word that is nearest to a wrong one, and all of
// them. known is not empty.
func hintFor(wrong string, known []string) string {
	list := "known here: " + strings.Join(known, ", ")
	best, distance := "", 3 // more than two edits are another word
	for _, k := range known {
		if d := edits(strings.ToLower(wrong), k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return list
	}
	return "did you mean " + best + "? " + list
}

// edits is the number of single-byte insertions, deletions and replacements
// between a and b. Words that differ by three bytes or more in length are not
// measured.
func edits(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
