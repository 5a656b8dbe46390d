package sqlite

import (
	"testing"

	"github.com/holdfast-run/holdfast/journal"
)

// Whoever changes the file with another program, and leaves the hashes as they
// were, is found, and the first place is named.
func TestTampered(t *testing.T) {
	fresh := newPath(t)
	j, err := Open(t.Context(), fresh, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"a", "b", "c"} {
		mustAppend(t, j, run, 1, 3)
	}
	stopped := headOf("a")
	stopped.State = journal.Stopped
	if err := j.Append(t.Context(), journal.Entry{Head: stopped, Records: recordsOf(4, 2)}); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, j)
	head, err := journal.LastSeal(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change string
		want   string
	}{
		{`UPDATE events SET payload = x'7b7d' WHERE run = 'b' AND seq = 2`, "record 2 of run b: altered"},
		{`UPDATE events SET content = x'' WHERE run = 'b' AND seq = 3`, "record 3 of run b: altered"},
		{`UPDATE events SET kind = 'call_started' WHERE run = 'a' AND seq = 4`, "record 4 of run a: altered"},
		{`UPDATE events SET at = at + 1 WHERE run = 'a' AND seq = 1`, "record 1 of run a: altered"},
		{`UPDATE events SET hash = x'00' WHERE run = 'b' AND seq = 1`, "record 1 of run b: altered"},
		{`DELETE FROM events WHERE run = 'c' AND seq = 2`, "record 2 of run c: missing"},
		{`DELETE FROM events WHERE run = 'c' AND seq = 3`, "record 3 of run c: cut"},
		{`DELETE FROM events WHERE run = 'c' AND seq = 3; UPDATE runs SET last_seq = 2 WHERE run = 'c'`, "run c: head"},
		{`UPDATE events SET seq = 9 WHERE run = 'b' AND seq = 1; UPDATE events SET seq = 1 WHERE run = 'b' AND seq = 2;
			UPDATE events SET seq = 2 WHERE run = 'b' AND seq = 9`, "record 1 of run b: altered"},
		{`INSERT INTO events SELECT run, 6, at, kind, payload, content, hash FROM events WHERE run = 'a' AND seq = 5`, "record 6 of run a: added"},
		{`DELETE FROM events WHERE run = 'b'; DELETE FROM runs WHERE run = 'b'`, "run b: dropped"},
		{`UPDATE runs SET tenant = 'another' WHERE run = 'c'`, "record 1 of run c: altered"},
		{`UPDATE runs SET state = 'running' WHERE run = 'a'`, "run a: head"},
		{`DELETE FROM seals WHERE seq = 4`, "run a: unsealed"},
		{`DELETE FROM seals WHERE seq = 2`, "seal 2: missing"},
		{`UPDATE seals SET last = 4 WHERE seq = 4`, "seal 4 (run a): altered"},
	} {
		path := newPath(t)
		copyFile(t, fresh, path)
		rawFile(t, path, c.change)
		r, err := OpenReader(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := journal.VerifyAll(t.Context(), r, nil)
		if err != nil || report.Flaw == nil || report.Flaw.String() != c.want {
			t.Errorf("%s:\nfound %v, %v; want %q", c.change, report.Flaw, err, c.want)
		}
		if report, err := journal.VerifyAll(t.Context(), r, &head); err != nil || report.Flaw == nil {
			t.Errorf("%s: with a head that was kept: %v, %v", c.change, report.Flaw, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
