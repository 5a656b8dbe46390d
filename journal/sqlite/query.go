package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// selectReady finds the runs in the three small indexes of those that may be
// ready, and then looks at each (see journal.Head.Ready).
const selectReady = `SELECT ` + headColumns + ` FROM runs WHERE run IN (
		SELECT run FROM runs WHERE state = 'running'
		UNION SELECT run FROM runs INDEXED BY runs_signalled WHERE state <> 'stopped' AND pending > 0
		UNION SELECT run FROM runs WHERE due IS NOT NULL AND due <= ?)
	AND state <> 'stopped' AND (lease_owner = '' OR lease_until <= ? OR lease_until > ?)
	ORDER BY updated_at, run LIMIT ?`

func (p *pool) head(ctx context.Context, run string) (journal.Head, error) {
	heads, err := query(ctx, p, scanHead, selectHead, run)
	switch {
	case err != nil:
		return journal.Head{}, err
	case len(heads) == 0:
		return journal.Head{}, journal.NotFound(run)
	}
	return heads[0], nil
}

// Head returns a run's head. See [journal.Reader].
func (p *pool) Head(ctx context.Context, run string) (h journal.Head, err error) {
	err = p.reading(func() error {
		h, err = p.head(ctx, run)
		return err
	})
	return h, err
}

// Heads returns the heads that match q. See [journal.Reader].
func (p *pool) Heads(ctx context.Context, q journal.Query) (heads []journal.Head, err error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	s := selectHeads(&q)
	err = p.reading(func() error {
		heads, err = collect(ctx, p.db, scanHead, s.of(headColumns), s.args...)
		return err
	})
	return heads, err
}

// Ready returns the runs that somebody can take up. See [journal.Reader].
func (p *pool) Ready(ctx context.Context, now time.Time, limit int) (heads []journal.Head, err error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	err = p.reading(func() error {
		heads, err = query(ctx, p, scanHead, selectReady, now.UnixNano(), now.UnixNano(), now.Add(journal.MaxLease).UnixNano(), orAll(limit))
		return err
	})
	return heads, err
}

// Approval returns one approval. See [journal.Reader].
func (p *pool) Approval(ctx context.Context, id string) (journal.Approval, error) {
	found, err := p.approvals(ctx, &selection{table: "approvals", where: []string{"id = ?"}, args: []any{id}})
	if err != nil {
		return journal.Approval{}, err
	}
	if len(found) == 0 {
		return journal.Approval{}, journal.NoApproval(id)
	}
	return found[0], nil
}

// Approvals returns the approvals that match. See [journal.Reader].
func (p *pool) Approvals(ctx context.Context, q journal.ApprovalQuery) ([]journal.Approval, error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	return p.approvals(ctx, selectApprovals(&q))
}

func (p *pool) approvals(ctx context.Context, s *selection) ([]journal.Approval, error) {
	found, votes, err := both(ctx, p, scanApproval, s.of(approvalColumns), scanVote, s.parts(voteColumns, "votes", "approval"), s.args)
	at := make(map[string]*journal.Approval, len(found))
	for i := range found {
		at[found[i].ID] = &found[i]
	}
	for _, v := range votes {
		a := at[v.Approval]
		a.Votes = append(a.Votes, v)
	}
	return found, err
}

// Effect returns a row of the ledger. See [journal.Reader].
func (p *pool) Effect(ctx context.Context, id string) (journal.Effect, error) {
	found, err := p.effects(ctx, &selection{table: "effects", where: []string{"id = ?"}, args: []any{id}})
	if err != nil {
		return journal.Effect{}, err
	}
	if len(found) == 0 {
		return journal.Effect{}, journal.NoEffect(id)
	}
	return found[0], nil
}

// Effects returns the rows of the ledger that match. See [journal.Reader].
func (p *pool) Effects(ctx context.Context, q journal.EffectQuery) ([]journal.Effect, error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	return p.effects(ctx, selectEffects(&q))
}

func (p *pool) effects(ctx context.Context, s *selection) ([]journal.Effect, error) {
	found, resolutions, err := both(ctx, p, scanEffect, s.of(effectColumns),
		scanResolution, s.parts(resolutionColumns, "resolutions", "effect"), s.args)
	at := make(map[string]*journal.Effect, len(found))
	for i := range found {
		at[found[i].ID] = &found[i]
	}
	for _, r := range resolutions {
		e := at[r.Effect]
		e.Resolutions = append(e.Resolutions, r)
	}
	return found, err
}

