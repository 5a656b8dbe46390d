package cli

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// head is a line of `runs ls --json`.
type head struct {
	ID      string `json:"id"`
	Run     string `json:"run"`
	Session string `json:"session"`
	Tenant  string `json:"tenant"`
	User    string `json:"user"`
	State   string `json:"state"`
	waits
	Pending   int       `json:"pending_signals,omitempty"`
	Driver    string    `json:"driver,omitempty"` // who holds the lease
	Stop      string    `json:"stop"`
	Verified  string    `json:"verified"`
	Turns     int       `json:"turns"`
	Question  string    `json:"question"`
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func newHead(h journal.Head, now time.Time) head {
	out := head{
		ID: h.Run, Run: h.Run, Session: h.Session, Tenant: h.Tenant, User: h.User,
		State: string(h.State), waits: waitsOf(&h), Stop: string(h.Stop), Verified: string(h.Verified),
		Turns: h.Turns, Question: h.Question, StartedAt: h.StartedAt, UpdatedAt: h.UpdatedAt,
	}
	if h.State != journal.Stopped {
		out.Pending = h.Pending
	}
	if h.Lease.Held(now) {
		out.Driver = h.Lease.Owner
	}
	if out.Verified == "" {
		out.Verified = string(kernel.Unchecked)
	}
	return out
}

// maxListed bounds what a list shows of a question, in bytes.
const maxListed = 60

func (a *app) listRuns(ctx context.Context, flags journalFlags, q journal.Query) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	heads, err := reader.Heads(ctx, q)
	if err == nil && len(heads) == 0 {
		err = notSession(q.Session)
	}
	if err != nil {
		return err
	}
	now := time.Now()
	if flags.json {
		list := make([]head, 0, len(heads))
		for _, h := range heads {
			list = append(list, newHead(h, now))
		}
		return writeJSON(a.stdout, list)
	}
	return a.table("RUN\tSTARTED\tSTOP\tVERIFIED\tTURNS\tQUESTION", func(d *display) {
		for i := range heads {
			line := newHead(heads[i], now)
			stop := line.Stop
			if stop == "" {
				stop = standingOf(&heads[i], now)
			}
			d.printf("%s\t%s\t%s\t%s\t%d\t%s\n", safeLine(line.Run), line.StartedAt.Format(time.RFC3339),
				stop, line.Verified, line.Turns, previewIn(line.Question, maxListed))
		}
	})
}
