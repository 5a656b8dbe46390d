//go:build race

package sim

// defaultSeeds is how many seeds are simulated where nobody says. The race
// detector has little to find where one thing happens at a time, and makes that
// ten times slower.
const defaultSeeds = 100
