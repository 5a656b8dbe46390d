package sqlite_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes the test binary the process too that crash_test.go kills, and
// the one that full_test.go leaves without room.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == confirmAndStall {
		os.Exit(confirmer(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == cramped {
		os.Exit(crampedDesk(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}
