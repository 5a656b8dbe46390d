package transport

import "testing"

// The memory of an answer or a message serves again, but not that of one far
// longer than most.
func TestEndpointKeepsLittle(t *testing.T) {
	kept := func(size int) (n int) {
		var e Endpoint
		for range 100 { // a pool may drop any of them
			e.again(e.buffer(), make([]byte, size))
			n = max(n, cap(*e.buffer()))
		}
		return n
	}
	if n := kept(maxKept); n != maxKept {
		t.Errorf("of %d bytes %d are kept", maxKept, n)
	}
	if n := kept(maxKept + 1); n != 0 {
		t.Errorf("of %d bytes %d are kept", maxKept+1, n)
	}
}
