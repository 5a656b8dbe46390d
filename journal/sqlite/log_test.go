package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// boundLog is how long a log may become here: the size at which it is shortened,
// and as much again for times at which a reader that waits for a processor holds
// that up.
const boundLog = 2 * maxLog

// While runs are written and watched all the time, by this process and by
// another one, the log stays short: 20,000 events, whose log would be 40 MB.
func TestLogIsBounded(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	const runs, appends, size = 10, 100, 20
	for n := range runs {
		mustAppend(t, j, fmt.Sprint(n), 1, size)
	}
	watcher := startChild(t, self(t), "watch", path)
	if got := watcher.line(); got != "watching" {
		t.Fatalf("the other process printed %q", got)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() { overlap(t, path, done) })
	var longest int64
	var writers sync.WaitGroup
	var mu sync.Mutex
	for n := range runs {
		writers.Go(func() {
			for i := int64(1); i < appends; i++ {
				records := recordsOf(i*size+1, size)
				for k := range records {
					records[k].Content = make([]byte, 1500)
				}
				if err := j.Append(t.Context(), journal.Entry{Head: headOf(fmt.Sprint(n)), Records: records}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				longest = max(longest, j.writer.logSize())
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	watcher.finish(t)
	if got := j.Stats().Records; got != runs*appends*size {
		t.Errorf("%d events were written, want %d", got, runs*appends*size)
	}
	t.Logf("the log was at most %d bytes long", longest)
	if longest > boundLog {
		t.Errorf("the log grew to %d bytes, want at most %d", longest, boundLog)
	}
}

// overlap reads all the time: a new snapshot is there before the last one goes,
// so that there is no moment at which nobody reads.
func overlap(t *testing.T, path string, done <-chan struct{}) {
	var held [2]*sql.Conn
	for i := range held {
		_, held[i] = rawConn(t, path)
	}
	turn := time.NewTicker(3 * time.Millisecond)
	defer turn.Stop()
	for i := 0; ; i = 1 - i {
		mustExec(t, held[i], "BEGIN")
		if _, err := column(t.Context(), held[i], "SELECT run FROM runs LIMIT 1"); err != nil {
			t.Error(err)
			return
		}
		_, _ = held[1-i].ExecContext(t.Context(), "ROLLBACK") // none at first
		select {
		case <-turn.C:
		case <-done:
			return
		}
	}
}

// Someone who keeps a snapshot open holds the log up, and no longer than that;
// writing goes on.
func TestLogHeldUp(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 1)
	_, snapshot := rawConn(t, path)
	mustExec(t, snapshot, "BEGIN")
	if _, err := column(t.Context(), snapshot, "SELECT run FROM runs"); err != nil {
		t.Fatal(err)
	}
	seq := int64(2)
	grow := func(to int64) {
		t.Helper()
		for from := j.writer.logSize(); j.writer.logSize() < to && j.writer.logSize() >= from; seq++ {
			records := recordsOf(seq, 1)
			records[0].Content = make([]byte, 1<<19)
			if err := j.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: records}); err != nil {
				t.Fatal(err)
			}
		}
	}
	grow(3 * maxLog)
	if size := j.writer.logSize(); size < maxLog {
		t.Fatalf("the log of %d bytes was cut under a reader", size)
	}
	mustExec(t, snapshot, "ROLLBACK")
	grow(5 * maxLog)
	if size := j.writer.logSize(); size > boundLog {
		t.Errorf("the log is still %d bytes long", size)
	}
	wantRecords(t, j, "r", seq-1)
}

// When nothing is written for a while the log is emptied, with readers at rest
// beside it.
func TestLogEmptiedWhenIdle(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 100)
	r, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	wantRecords(t, r, "r", 100)
	wantRecords(t, j, "r", 100)
	j.writer.stop() // the test is the writer now
	if size := j.writer.logSize(); size == 0 {
		t.Fatal("there is no log to empty")
	}
	j.writer.emptyLog()
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the log is %v, %v; want it empty", info, err)
	}
	wantRecords(t, r, "r", 100)

	// The writer does so by itself.
	j.writer.idle = time.Nanosecond
	j.writer.closed, j.writer.stopped = false, make(chan struct{})
	last := requestOf("s", 1, 1)
	if err := j.writer.enqueue(last); err != nil {
		t.Fatal(err)
	}
	go j.writer.run()
	if err := <-last.done; err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); j.writer.logSize() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("nobody emptied the log")
		}
	}
	wantRecords(t, r, "s", 1)
	j.writer.stop()
	wantPragmas(t, j.writer.conn, map[string]string{"busy_timeout": "5000"})
}
