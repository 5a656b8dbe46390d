// Package journaltest is the one suite that every journal passes.
package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Run tests the journals that open returns. Each must be empty and its own;
// the suite closes it.
func Run(t *testing.T, open func(t *testing.T) journal.Journal) {
	for name, test := range map[string]func(*testing.T, journal.Journal){
		"records come back as they went in":    testRoundTrip,
		"nil content is not empty content":     testNilContent,
		"bytes and text of every kind":         testBytes,
		"a megabyte":                           testMegabyte,
		"instants":                             testInstants,
		"reading on":                           testReadOn,
		"sequence":                             testSequence,
		"one of many wins a sequence number":   testOneWins,
		"all or nothing":                       testAtomic,
		"refused arguments":                    testRefused,
		"a run keeps its identity":             testIdentity,
		"head":                                 testHead,
		"heads: order and limit":               testHeadsOrder,
		"heads: filters":                       testHeadsFilters,
		"heads: two tenants":                   testHeadsOwner,
		"unknown run":                          testUnknown,
		"many runs at once":                    testManyRuns,
		"readers see whole appends":            testReadersSeeWholeAppends,
		"a context that has ended":             testContext,
		"returned slices belong to the reader": testIsolation,
		"after Close":                          testClosed,
		"Close waits for appends":              testCloseWaits,
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t)
			t.Cleanup(func() { _ = j.Close() }) // closed by the test where closing is its subject
			test(t, j)
		})
	}
}

// RunDurable tests journals that outlive their process: Run, and what must be
// there after reopening. Two calls of open with one dir open the same journal.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	Run(t, func(t *testing.T) journal.Journal { return open(t, t.TempDir()) })
	t.Run("reopen", func(t *testing.T) { testReopen(t, open) })
	t.Run("two handles on one journal", func(t *testing.T) { testTwoHandles(t, open) })
}

// epoch is an instant with a digit in every place down to the nanosecond.
func epoch() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC) }

// headOf returns a plausible head for a run.
func headOf(run string) journal.Head {
	return journal.Head{
		Run: run, Session: "session-" + run, Tenant: "acme", User: "alice",
		State: journal.Running, Turns: 1, Question: "How much is 248 × 15?",
		StartedAt: epoch(), UpdatedAt: epoch().Add(time.Second),
	}
}

// recordsOf returns n records from seq on that differ from one another.
func recordsOf(seq int64, n int) []journal.Record {
	records := make([]journal.Record, n)
	for i := range records {
		at := seq + int64(i)
		records[i] = journal.Record{
			Seq: at, At: epoch().Add(time.Duration(at)), Kind: kernel.KindModelReplied,
			Payload: fmt.Appendf(nil, `{"n":%d}`, at), Content: fmt.Appendf(nil, "content %d", at),
		}
	}
	return records
}

// linkOf returns the hash of the last of a run's first records.
func linkOf(run string, records []journal.Record) journal.Hash {
	var link journal.Hash
	for i := range records {
		link = journal.Link(link, run, &records[i])
	}
	return link
}

func mustAppend(t *testing.T, j journal.Journal, head journal.Head, records []journal.Record) {
	t.Helper()
	if err := j.Append(t.Context(), journal.Entry{Head: head, Records: records}); err != nil {
		t.Fatalf("append to %q from %d: %v", head.Run, records[0].Seq, err)
	}
}

func mustRead(t *testing.T, j journal.Reader, run string) []journal.Record {
	t.Helper()
	records, err := j.Read(t.Context(), run, 0, 0)
	if err != nil {
		t.Fatalf("read %q: %v", run, err)
	}
	return records
}

func wantCode(t *testing.T, err error, want kernel.Code) {
	t.Helper()
	if got := kernel.CodeOf(err); got != want {
		t.Errorf("got error %v, want one with the code %s", err, want)
	}
}
