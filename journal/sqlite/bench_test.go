package sqlite

import (
	"database/sql"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// benchRuns is how many runs append at once.
const benchRuns = 100

// BenchmarkAppend compares the journal under a hundred concurrent runs with its
// ceiling: one goroutine that writes the same rows to the same kind of file, a
// hundred appends a transaction, and checks nothing. One operation is one
// append of a small record and of one with 2 KB of content.
func BenchmarkAppend(b *testing.B) {
	b.Run("bare loop", benchBareLoop)
	b.Run("journal", benchJournal)
}

func benchJournal(b *testing.B) {
	path := newPath(b)
	seedRuns(b, path)
	j := mustOpen(b, path, Options{})
	var runs atomic.Int64
	b.SetParallelism(max(1, benchRuns/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	started := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		head := headOf(benchRun(int(runs.Add(1) - 1)))
		for seq := int64(2); pb.Next(); seq += 2 {
			if err := j.Append(b.Context(), journal.Entry{Head: head, Records: benchRecords(seq)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	reportEvents(b, started)
	s := j.Stats()
	b.ReportMetric(float64(s.Appends)/float64(s.Commits), "appends/commit")
}

// BenchmarkTurn is a turn with one call as an engine writes it, under a lease,
// by a hundred runs at once and by one alone: the reply with the claim of its
// call, then the result with the settlement. A read claims nothing.
func BenchmarkTurn(b *testing.B) {
	for _, runs := range []int{benchRuns, 1} {
		for _, claims := range []bool{false, true} {
			b.Run(fmt.Sprintf("runs=%d/claims=%t", runs, claims), func(b *testing.B) { benchTurn(b, runs, claims) })
		}
	}
}

func benchTurn(b *testing.B, runs int, claims bool) {
	j := mustOpen(b, newPath(b), Options{})
	var turns atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for n := range runs {
		wg.Go(func() {
			run := benchRun(n)
			for seq := int64(1); turns.Add(1) <= int64(b.N); seq += 5 {
				reply, result := drivenEntry(run, seq, 3), drivenEntry(run, seq+3, 2)
				result.Records[0].Content = make([]byte, 2048)
				if call := fmt.Sprint(seq); claims {
					reply.Claim = claimOf(run, call)
					result.Settled = []journal.Settlement{landed(run, call)}
				}
				for _, e := range []journal.Entry{reply, result} {
					if err := j.Append(b.Context(), e); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	s := j.Stats()
	b.ReportMetric(float64(s.Commits)/float64(b.N), "commits/turn")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkReady asks which runs are ready while ten thousand wait for a
// person, within time, and one of them has been told something.
func BenchmarkReady(b *testing.B) {
	j := mustOpen(b, newPath(b), Options{})
	for n := range 10_000 {
		head := headOf(benchRun(n))
		head.State, head.WaitingFor, head.Due = journal.Waiting, "approval", startOf().Add(time.Hour)
		o := &appending{&journal.Entry{Head: head, Records: recordsOf(1, 1)}}
		if err := j.writer.enqueue(newRequest(o)); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := j.Send(b.Context(), journal.Signal{ID: "s", Run: benchRun(77), Kind: journal.SignalCancel, At: startOf()}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if ready, err := j.Ready(b.Context(), startOf(), 0); err != nil || len(ready) != 1 {
			b.Fatal(len(ready), err)
		}
	}
}

func benchBareLoop(b *testing.B) {
	path := newPath(b)
	seedRuns(b, path)
	f, err := locate(path)
	if err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", f.writerDSN(Options{}.withDefaults()))
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	begin, commit := mustPrepare(b, db, `BEGIN IMMEDIATE`), mustPrepare(b, db, `COMMIT`)
	event := mustPrepare(b, db, insertEvent)
	head := mustPrepare(b, db, `UPDATE runs SET turns = ?, updated_at = ?, last_seq = ? WHERE run = ?`)
	var link journal.Hash
	b.ResetTimer()
	started := time.Now()
	for n := 0; n < b.N; {
		begin()
		for i := 0; i < benchRuns && n < b.N; i, n = i+1, n+1 {
			run, records := benchRun(i), benchRecords(int64(n/benchRuns)*2+2)
			for _, r := range records {
				event(run, r.Seq, r.At.UnixNano(), string(r.Kind), r.Payload, r.Content, link[:])
			}
			head(1, records[1].At.UnixNano(), records[1].Seq, run)
		}
		commit()
	}
	reportEvents(b, started)
}

// seedRuns creates the runs, with one record each.
func seedRuns(b *testing.B, path string) {
	b.Helper()
	j, err := Open(b.Context(), path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range benchRuns {
		mustAppend(b, j, benchRun(i), 1, 1)
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
}

// mustPrepare returns a function that executes a statement.
func mustPrepare(b *testing.B, db *sql.DB, query string) func(args ...any) {
	b.Helper()
	stmt, err := db.PrepareContext(b.Context(), query)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stmt.Close() })
	return func(args ...any) {
		b.Helper()
		if _, err := stmt.Exec(args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
}

func benchRun(i int) string { return fmt.Sprintf("run-%020d", i) }

func reportEvents(b *testing.B, started time.Time) {
	b.ReportMetric(float64(2*b.N)/time.Since(started).Seconds(), "events/s")
}

func benchRecords(seq int64) []journal.Record {
	records := recordsOf(seq, 2)
	records[1].Content = make([]byte, 2048)
	return records
}
