package sim

import (
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/journal/sqlite"
)

// Both journals are asked the same, and answer the same, to the last hash.
func TestSQLiteDoesTheSame(t *testing.T) {
	s := simulator(t)
	for seed := uint64(1); seed <= 12; seed++ {
		want := s.Run(seed, Options{})
		j, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := s.Run(seed, Options{Journal: j})
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if got.Broken != nil || got.Digest != want.Digest || got.Steps != want.Steps {
			t.Errorf("seed %d: %d steps to %s in memory, and %d to %s on file: %v", seed, want.Steps, want.Digest, got.Steps, got.Digest, got.Broken)
		}
	}
}
