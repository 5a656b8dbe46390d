package memory

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

// Read returns records of a run. See [journal.Reader].
func (j *Journal) Read(ctx context.Context, id string, after int64, limit int) ([]journal.Record, error) {
	return ofRun(ctx, j, id, after, limit, func(r *run) []journal.Record { return r.records })
}

// Links returns hashes of a run's records. See [journal.Reader].
func (j *Journal) Links(ctx context.Context, id string, after int64, limit int) ([]journal.Hash, error) {
	return ofRun(ctx, j, id, after, limit, j.linked)
}

// ofRun returns what a run has one of for each record.
func ofRun[T any](ctx context.Context, j *Journal, id string, after int64, limit int, of func(*run) []T) ([]T, error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	r := j.runs[id]
	if r == nil {
		return nil, journal.NotFound(id)
	}
	return behind(of(r), after, limit), nil
}

// Seals returns links of the chain over all runs. See [journal.Reader].
func (j *Journal) Seals(ctx context.Context, after int64, limit int) ([]journal.Seal, error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	return behind(j.sealed(), after, limit), nil
}

// behind is a copy of what follows the first n of a numbered list, at most
// limit of it (0: all).
func behind[T any](list []T, n int64, limit int) []T {
	return slices.Clone(first(list[min(max(n, 0), int64(len(list))):], limit))
}

// first cuts a list to a limit (0: none).
func first[T any](list []T, limit int) []T {
	if limit > 0 && limit < len(list) {
		return list[:limit]
	}
	return list
}

// copies turns rows into what callers may keep.
func copies[Row, T any](rows []*Row, of func(*Row) T) []T {
	if len(rows) == 0 {
		return nil
	}
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = of(r)
	}
	return out
}
