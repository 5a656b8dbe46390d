package enginetest

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// die ends this process as kill -9 does.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = p.Kill()
	}
	select {} // nothing comes after
}

// mortal is the journal of a process that kills itself at a write. The renewal
// of leases, which comes when it comes, is not counted.
type mortal struct {
	journal.Journal
	part part

	mu     sync.Mutex
	writes []string // what each wrote
}

// at counts a write and lets it happen, unless the process ends before.
func (m *mortal) at(what string, write func() error) error {
	m.mu.Lock()
	m.writes = append(m.writes, what)
	last := m.part.Write == len(m.writes) || m.part.Event != "" && strings.Contains(what, m.part.Event) && m.written(m.part.Event) == m.part.Nth
	m.mu.Unlock()
	if last && !m.part.After {
		die()
	}
	err := write()
	if last {
		die()
	}
	return err
}

// written counts the writes so far that hold an event of a kind.
func (m *mortal) written(kind string) (n int) {
	for _, what := range m.writes {
		if strings.Contains(what, kind) {
			n++
		}
	}
	return n
}

func (m *mortal) Append(ctx context.Context, e journal.Entry) error {
	kinds := make([]string, 0, len(e.Records))
	for i := range e.Records {
		kinds = append(kinds, string(e.Records[i].Kind))
	}
	claimed := claims(&e)
	err := m.at(strings.Join(kinds, "+"), func() error { return m.Journal.Append(ctx, e) })
	if err == nil && claimed && m.part.Pause == PauseClaimed {
		m.part.pause()
	}
	return err
}

func (m *mortal) Acquire(ctx context.Context, run, owner string, now, until time.Time) (l journal.Lease, err error) {
	err = m.at("acquire", func() (err error) {
		l, err = m.Journal.Acquire(ctx, run, owner, now, until)
		return err
	})
	return l, err
}

func (m *mortal) Renew(ctx context.Context, owner string, runs []string, until time.Time) ([]string, error) {
	m.part.quiet.RLock()
	defer m.part.quiet.RUnlock()
	return m.Journal.Renew(ctx, owner, runs, until)
}

func (m *mortal) Release(ctx context.Context, run string, l journal.Lease) error {
	return m.at("release", func() error { return m.Journal.Release(ctx, run, l) })
}

func (m *mortal) Send(ctx context.Context, s journal.Signal) (fresh bool, err error) {
	err = m.at("send", func() (err error) {
		fresh, err = m.Journal.Send(ctx, s)
		return err
	})
	return fresh, err
}

func (m *mortal) Notify(ctx context.Context, n journal.Notice) (fresh bool, err error) {
	err = m.at("notify", func() (err error) {
		fresh, err = m.Journal.Notify(ctx, n)
		return err
	})
	return fresh, err
}

func (m *mortal) Decide(ctx context.Context, v journal.Vote) (a journal.Approval, err error) {
	err = m.at("decide", func() (err error) {
		a, err = m.Journal.Decide(ctx, v)
		return err
	})
	return a, err
}
