//go:build linux || darwin

package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

// compactAt is from which size on, in bytes, rows are made smaller when they are
// written to, where that halves them.
const compactAt = 4 << 20

// compact replaces the locked file of the rows by one with the last row of each
// name, which says all that counts: what is forgotten stays so. It returns the
// file to write to, locked, and closes the other one. Whoever is killed leaves the
// old file or the new one.
func (s *shelf) compact(f *os.File, last map[string]row) (*os.File, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return f, broken("the rows cannot be looked at", err)
	case info.Size() < compactAt:
		return f, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if err := enc.Encode(last[name]); err != nil {
			return f, broken("a row has no JSON form", err)
		}
	}
	if int64(b.Len()) > info.Size()/2 {
		return f, nil
	}
	smaller, err := s.replace(b.Bytes())
	if err != nil {
		return f, err
	}
	_ = f.Close() // nobody reads or writes it any more
	return smaller, nil
}

// replace puts rows in the place of the file's, and returns it locked. Only the
// owner of the lock does so: the draft is nobody else's.
func (s *shelf) replace(rows []byte) (f *os.File, err error) {
	draft := filepath.Join(s.rows, draftPrefix+rowsFile+draftSuffix)
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, broken("what an earlier writer left cannot be removed", err)
	}
	f, err = os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, broken("the rows cannot be made smaller", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = f.Write(rows)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(draft, filepath.Join(s.rows, rowsFile))
	}
	if err != nil {
		return nil, errors.Join(broken("the rows cannot be made smaller", err), f.Close(), os.Remove(draft))
	}
	if err := syncDir(s.rows); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// full refuses a row that there is no room for. Each name has its last row by
// then: there are too many names.
func (s *shelf) full(err error) error {
	if err != nil {
		return broken("the rows cannot be looked at", err)
	}
	path := filepath.Join(s.rows, rowsFile)
	return &kernel.Error{
		Code: kernel.CodeLocalStorage, Message: fmt.Sprintf("memory: %s is full: its rows have %d bytes, the last of each entry alone", path, maxRows),
		Hint: "move " + strconv.Quote(path) + " away: what was decided until now counts no more then, and is confirmed again",
	}
}
