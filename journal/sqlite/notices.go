package sqlite

import (
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	noticeColumns  = `tenant, user, session, number, id, by, at, text`
	noticeRow      = noticeColumns + `, coalesce(seen_by, '')`
	selectNoticeID = `SELECT id FROM notices WHERE tenant = ? AND user = ? AND session = ? AND id = ?`
	selectNotices  = `SELECT ` + noticeRow + ` FROM notices INDEXED BY notices_waiting
		WHERE tenant = ? AND user = ? AND session = ? AND seen_by IS NULL ORDER BY number`
	selectAllNotices = `SELECT ` + noticeRow + ` FROM notices WHERE tenant = ? AND user = ? AND session = ? ORDER BY number`
	insertNotice     = `INSERT INTO notices (` + noticeColumns + `)
		SELECT ?, ?, ?, 1 + (SELECT coalesce(max(number), 0) FROM notices WHERE tenant = ? AND user = ? AND session = ?), ?, ?, ?, ?`
	markSeen = `UPDATE notices SET seen_by = ? WHERE tenant = ? AND user = ? AND session = ? AND id = ? AND seen_by IS NULL`
)

// notifying is a notice on its way.
type notifying struct {
	notice journal.Notice
	fresh  bool
}

func (n *notifying) apply(t *tx) error {
	n.fresh = false // of an attempt that was rolled back
	s := n.notice.Of()
	known, err := one(t, scanText, selectNoticeID, s.Tenant, s.User, s.Session, n.notice.ID)
	if err != nil || known != nil {
		return err
	}
	waiting, err := t.notices(s)
	if err != nil {
		return err
	}
	if len(waiting) >= journal.MaxNotices {
		return journal.TooManyNotices(s.Session)
	}
	n.fresh = true
	err = t.exec(insertNotice, s.Tenant, s.User, s.Session, s.Tenant, s.User, s.Session, n.notice.ID, n.notice.By, n.notice.At.UnixNano(), n.notice.Text)
	if err != nil {
		return err
	}
	run, err := one(t, scanText, selectUnstopped, s.Tenant, s.User, s.Session)
	if err != nil || run == nil {
		return err
	}
	return t.send(&n.notice, *run)
}

func (t *tx) send(n *journal.Notice, run string) error {
	s := n.Signal(run)
	return t.record(&s)
}

// notices are those of a session that wait.
func (t *tx) notices(s journal.SessionID) ([]journal.Notice, error) {
	return all(t, scanNotice, selectNotices, s.Tenant, s.User, s.Session)
}

// sendLeft sends a run that begins the notices that wait and that its first entry
// does not take up.
func (t *tx) sendLeft(e *journal.Entry) error {
	if e.Place == 0 {
		return nil
	}
	waiting, err := t.notices(e.Head.SessionOf())
	if err != nil {
		return err
	}
	for i := range waiting {
		if slices.Contains(e.Noticed, waiting[i].ID) {
			continue
		}
		if err := t.send(&waiting[i], e.Head.Run); err != nil {
			return err
		}
	}
	return nil
}

// markSeen marks the notices that a model has seen.
func (t *tx) markSeen(e *journal.Entry) error {
	h := &e.Head
	for _, id := range e.Seen {
		if err := t.exec(markSeen, h.Run, h.Tenant, h.User, h.Session, id); err != nil {
			return err
		}
	}
	return nil
}

func scanNotice(row scanner) (n journal.Notice, err error) {
	return n, row.Scan(&n.Tenant, &n.User, &n.Session, &n.Number, &n.ID, &n.By, (*instant)(&n.At), &n.Text, &n.SeenBy)
}
