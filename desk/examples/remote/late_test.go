package remote

import (
	"testing"
	"time"
)

// Keys of requests that may still arrive are kept for as long as they may.
func TestLate(t *testing.T) {
	l := late{settle: time.Minute, since: map[string]time.Time{}}
	now := time.Now()
	l.add("T1", now)
	l.add("T2", now.Add(time.Minute))
	if !l.over("T1") || l.over("T1") {
		t.Error("T1 may arrive, once")
	}
	l.add("T1", now)
	l.add("T3", now.Add(3*time.Minute))
	if len(l.since) != 1 || l.over("T2") || !l.over("T3") {
		t.Errorf("kept: %v", l.since)
	}
}
