package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
)

// ArchiveID names what the compaction removed that answers a preparation of a
// run: RUN.CMD. A run's id that cannot be part of a name is there by its hash.
func ArchiveID(run string, cmd kernel.Seq) string {
	id := run + "." + strconv.FormatInt(int64(cmd), 10)
	if kernel.IsName(id) {
		return id
	}
	return hashed(run) + "." + strconv.FormatInt(int64(cmd), 10)
}

func hashed(run string) string {
	sum := sha256.Sum256([]byte(run))
	return "run_" + hex.EncodeToString(sum[:])
}

// Archive is what a compaction took out of a history.
type Archive struct {
	ID         string
	Run        journal.Head
	Compaction prompt.Compaction
	By         kernel.SummaryBy
	// Removed are the messages that the summary stands for, and Results those
	// whose middle was left out, whole, without private reasoning.
	Removed []kernel.Message
	Results []kernel.Message
}

// ReadArchive reads an archive back: NOT_FOUND when there is none of that id.
// The journal keeps every message where it was recorded, so that this replays
// the session up to there.
func ReadArchive(ctx context.Context, j journal.Reader, id string) (*Archive, error) {
	head, err := archiveRun(ctx, j, id)
	if err != nil {
		return nil, err
	}
	prior, err := SessionBefore(ctx, j, head)
	if err != nil {
		return nil, err
	}
	records, err := j.Read(ctx, head.Run, 0, 0)
	if err != nil {
		return nil, err
	}
	replay := NewReplay(head.Run, prior)
	for i := range records {
		before := replay.History.Messages()
		e, c, err := replay.Next(&records[i])
		if err != nil {
			return nil, err
		}
		p, ok := e.(kernel.ContextPrepared)
		if ok && p.Compacted != nil && p.Compacted.Archive == id && c.Prepared != nil && c.Prepared.Compaction != nil {
			return newArchive(head, &p, c.Prepared.Compaction, before), nil
		}
	}
	return nil, NoArchive(id)
}

// NoArchive is the answer to an id that no archive has: NOT_FOUND.
func NoArchive(id string) error {
	return &kernel.Error{Code: kernel.CodeNotFound, Message: "there is no archive " + kernel.Clip(strconv.Quote(id), 200)}
}

// archiveRun finds the run of an archive: NOT_FOUND when there is none.
func archiveRun(ctx context.Context, j journal.Reader, id string) (*journal.Head, error) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 {
		return nil, NoArchive(id)
	}
	head, err := j.Head(ctx, id[:i])
	if err == nil {
		return &head, nil
	}
	if kernel.CodeOf(err) != kernel.CodeNotFound {
		return nil, err
	}
	heads, err := j.Heads(ctx, journal.Query{})
	if err != nil {
		return nil, err
	}
	for k := range heads {
		if hashed(heads[k].Run) == id[:i] {
			return &heads[k], nil
		}
	}
	return nil, NoArchive(id)
}

func newArchive(head *journal.Head, e *kernel.ContextPrepared, c *prompt.Compaction, before []kernel.Message) *Archive {
	a := &Archive{ID: c.Archive, Run: *head, Compaction: *c, By: e.Compacted.Summary, Removed: Public(before[:c.Removed])}
	for _, s := range c.Spills {
		a.Results = append(a.Results, Public(before[len(before)-s.Position:][:1])...)
	}
	return a
}

// SessionBefore is what the runs of a session left that came before h: the
// history that h began with.
func SessionBefore(ctx context.Context, j journal.Reader, h *journal.Head) ([]kernel.Message, error) {
	runs, err := EarlierRuns(ctx, j, h)
	if err != nil {
		return nil, err
	}
	return SessionHistory(ctx, j, runs)
}

// EarlierRuns are the session's runs before h, oldest first. A session belongs
// to one tenant and user: the same id under another identity is another session.
func EarlierRuns(ctx context.Context, j journal.Reader, h *journal.Head) ([]journal.Head, error) {
	owner := h.Owner()
	heads, err := j.Heads(ctx, journal.Query{Owner: &owner, Session: h.Session})
	if err != nil {
		return nil, err
	}
	slices.Reverse(heads)
	if i := slices.IndexFunc(heads, func(other journal.Head) bool { return other.Run == h.Run }); i >= 0 {
		heads = heads[:i]
	}
	return heads, nil
}

// SessionHistory is what the runs of a session, all of them from the first one
// on, left in its canonical history.
func SessionHistory(ctx context.Context, j journal.Reader, runs []journal.Head) ([]kernel.Message, error) {
	history, _, err := ReadSession(ctx, j, runs)
	return history, err
}

// ReadSession reads a session of runs as SessionHistory does, and what was
// removed on the way, the oldest first.
func ReadSession(ctx context.Context, j journal.Reader, runs []journal.Head) ([]kernel.Message, []Removed, error) {
	var prior []kernel.Message
	var removed []Removed
	for i := range runs {
		records, err := j.Read(ctx, runs[i].Run, 0, 0)
		if err != nil {
			return nil, nil, err
		}
		replay := NewReplay(runs[i].Run, prior)
		for k := range records {
			e, _, err := replay.Next(&records[k])
			if err != nil {
				return nil, nil, err
			}
			if p, ok := e.(kernel.ContextPrepared); ok && p.Compacted != nil {
				removed = append(removed, Removed{Compaction: *p.Compacted, Run: runs[i].Run, At: records[k].At})
			}
		}
		prior = replay.Left()
	}
	return prior, removed, nil
}

// Removed is a compaction of a session.
type Removed struct {
	kernel.Compaction
	Run string
	At  time.Time
}
