package sqlite

import (
	"context"
	"fmt"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

var _ journal.Reader = (*Reader)(nil)

// Reader reads a journal that another process may be writing. It is safe for
// concurrent use. The zero value is not usable: see OpenReader.
type Reader struct {
	*pool
}

// OpenReader opens the journal in the file at path for reading. It never
// changes the file nor creates one, but SQLite needs its log and its index
// beside the file and may leave them there, empty. Close it after use.
//
// It fails with NOT_FOUND for a missing file, with VERSION for a file of
// another version, older or newer, and otherwise like Open.
func OpenReader(ctx context.Context, path string, o Options) (*Reader, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	f, err := locate(path)
	if err != nil {
		return nil, err
	}
	if err := f.readable(ctx, o); err != nil {
		return nil, f.fault(err)
	}
	p, err := openPool(ctx, f, o)
	if err != nil {
		return nil, f.fault(err)
	}
	return &Reader{pool: p}, nil
}

// readable reports why the file cannot be read as it is.
func (f file) readable(ctx context.Context, o Options) error {
	if err := f.guarded(); err != nil {
		return err
	}
	_, exists, err := f.stat()
	if err != nil {
		return err
	}
	missing := &kernel.Error{
		Code:    kernel.CodeNotFound,
		Message: fmt.Sprintf("there is no journal at %s", f.name),
		Hint:    "the first run creates it; check the path if there was one",
	}
	if !exists {
		return missing
	}
	switch version, err := f.inspect(ctx, o); {
	case err != nil:
		return err
	case version == 0: // created by a process that has not come further yet
		return missing
	case version < len(migrations()):
		return &kernel.Error{
			Code:    kernel.CodeVersion,
			Message: fmt.Sprintf("%s was written by an older version of Holdfast (schema %d, needed %d)", f.name, version, len(migrations())),
			Hint:    "any run that uses the file brings it up to date",
		}
	}
	return nil
}

// Close waits for reads under way and closes the file.
func (r *Reader) Close() error {
	if err := r.shut(); err != nil {
		return r.file.fault(err)
	}
	return nil
}
