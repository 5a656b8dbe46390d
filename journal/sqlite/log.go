package sqlite

import (
	"fmt"
	"os"
	"time"
)

const (
	// maxLog is the size of the write-ahead log, in bytes, from which the writer
	// shortens it by force.
	maxLog = 8 << 20
	// logPatience is how long it then waits for those who read from the log.
	logPatience = 100 * time.Millisecond
	// idleAfter is how long nothing must have been written before the log is
	// emptied.
	idleAfter = time.Second
)

// SQLite copies the log into the file now and then, and begins it anew once
// nobody reads from it. With many readers that moment may never come, and the
// log grows. So the writer empties it with a checkpoint that waits for those who
// read at the time, while later ones read from the file: after a commit that
// left it too long, and when there is nothing to write.
//
// A connection that keeps a snapshot, as none of this package does, holds that
// up. It is not waited for long, nor again before the log has grown by a
// quarter of that size.

// shortenLog empties the log if it is too long.
func (w *writer) shortenLog() {
	if w.logSize() < w.tooLong {
		return
	}
	w.emptyLog()
	w.tooLong = maxLog
	if size := w.logSize(); size >= maxLog {
		w.tooLong = size + maxLog/4
	}
}

// emptyLog copies the log into the file and cuts it to nothing. It is no
// failure when readers do not let it: the log is as good as before.
func (w *writer) emptyLog() {
	w.written = false
	_ = w.tx.exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, logPatience.Milliseconds()))
	_ = w.tx.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	_ = w.tx.exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, w.patience.Milliseconds()))
}

// logSize is 0 where there is no log.
func (w *writer) logSize() int64 {
	info, err := os.Stat(w.file.path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}
