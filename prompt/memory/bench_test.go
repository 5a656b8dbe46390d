//go:build linux || darwin

package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/prompt/memory"
)

// What memory costs a request: the confirmed files are read and hashed again,
// and what is only proposed costs nothing.
func BenchmarkAttach(b *testing.B) {
	for _, proposed := range []int{0, 500} {
		b.Run(fmt.Sprintf("100 confirmed, %d proposed", proposed), func(b *testing.B) {
			dir := b.TempDir()
			m, err := memory.Open(memory.Config{Project: filepath.Join(dir, "project"), User: filepath.Join(dir, "user")})
			if err != nil {
				b.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "project"), 0o700); err != nil {
				b.Fatal(err)
			}
			for i := range 100 + proposed {
				name := fmt.Sprintf("n%03d", i)
				if err := os.WriteFile(filepath.Join(dir, "project", name+".md"), []byte("Use tabs, and name a test for what it proves. "+name), 0o600); err != nil {
					b.Fatal(err)
				}
				if i >= 100 {
					continue
				}
				e, err := m.Find(b.Context(), name, nil)
				if err == nil {
					_, err = m.Confirm(b.Context(), e, e.Hash, "eve")
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if all, err := m.Attach(b.Context(), prompt.AttachRequest{User: "ann"}); err != nil || len(all) != 100 {
					b.Fatalf("%d, %v", len(all), err)
				}
			}
		})
	}
}
