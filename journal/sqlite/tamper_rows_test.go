package sqlite

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/journaltest"
)

// Whoever changes what stands beside the events, and leaves those as they were,
// is found, and what was changed is named.
func TestTamperedRows(t *testing.T) {
	fresh := newPath(t)
	j, err := Open(t.Context(), fresh, Options{})
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Story(t, j)
	wantWhole(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ change, want string }{
		{`UPDATE runs SET stop = 'verified_success', verified = 'true', turns = 99 WHERE run = 'story-1'`, "run story-1: summary has another stop"},
		{`UPDATE runs SET verified = 'true' WHERE run = 'story-1'`, "run story-1: summary has another verdict"},
		{`UPDATE runs SET turns = turns + 1 WHERE run = 'story-2'`, "run story-2: summary has another number of turns"},
		{`UPDATE runs SET updated_at = updated_at + 1 WHERE run = 'story-1'`, "run story-1: summary changed at another time"},
		{`UPDATE runs SET state = 'running' WHERE run = 'story-3'`, "run story-3: summary has another state"},
		{`UPDATE runs SET waiting_for = 'resolution' WHERE run = 'story-3'`, "run story-3: summary waits for something else"},
		{`UPDATE runs SET due = NULL WHERE run = 'story-3'`, "run story-3: summary waits for something else"},
		{`DELETE FROM resolutions; DELETE FROM effects`, "run story-1: effect ID is gone"},
		{`DELETE FROM effects WHERE run = 'story-4'`, "run story-1: effect ID is gone"},
		{`UPDATE effects SET run = 'story-3' WHERE run = 'story-4'`, "run story-1: effect ID is said to be a run's that did not claim it"},
		{`UPDATE effects SET run = 'story-2' WHERE call = 'c1' AND run = 'story-1'`, "run story-1: effect ID is said to be a run's that did not claim it"},
		{`DELETE FROM resolutions`, "run story-1: effect ID lacks a finding"},
		{`DELETE FROM resolutions WHERE finding = 'landed'`, "run story-2: effect ID lacks a finding"},
		{`UPDATE resolutions SET finding = 'no_effect' WHERE finding = 'landed'`, "run story-2: effect ID lacks a finding"},
		{`UPDATE effects SET state = 'unknown' WHERE run = 'story-1' AND call = 'c1'`, "run story-1: effect ID has another state or result"},
		{`UPDATE effects SET state = 'no_effect' WHERE run = 'story-1' AND call = 'c3'`, "run story-1: effect ID has another state or result"},
		{`UPDATE effects SET state = 'unknown' WHERE run = 'story-2'`, "run story-2: effect ID has another state or result"},
		{`UPDATE effects SET result = x'7b7d' WHERE run = 'story-1' AND call = 'c1'`, "run story-1: effect ID has another state or result"},
		{`UPDATE effects SET result = x'7b7d' WHERE run = 'story-2'`, "run story-2: effect ID has another state or result"},
		{`UPDATE effects SET arguments = x'7b7d' WHERE run = 'story-2'`, "run story-2: effect ID is about something else"},
		{`UPDATE effects SET class = 'idempotent' WHERE run = 'story-2'`, "run story-2: effect ID is about something else"},
		{`UPDATE effects SET fingerprint = 'f' WHERE run = 'story-2'`, "run story-2: effect ID is about something else"},
		{`UPDATE effects SET request = 'r' WHERE run = 'story-2'`, "run story-2: effect ID is about something else"},
		{`UPDATE effects SET attempts = 2 WHERE run = 'story-2'`, "run story-2: effect ID has another number of claims"},
		{`INSERT INTO effects SELECT 'eff_x', run, call, session, tenant, user, tool, 'another', fingerprint, request, arguments, class, state,
			attempts, claimed_at, settled_at, result, facts FROM effects WHERE run = 'story-2'`, "run story-2: effect ID was never claimed by the run"},
		{`DELETE FROM votes; DELETE FROM approvals`, "run story-1: approval ID is gone"},
		{`DELETE FROM votes WHERE by = 'cleo' AND approve = 1`, "run story-1: approval ID was decided otherwise"},
		{`UPDATE votes SET by = 'dora' WHERE by = 'ben'`, "run story-1: approval ID has votes that do not count"},
		{`UPDATE votes SET approve = 1 WHERE approve = 0`, "run story-1: approval ID was decided otherwise"},
		{`UPDATE approvals SET state = 'approved' WHERE state = 'spent'`, "run story-1: approval ID has another state"},
		{`UPDATE approvals SET state = 'approved' WHERE run = 'story-3'`, "run story-3: approval ID has another state"},
		{`UPDATE approvals SET state = 'open' WHERE run = 'story-2'`, "run story-2: approval ID has another state"},
		{`UPDATE approvals SET decided = decided + 1 WHERE run = 'story-2'`, "run story-2: approval ID was decided at another time"},
		{`UPDATE approvals SET arguments = x'7b7d' WHERE run = 'story-3'`, "run story-3: approval ID is about something else"},
		{`UPDATE approvals SET approvers = '{}' WHERE run = 'story-3'`, "run story-3: approval ID is about something else"},
		{`UPDATE approvals SET expires = NULL WHERE run = 'story-3'`, "run story-3: approval ID is about something else"},
		{`DELETE FROM notices WHERE id = 'shown'`, "run story-4: notice ID is gone"},
		{`DELETE FROM notices WHERE id = 'late'`, "run story-4: notice ID is gone"},
		{`UPDATE notices SET text = 'about.shown' WHERE id = 'shown'`, "run story-4: notice ID says something else"},
		{`UPDATE notices SET by = 'ben' WHERE id = 'late'`, "run story-4: notice ID says something else"},
		{`UPDATE notices SET seen_by = NULL WHERE id = 'shown'`, "run story-4: notice ID was seen, and is said to wait or to have been seen elsewhere"},
		{`UPDATE notices SET seen_by = 'story-4' WHERE id = 'late'`, "run story-4: notice ID was not seen by the run that is said to have seen it"},
		{`UPDATE notices SET seen_by = 'story-4' WHERE id = 'waits'`, "run story-4: notice ID was never taken up by the run that is said to have seen it"},
		{`UPDATE notices SET seen_by = 'story-1' WHERE id = 'waits'`, "run story-4: notice ID is said to have been seen by no run of its session"},
		{`UPDATE notices SET seen_by = 'nobody' WHERE id = 'late'`, "run story-4: notice ID is said to have been seen by no run of its session"},
		{`UPDATE approvals SET run = 'story-1' WHERE run = 'story-3'`, "run story-1: approval ID was never asked by the run"},
	} {
		path := newPath(t)
		copyFile(t, fresh, path)
		rawFile(t, path, c.change)
		r, err := OpenReader(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := journal.VerifyAll(t.Context(), r, nil)
		if err != nil || report.Flaw == nil || report.Flaw.Hint == "" {
			t.Errorf("%s:\nfound %v, %v; want %q", c.change, report.Flaw, err, c.want)
		} else if got := strings.Replace(report.Flaw.String(), " "+report.Flaw.ID+" ", " ID ", 1); report.Flaw.ID != "" && got != c.want || report.Flaw.ID == "" && report.Flaw.String() != c.want {
			t.Errorf("%s:\nfound %q; want %q", c.change, got, c.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
