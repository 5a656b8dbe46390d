//go:build !race

package desk_test

// atOnce is how many ask at once.
const atOnce = 200
