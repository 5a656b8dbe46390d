//go:build !race

package sim

// defaultSeeds is how many seeds are simulated where nobody says.
const defaultSeeds = 2000
