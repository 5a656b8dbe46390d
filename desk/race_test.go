//go:build race

package desk_test

// atOnce is how many ask at once. The race detector makes each ten times as slow.
const atOnce = 40
