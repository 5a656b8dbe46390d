package journal_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

// stored is what a file holds, for whoever can write it: a reader of it sees
// what is there, whatever happened to it.
type stored struct {
	journal.Reader // of nothing else

	heads   []journal.Head // by run
	records map[string][]journal.Record
	links   map[string][]journal.Hash
	seals   []journal.Seal
}

func storedOf(t testing.TB, j journal.Reader) *stored {
	t.Helper()
	s := &stored{records: map[string][]journal.Record{}, links: map[string][]journal.Hash{}}
	var err error
	if s.heads, err = j.Heads(t.Context(), journal.Query{}); err != nil {
		t.Fatal(err)
	}
	if s.seals, err = j.Seals(t.Context(), 0, 0); err != nil {
		t.Fatal(err)
	}
	for _, h := range s.heads {
		if s.records[h.Run], err = j.Read(t.Context(), h.Run, 0, 0); err != nil {
			t.Fatal(err)
		}
		if s.links[h.Run], err = j.Links(t.Context(), h.Run, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// clone is a copy down to the bytes.
func (s *stored) clone() *stored {
	out := &stored{
		heads: slices.Clone(s.heads), records: maps.Clone(s.records), links: maps.Clone(s.links), seals: slices.Clone(s.seals),
	}
	for run, records := range out.records {
		records = slices.Clone(records)
		for i := range records {
			records[i].Payload, records[i].Content = slices.Clone(records[i].Payload), slices.Clone(records[i].Content)
		}
		out.records[run], out.links[run] = records, slices.Clone(out.links[run])
	}
	return out
}

func (s *stored) head(run string) *journal.Head {
	for i := range s.heads {
		if s.heads[i].Run == run {
			return &s.heads[i]
		}
	}
	return nil
}

// drop takes a run out, with all that is its own.
func (s *stored) drop(run string) {
	s.heads = slices.DeleteFunc(s.heads, func(h journal.Head) bool { return h.Run == run })
	delete(s.records, run)
	delete(s.links, run)
}

func (s *stored) Heads(context.Context, journal.Query) ([]journal.Head, error) {
	return slices.Clone(s.heads), nil
}

func (s *stored) Head(_ context.Context, run string) (journal.Head, error) {
	if h := s.head(run); h != nil {
		return *h, nil
	}
	return journal.Head{}, journal.NotFound(run)
}

func (s *stored) Read(_ context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	return window(s.records[run], after, limit)
}

func (s *stored) Links(_ context.Context, run string, after int64, limit int) ([]journal.Hash, error) {
	return window(s.links[run], after, limit)
}

func (s *stored) Seals(_ context.Context, after int64, limit int) ([]journal.Seal, error) {
	return window(s.seals, after, limit)
}

// window also holds the verification to its bound: no more than a page.
func window[T any](rows []T, after int64, limit int) ([]T, error) {
	if limit < 1 || limit > 64 {
		return nil, fmt.Errorf("%d rows at once", limit)
	}
	rows = rows[min(after, int64(len(rows))):]
	return rows[:min(limit, len(rows))], nil
}

// written is a journal of runs with so many records each; every second one has
// stopped.
func written(t testing.TB, lengths ...int) *memory.Journal {
	t.Helper()
	j := memory.New()
	for n, length := range lengths {
		h := journal.Head{
			Run: fmt.Sprint("run-", n), Session: fmt.Sprint("s", n), Tenant: "acme", User: "alice", State: journal.Running,
			StartedAt: time.Unix(int64(n), 1).UTC(), UpdatedAt: time.Unix(int64(n), 2).UTC(),
		}
		for seq := 1; seq <= length; seq++ {
			if seq == length && n%2 == 0 {
				h.State = journal.Stopped
			}
			record := journal.Record{
				Seq: int64(seq), At: time.Unix(int64(seq), 3).UTC(), Kind: kernel.KindTimerFired,
				Payload: fmt.Appendf(nil, `{"n":%d,"of":%d}`, seq, n), Content: [][]byte{nil, {}, []byte("content")}[seq%3],
			}
			if err := j.Append(t.Context(), journal.Entry{Head: h, Records: []journal.Record{record}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return j
}

// rewrite makes all hashes of a file agree with what it holds: what somebody
// can do who can write all of it.
func (s *stored) rewrite() {
	for i := range s.heads {
		h := &s.heads[i]
		link := journal.Origin(h)
		s.links[h.Run] = s.links[h.Run][:0]
		for n := range s.records[h.Run] {
			r := &s.records[h.Run][n]
			r.Seq = int64(n) + 1
			link = journal.Link(link, h.Run, r)
			s.links[h.Run] = append(s.links[h.Run], link)
		}
		h.LastSeq, h.Hash = int64(len(s.records[h.Run])), link
	}
	var prev journal.Hash
	opened := map[string]bool{}
	for i := range s.seals {
		seal := &s.seals[i]
		if links := s.links[seal.Run]; len(links) > 0 {
			seal.Last = int64(len(links))
			if !opened[seal.Run] {
				seal.Last = 1
			}
			seal.Head = links[seal.Last-1]
		}
		opened[seal.Run] = true
		seal.Seq = int64(i) + 1
		seal.Hash = seal.Chain(prev)
		prev = seal.Hash
	}
}
