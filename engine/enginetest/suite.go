// Package enginetest is the suite that every engine passes: processes that are
// killed between any two writes of a run, and in the middle of what it does, on
// a real file. What happened outside is counted outside.
//
// A test binary of an engine calls [Main] first of all in its TestMain, since
// the suite runs that binary as the processes it kills, and [Test] in a test:
//
//	func TestMain(m *testing.M) {
//		enginetest.Main(subject)
//		os.Exit(m.Run())
//	}
//
//	func TestSuite(t *testing.T) { enginetest.Test(t, subject) }
package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
)

// Engine is an engine that can go on with the runs of others.
type Engine interface {
	engine.Engine
	// Work drives what can go on, runs of processes that are gone included, and
	// returns when nothing can.
	Work(ctx context.Context) error
	// Close ends it. Runs that wait for people go on waiting.
	Close() error
}

// Config is what a Subject makes an engine of.
type Config struct {
	Journal journal.Journal
	Agents  func(ctx context.Context, s *engine.Stored) (*engine.Agent, error)
	Lease   time.Duration // how long a run stays with a process that is not heard of
}

// Subject makes the engine under test. It is called in many processes.
type Subject func(Config) (Engine, error)

// lease is short, so that a take-over need not be waited for.
const lease = 600 * time.Millisecond

// Test runs the suite.
func Test(t *testing.T, s Subject) {
	base := undisturbed(t)
	t.Run("killed at each write", func(t *testing.T) { killedAtEachWrite(t, s, base) })
	t.Run("killed in each call", func(t *testing.T) { killedInEachCall(t, s, base) })
	t.Run("relabelled after a kill", func(t *testing.T) { relabelledAfterAKill(t, s) })
	t.Run("killed in a compaction", func(t *testing.T) { killedInACompaction(t, s) })
	t.Run("cancelled after a kill", func(t *testing.T) { cancelledAfterAKill(t, s, base) })
	t.Run("outlived its lease", func(t *testing.T) { outlivedLease(t, s) })
	t.Run("killed again and again", func(t *testing.T) { killedAgainAndAgain(t, s) })
}
