// Package journaltest is the one suite that every journal passes.
package journaltest

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Run tests the journals that open returns. Each must be empty and its own;
// the suite closes it.
func Run(t *testing.T, open func(t *testing.T) journal.Journal) {
	for name, test := range tests() {
		t.Run(name, func(t *testing.T) {
			j := open(t)
			t.Cleanup(func() { _ = j.Close() }) // closed by the test where closing is its subject
			test(t, j)
		})
	}
}

func tests() map[string]func(*testing.T, journal.Journal) {
	all := map[string]func(*testing.T, journal.Journal){
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
		"nothing after a stop":                 testNothingAfterStop,
		"head":                                 testHead,
		"head: what a run waits for":           testHeadWaits,
		"heads: order and limit":               testHeadsOrder,
		"heads: filters":                       testHeadsFilters,
		"heads: states":                        testHeadsState,
		"heads: signalled":                     testHeadsSignalled,
		"heads: two tenants":                   testHeadsOwner,
		"unknown run":                          testUnknown,
		"many runs at once":                    testManyRuns,
		"readers see whole appends":            testReadersSeeWholeAppends,
		"a context that has ended":             testContext,
		"returned slices belong to the reader": testIsolation,
		"after Close":                          testClosed,
		"Close waits for appends":              testCloseWaits,
		"ready runs":                           testReady,
		"ready runs: order":                    testReadyOrder,
		"links":                                testLinks,
		"seals":                                testSeals,
		"seals of many runs at once":           testSealsOfMany,
		"changes":                              testChanges,
		"what stands beside the events":        testVerified,
	}
	maps.Copy(all, entryTests())
	maps.Copy(all, leaseTests())
	maps.Copy(all, ledgerTests())
	maps.Copy(all, approvalTests())
	return all
}

func entryTests() map[string]func(*testing.T, journal.Journal) {
	return map[string]func(*testing.T, journal.Journal){
		"entry: every part":                     testAllParts,
		"entry: the first":                      testFirstEntry,
		"entry: parts belong to the journal":    testPartsIsolation,
		"signals: once for each id":             testSignals,
		"signals: taken up":                     testApplied,
		"signals: heard before a stop":          testHeard,
		"signals: refused":                      testSendRefused,
		"signals: many at once":                 testSendRace,
		"notices: once for each id":             testNotices,
		"notices: reach the session's runs":     testNoticesReach,
		"notices: bounded":                      testNoticesBounded,
		"notices: refused":                      testNoticesRefused,
		"notices: many at once":                 testNoticesRace,
		"sessions are serial":                   testSession,
		"sessions: one of many opens":           testSessionRace,
		"sessions: no run is overtaken":         testSessionOvertaken,
		"sessions: the earlier runs":            testSessionRuns,
		"approvals: as they were asked":         testAsk,
		"approvals: refused questions":          testAskInvalid,
		"approvals: closed":                     testCloseApproval,
		"approvals: not closed":                 testCloseRefused,
		"approvals: spent once, on the content": testSpend,
		"approvals: what can be spent":          testSpendStates,
		"approvals: queries":                    testApprovalsQuery,
	}
}

func leaseTests() map[string]func(*testing.T, journal.Journal) {
	return map[string]func(*testing.T, journal.Journal){
		"lease: taken by the first entry":  testLeaseBegins,
		"lease: renewed by appends":        testLeaseRenewedByAppend,
		"lease: taken over":                testTakeOver,
		"lease: acquired again":            testAcquireAgain,
		"lease: not acquired":              testAcquireRefused,
		"lease: renewed":                   testRenew,
		"lease: given back":                testRelease,
		"lease: one of many":               testAcquireRace,
		"lease: of a clock that was wrong": testLeaseTooLong,
	}
}

func ledgerTests() map[string]func(*testing.T, journal.Journal) {
	return map[string]func(*testing.T, journal.Journal){
		"claim":                                testClaim,
		"claim: invalid":                       testClaimInvalid,
		"claim: a key that is known":           testSameKey,
		"claim: a key of another run":          testSameKeyAcrossRuns,
		"claim: an equal request":              testEqualRequest,
		"claim: a free key is no way past":     testFreeKeyIsNoWayPast,
		"claim: the window of the latest":      testWindowOfTheLatest,
		"claim: exclusive":                     testExclusive,
		"claim: exclusive and idempotent":      testExclusiveIdempotent,
		"claim: of others":                     testClaimsOfOthers,
		"claim: one of many":                   testClaimRace,
		"settled":                              testSettle,
		"settle: a doubt stays":                testDoubtStays,
		"settled: refused":                     testSettleRefused,
		"settled: by who lost it":              testSettleAfterTakeOver,
		"settled: and claimed in one entry":    testSettleThenClaim,
		"settled: stored bytes":                testStoredBytes,
		"resolved":                             testResolve,
		"resolved: refused":                    testResolveRefused,
		"resolved: after the stop":             testResolveAfterStop,
		"resolved: one of many":                testResolveRace,
		"effects: queries":                     testEffectsQuery,
		"effects: claimed at the same instant": testEffectsOfOneInstant,
	}
}

func approvalTests() map[string]func(*testing.T, journal.Journal) {
	return map[string]func(*testing.T, journal.Journal){
		"decided":                     testDecide,
		"decided: who, what and when": testVotes,
		"decided: by a quorum":        testQuorum,
		"decided: already":            testAlreadyDecided,
		"decided: one of many":        testDecideRace,
		"decided: or expired":         testDecideAgainstClose,
		"decided: after the stop":     testDecideAfterStop,
	}
}

// RunDurable tests journals that outlive their process: Run, and what must be
// there after reopening. Two calls of open with one dir open the same journal.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	Run(t, func(t *testing.T) journal.Journal { return open(t, t.TempDir()) })
	t.Run("reopen", func(t *testing.T) { testReopen(t, open) })
	t.Run("reopen with everything", func(t *testing.T) { testReopenAll(t, open) })
	t.Run("two handles on one journal", func(t *testing.T) { testTwoHandles(t, open) })
	t.Run("two handles at once", func(t *testing.T) { testTwoHandlesRace(t, open) })
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

// linkOf returns the hash of the last of the first records of a run that
// begins with a head.
func linkOf(head *journal.Head, records []journal.Record) journal.Hash {
	link := journal.Origin(head)
	for i := range records {
		link = journal.Link(link, head.Run, &records[i])
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
