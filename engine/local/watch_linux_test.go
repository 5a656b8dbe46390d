package local_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal/memory"
)

// Whoever watches a run whose process has ended is not kept until its lease
// ends.
func TestWatchOfTheDead(t *testing.T) {
	j := memory.New()
	last := begins(t, j, &engine.Agent{})
	head, err := j.Head(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(head.Lease.Owner, "/")
	parts[2] += "1" // another process, which had this one's number
	now := time.Now()
	if _, err := j.Acquire(t.Context(), "r", strings.Join(parts, "/"), now.Add(time.Minute), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seen := 0
	for u, err := range open(t, j).Watch(ctx, "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen = int(u.Seq)
	}
	if seen != last {
		t.Errorf("watched to record %d of %d", seen, last)
	}
}
