package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
)

// A full disk fails appends clearly, with nothing half-written, and is over
// when there is space again: on a disk that is really full, where the system
// lets a test have one, and else in a file that may not grow.
func TestDiskFull(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		path := newPath(t)
		j := mustOpen(t, path, Options{})
		fullJournal(t.Context(), j, path,
			func() error {
				_, err := j.writer.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 1000000")
				return err
			},
			func(format string, args ...any) { t.Errorf(format, args...) },
			func() { mustExec(t, j.writer.conn, "PRAGMA max_page_count = 200") })
	})
	t.Run("disk", func(t *testing.T) {
		cmd := self(t)
		isolate(cmd)
		c, err := tryChild(t, cmd, "full", newPath(t))
		if err != nil {
			t.Logf("no disk of its own for a test here: %v", err)
			return
		}
		line := c.line()
		t.Log(line)
		if line != "on a full disk: all as it should be" && line != "no mounts" {
			t.Error(line)
		}
		c.finish(t)
	})
}

// childFull plays a full disk through, on one of its own.
func childFull(ctx context.Context, path string) error {
	dir := filepath.Dir(path)
	if err := mountSmall(dir); err != nil {
		fmt.Println("no mounts")
		return nil //nolint:nilerr // this system does not let us
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 400_000), 0o600); err != nil {
		return err
	}
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	wrong := 0
	complain := func(format string, args ...any) {
		wrong++
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
	fullJournal(ctx, j, path, func() error {
		backup := filepath.Join(dir, "backup.db")
		checkLocalStorage(complain, j.Backup(ctx, backup), backup, "its disk is full")
		if left, err := filepath.Glob(filepath.Join(dir, "*back*")); err != nil || len(left) != 0 {
			complain("the failed backup left %v, %v", left, err)
		}
		return os.Remove(ballast)
	}, complain, func() {})
	if err := j.Close(); err != nil {
		return err
	}
	if err := fill(ballast); err != nil {
		return err
	}
	checkCramped(ctx, complain, path, "its disk is full")
	if wrong > 0 {
		return fmt.Errorf("%d things were wrong", wrong)
	}
	fmt.Println("on a full disk: all as it should be")
	return nil
}

// fill takes all that is left of a disk.
func fill(ballast string) error {
	f, err := os.Create(ballast)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 1024))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return f.Close()
}

// checkCramped opens a journal that nobody has open, where there is no room for
// the index that SQLite makes to read it: it says so, and not that the disk is
// faulty, though SQLite does.
func checkCramped(ctx context.Context, wrong func(format string, args ...any), path, says string) {
	for _, beside := range []string{"-shm", "-wal"} {
		if err := os.Remove(path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong("%v", err)
		}
	}
	r, err := OpenReader(ctx, path, Options{})
	checkLocalStorage(wrong, err, path, says)
	if err == nil {
		_ = r.Close()
	}
	j, err := Open(ctx, path, Options{})
	checkLocalStorage(wrong, err, path, says)
	if err == nil {
		_ = j.Close()
	}
}

// A limit on the size of files is told apart from a full disk.
func TestFileSizeLimit(t *testing.T) {
	path := newPath(t)
	if err := mustOpen(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, self(t), "limited", path)
	if line := c.line(); line != "all as it should be" {
		t.Error(line)
	}
	c.finish(t)
}

// childLimited may write no file of more than 16 KiB.
func childLimited(ctx context.Context, path string) error {
	const most = 16 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return err
	}
	wrong := 0
	checkCramped(ctx, func(format string, args ...any) {
		wrong++
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}, path, "this process may not write a larger file than 16 KiB")
	if wrong > 0 {
		return fmt.Errorf("%d things were wrong", wrong)
	}
	fmt.Println("all as it should be")
	return nil
}

// fullJournal appends until the disk is full, makes space, and goes on.
func fullJournal(ctx context.Context, j *Journal, path string, makeSpace func() error, wrong func(format string, args ...any), limit func()) {
	const size = 3
	entry := func(seq int64) journal.Entry {
		e := journal.Entry{Head: headOf("r"), Records: recordsOf(seq, size)}
		for i := range e.Records {
			e.Records[i].Content = make([]byte, 10_000)
		}
		return e
	}
	seq := int64(1)
	if err := j.Append(ctx, entry(seq)); err != nil {
		wrong("the first append: %v", err)
		return
	}
	limit()
	var full error
	for seq = 1 + size; seq < 1000; seq += size {
		if full = j.Append(ctx, entry(seq)); full != nil {
			break
		}
	}
	checkLocalStorage(wrong, full, path, "its disk is full")
	for range 3 { // and so it stays
		checkLocalStorage(wrong, j.Append(ctx, entry(seq)), path, "its disk is full")
		checkRecords(ctx, wrong, j, "r", seq-1)
	}
	_, err := j.Send(ctx, journal.Signal{ID: "s", Run: "r", Kind: journal.SignalCancel, At: headOf("r").StartedAt, Payload: fmt.Appendf(nil, `"%0100000d"`, 0)})
	checkLocalStorage(wrong, err, path, "its disk is full")
	if h, err := j.Head(ctx, "r"); err != nil || h.Pending != 0 {
		wrong("a signal was half written: %+v, %v", h, err)
	}
	if err := makeSpace(); err != nil {
		wrong("making space: %v", err)
	}
	if err := j.Append(ctx, entry(seq)); err != nil {
		wrong("with space again: %v", err)
	}
	checkRecords(ctx, wrong, j, "r", seq-1+size)
	if wrongs, err := j.CheckFile(ctx); err != nil || len(wrongs) > 0 {
		wrong("the file afterwards: %v, %v", wrongs, err)
	}
}

func checkRecords(ctx context.Context, wrong func(format string, args ...any), j journal.Reader, run string, n int64) {
	records, err := j.Read(ctx, run, 0, 0)
	if err != nil || int64(len(records)) != n {
		wrong("%s has %d records, %v; want %d", run, len(records), err, n)
	}
	if h, err := j.Head(ctx, run); err != nil || h.LastSeq != n {
		wrong("%s: the head is at %d, %v; want %d", run, h.LastSeq, err, n)
	}
}
