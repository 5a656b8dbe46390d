//go:build linux || darwin

package mcp_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The tests' servers are this very program, started again with a mode in its
// environment.
func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		os.Exit(serve(mode))
	}
	goleak.VerifyTestMain(m)
}
