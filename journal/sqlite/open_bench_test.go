package sqlite

import "testing"

// BenchmarkOpen opens and closes a journal: one that is not there yet, and one
// that is.
func BenchmarkOpen(b *testing.B) {
	open := func(path string) {
		j, err := Open(b.Context(), path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			open(newPath(b))
		}
	})
	b.Run("known", func(b *testing.B) {
		path := newPath(b)
		open(path)
		for b.Loop() {
			open(path)
		}
	})
}
