//go:build linux || darwin

package mcp_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The tests' servers are this very program, started again with a mode in its
// environment, and so is the client that the conformance suite tests.
func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		if code, is := asClient(mode); is {
			os.Exit(code)
		}
		os.Exit(serve(mode))
	}
	goleak.VerifyTestMain(m)
}
