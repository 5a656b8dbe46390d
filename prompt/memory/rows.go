//go:build linux || darwin

package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The rows of a folder are lines of JSON that are appended (see compact), since
// that is the whole need: a person can read them, a crash can only leave a last
// line without its end, which is no row, and one lock of the system keeps two
// writers apart. They hold no text: forgetting one deletes a file.

const (
	rowsFile    = "rows.jsonl"
	rowsVersion = 1
	maxRows     = 16 << 20 // bytes of a file of rows that is written to
	maxRead     = 64 << 20 // and of one that is read: it is made smaller when it is written to
	maxCached   = 256      // files of rows whose content is kept in memory
)

// act is what a row records.
type act string

const (
	proposed  act = "propose"
	confirmed act = "confirm"
	forgot    act = "forget"
)

// row is one act of somebody on an entry. It repeats what the entry is, so that
// the last row of a name says all.
type row struct {
	Version int       `json:"v"`
	At      time.Time `json:"at"`
	Act     act       `json:"act"`
	Name    string    `json:"name"`           // of the file, without .md
	Hash    string    `json:"hash,omitempty"` // of the file that was acted on
	By      string    `json:"by,omitempty"`
	Author  string    `json:"author,omitempty"`
	Source  string    `json:"source,omitempty"`
	Created time.Time `json:"created"`
	// Tenant and User are whose the entry is, or for whom it was proposed. In a
	// folder of a user's rows of another one are refused.
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user,omitempty"`
}

type cached struct {
	info fs.FileInfo
	last map[string]row
}

// lastRows returns the last row of each name. The caller changes nothing of it.
func (m *Memory) lastRows(s shelf) (map[string]row, error) {
	path := filepath.Join(s.rows, rowsFile)
	if err := s.private(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]row{}, nil
	case err != nil:
		return nil, broken("the rows cannot be read", err)
	}
	defer f.Close()
	info, err := ownFile(f)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.cache[path]; ok && os.SameFile(c.info, info) && c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime()) {
		return c.last, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return nil, broken("the rows cannot be read", err)
	}
	last, err := s.fold(b)
	if err != nil {
		return nil, err
	}
	if len(m.cache) >= maxCached { // of many users: those that ask again are read again
		clear(m.cache)
	}
	m.cache[path] = cached{info, last}
	return last, nil
}

// fold reads rows. What follows the last line break is a row that was never
// written whole, and nobody was told that it had been.
func (s *shelf) fold(b []byte) (map[string]row, error) {
	last := map[string]row{}
	n := 0
	for line := range bytes.Lines(b[:bytes.LastIndexByte(b, '\n')+1]) {
		n++
		var r row
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil || r.Version != rowsVersion {
			return nil, broken(fmt.Sprintf("line %d of %s is no row of this version", n, filepath.Join(s.rows, rowsFile)), err)
		}
		if s.scope == User && (Owner{r.Tenant, r.User}) != s.owner {
			return nil, broken(fmt.Sprintf("line %d of %s belongs to somebody else", n, filepath.Join(s.rows, rowsFile)), nil)
		}
		last[r.Name] = r
	}
	return last, nil
}

// firstOwner says whose a folder of a user is, by its first row.
func firstOwner(path string) (o Owner, found bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, false, nil
	case err != nil:
		return o, false, broken("the rows cannot be read", err)
	}
	defer f.Close()
	if _, err := ownFile(f); err != nil {
		return o, false, err
	}
	var r row
	if json.NewDecoder(f).Decode(&r) != nil {
		return o, false, nil // nothing was written whole yet
	}
	return Owner{r.Tenant, r.User}, true, nil
}

// private refuses a folder of rows that others can write: their rows would
// confirm what nobody here has seen.
func (s *shelf) private() error {
	for _, dir := range []string{s.host, s.rows} {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return broken("the folder of the rows cannot be looked at", err)
		}
		if err := onlyOurs(dir, info); err != nil {
			return err
		}
	}
	return nil
}

func ownFile(f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, broken("the rows cannot be looked at", err)
	case !info.Mode().IsRegular():
		return nil, broken(f.Name()+" is not a regular file", nil)
	case info.Size() > maxRead:
		return nil, broken(fmt.Sprintf("%s has over %d bytes", f.Name(), maxRead), nil)
	}
	return info, onlyOurs(f.Name(), info)
}

func onlyOurs(path string, info fs.FileInfo) error {
	const others = 0o022
	stat, known := info.Sys().(*syscall.Stat_t)
	switch me := os.Geteuid(); {
	case info.Mode().Perm()&others != 0:
		return misconfigured("others may write "+path+", and so confirm memory", "chmod go-w "+path)
	case known && me != 0 && int(stat.Uid) != me && stat.Uid != 0:
		return misconfigured(path+" belongs to another user, who may confirm memory there", "name a folder of your own for the memory")
	}
	return nil
}

// change runs do while no other process changes the folder. do gets what the
// rows say, and adds to them with the function that it is given.
func (m *Memory) change(ctx context.Context, s shelf, do func(map[string]row, func(row) error) error) error {
	if err := os.MkdirAll(s.rows, 0o700); err != nil {
		return broken("the folder of the rows cannot be made", err)
	}
	if err := s.private(); err != nil {
		return err
	}
	path := filepath.Join(s.rows, rowsFile)
	f, err := locked(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // and unlocks it; what was written is synced
	if err := dropTorn(f); err != nil {
		return err
	}
	last, err := m.lastRows(s)
	if err != nil {
		return err
	}
	if f, err = s.compact(f, last); err != nil {
		return err
	}
	return do(last, func(r row) error { return s.add(f, r) })
}

// locked opens the file of the rows for writing, and keeps others from it. One
// that was replaced while it was waited for is not it any more.
func locked(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, broken("the rows cannot be written", err)
		}
		err = lock(ctx, f)
		if err == nil {
			mine, err1 := f.Stat()
			there, err2 := os.Lstat(path)
			if err1 == nil && err2 == nil && os.SameFile(mine, there) {
				return f, nil
			}
		}
		_ = f.Close() // nothing was written to it
		if err != nil {
			return nil, err
		}
	}
}

// lock waits for the other writers, as long as ctx lasts.
func lock(ctx context.Context, f *os.File) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return broken("the rows cannot be locked", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// dropTorn removes a row that a crash left without its end.
func dropTorn(f *os.File) error {
	info, err := ownFile(f)
	if err != nil {
		return err
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return broken("the rows cannot be read", err)
	}
	whole := int64(bytes.LastIndexByte(b, '\n') + 1)
	if whole == info.Size() {
		return nil
	}
	if err := f.Truncate(whole); err != nil {
		return broken("a row that was not written whole cannot be removed", err)
	}
	return nil
}

// add appends a row and makes it durable.
func (s *shelf) add(f *os.File, r row) error {
	r.Version = rowsVersion
	if s.scope == User {
		r.Tenant, r.User = s.owner.Tenant, s.owner.User
	}
	b, err := json.Marshal(r)
	if err != nil {
		return broken("a row has no JSON form", err)
	}
	if info, err := f.Stat(); err != nil || info.Size()+int64(len(b)) >= maxRows {
		return s.full(err)
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return broken("a row cannot be written", err)
	}
	if err := f.Sync(); err != nil {
		return broken("a row may not outlast a power failure", err)
	}
	return syncDir(s.rows)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return broken("a folder cannot be opened", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return broken("a name may not outlast a power failure", err)
	}
	return nil
}