// both returns what two queries with the same arguments select at one instant.
func both[T, U any](ctx context.Context, p *pool, scanT func(scanner) (T, error), queryT string,
	scanU func(scanner) (U, error), queryU string, args []any,
) (ts []T, us []U, err error) {
	err = p.reading(func() (err error) {
		snapshot, err := p.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, snapshot.Rollback()) }()
		if ts, err = collect(ctx, snapshot, scanT, queryT, args...); err != nil || len(ts) == 0 {
			return err
		}
		us, err = collect(ctx, snapshot, scanU, queryU, args...)
		return err
	})
	return ts, us, err
}

// selection is what a list restricts, in an order that an index has.
type selection struct {
	table string
	where []string
	args  []any
	order string // empty: of one row
	limit int
}

// equal restricts a column, unless the value is empty.
func (s *selection) equal(column, value string) {
	if value != "" {
		s.restrict(column, value)
	}
}

func (s *selection) restrict(column, value string) {
	s.where = append(s.where, column+" = ?")
	s.args = append(s.args, value)
}

// tail is the rest of a query behind its table.
func (s *selection) tail() string {
	text := ""
	if len(s.where) > 0 {
		text = ` WHERE ` + strings.Join(s.where, ` AND `)
	}
	if s.order != "" {
		text += ` ORDER BY ` + s.order + ` LIMIT ` + strconv.Itoa(orAll(s.limit))
	}
	return text
}

// of selects from the table.
func (s *selection) of(columns string) string {
	return `SELECT ` + columns + ` FROM ` + s.table + s.tail()
}

// parts selects, oldest first, what belongs to the selected rows.
func (s *selection) parts(columns, parts, ref string) string {
	return `SELECT ` + columns + ` FROM ` + parts + ` WHERE ` + ref + ` IN (SELECT id FROM ` + s.table + s.tail() + `) ORDER BY ` + ref + `, number`
}

// selectHeads restricts first what leaves least, so that SQLite takes the index
// of that: a column after a plus is compared and never looked up. A session has
// few runs, an owner may have many; few have not stopped.
func selectHeads(q *journal.Query) *selection {
	s := &selection{table: "runs", order: "started_at DESC, run DESC", limit: q.Limit}
	compare := ""
	if q.Session != "" {
		s.restrict("session", q.Session)
		compare = "+"
	}
	switch { // as the indexes say
	case q.Signalled:
		s.where = append(s.where, compare+"state <> 'stopped'", compare+"pending > 0")
		compare = "+"
	case q.State != "" && q.State != journal.Stopped:
		s.where = append(s.where, compare+"state <> 'stopped'")
		compare = "+"
	}
	if q.Owner != nil {
		s.restrict(compare+"tenant", q.Owner.Tenant)
		s.restrict(compare+"user", q.Owner.User)
		compare = "+"
	}
	s.equal(compare+"user", q.User)
	s.equal(compare+"tenant", q.Tenant)
	s.equal("+state", string(q.State))
	return s
}

// selectApprovals restricts first what leaves least, so that SQLite takes the
// index of that: a column after a plus is compared and never looked up.
func selectApprovals(q *journal.ApprovalQuery) *selection {
	s := &selection{table: "approvals", order: "asked DESC, id DESC", limit: q.Limit}
	s.narrow(q.Run, q.Owner, string(q.State))
	return s
}

func selectEffects(q *journal.EffectQuery) *selection {
	s := &selection{table: "effects", order: "claimed_at DESC, id DESC", limit: q.Limit}
	if (q.State == journal.EffectRunning || q.State == journal.EffectUnknown) && q.Run == "" && q.Owner == nil {
		s.table = "effects INDEXED BY effects_open" // few of all, which are quickly sorted
		s.where = []string{"state IN ('running', 'unknown')"}
	}
	s.narrow(q.Run, q.Owner, string(q.State))
	return s
}

func (s *selection) narrow(run string, owner *journal.Owner, state string) {
	compare := ""
	if run != "" {
		s.restrict("run", run)
		compare = "+"
	}
	if owner != nil {
		s.restrict(compare+"tenant", owner.Tenant)
		s.restrict(compare+"user", owner.User)
		compare = "+"
	}
	s.equal(compare+"state", state)
}
