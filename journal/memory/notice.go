package memory

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

// Notify records a notice. See [journal.Inbox].
func (j *Journal) Notify(ctx context.Context, n journal.Notice) (fresh bool, err error) {
	if err := journal.CheckNotice(&n); err != nil {
		return false, err
	}
	if err := j.lock(ctx); err != nil {
		return false, err
	}
	defer j.mu.Unlock()
	s := session{n.Tenant, n.User, n.Session}
	all := j.notices[s]
	waiting := 0
	for i := range all {
		if all[i].ID == n.ID {
			return false, nil
		}
		if all[i].SeenBy == "" {
			waiting++
		}
	}
	if waiting >= journal.MaxNotices {
		return false, journal.TooManyNotices(n.Session)
	}
	n.At, n.Number, n.SeenBy = instant(n.At), int64(len(all))+1, ""
	j.notices[s] = append(all, n)
	if last := j.sessions[s]; last != nil && last.head.State != journal.Stopped {
		last.note(n.Signal(last.id))
	}
	j.changes++
	return true, nil
}

// sendLeft sends a run that begins the notices that wait and that its first entry
// does not take up.
func (j *Journal) sendLeft(r *run, e *journal.Entry) {
	for _, n := range j.notices[sessionOf(&e.Head)] {
		if n.SeenBy == "" && !slices.Contains(e.Noticed, n.ID) {
			r.note(n.Signal(r.id))
		}
	}
}

func (j *Journal) markSeen(e *journal.Entry) {
	if len(e.Seen) == 0 {
		return
	}
	all := j.notices[sessionOf(&e.Head)]
	for i := range all {
		if all[i].SeenBy == "" && slices.Contains(e.Seen, all[i].ID) {
			all[i].SeenBy = e.Head.Run
		}
	}
}

// Notices returns the notices of a session that wait. See [journal.Reader].
func (j *Journal) Notices(ctx context.Context, s journal.SessionID) ([]journal.Notice, error) {
	all, err := j.AllNotices(ctx, s)
	return slices.DeleteFunc(all, func(n journal.Notice) bool { return n.SeenBy != "" }), err
}

// AllNotices returns the notices of a session. See [journal.Reader].
func (j *Journal) AllNotices(ctx context.Context, s journal.SessionID) ([]journal.Notice, error) {
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	return slices.Clone(j.notices[session{s.Tenant, s.User, s.Session}]), nil
}
