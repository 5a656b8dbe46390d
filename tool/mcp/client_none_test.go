//go:build !npm && (linux || darwin)

package mcp_test

// asClient is for the conformance suite, which is not part of these tests: see
// CONTRIBUTING.md.
func asClient(string) (code int, is bool) { return 0, false }
