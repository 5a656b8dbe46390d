package journal_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/journaltest"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

// rows is what stands beside the records, for whoever can write it.
type rows struct {
	journal.Reader

	heads     []journal.Head
	effects   []journal.Effect
	approvals []journal.Approval
	notices   []journal.Notice
}

func rowsOf(t *testing.T, j journal.Reader) *rows {
	t.Helper()
	r := &rows{Reader: j}
	var errs [4]error
	r.heads, errs[0] = j.Heads(t.Context(), journal.Query{})
	r.effects, errs[1] = j.Effects(t.Context(), journal.EffectQuery{})
	r.approvals, errs[2] = j.Approvals(t.Context(), journal.ApprovalQuery{})
	r.notices, errs[3] = j.AllNotices(t.Context(), story4(r.heads).SessionOf())
	if errs != [4]error{} {
		t.Fatal(errs)
	}
	return r
}

// story4 is the run that has notices.
func story4(heads []journal.Head) *journal.Head {
	return &heads[slices.IndexFunc(heads, func(h journal.Head) bool { return h.Run == "story-4" })]
}

func (r *rows) Head(_ context.Context, run string) (journal.Head, error) {
	for _, h := range r.heads {
		if h.Run == run {
			return h, nil
		}
	}
	return journal.Head{}, journal.NotFound(run)
}

func (r *rows) Effect(_ context.Context, id string) (journal.Effect, error) {
	for _, e := range r.effects {
		if e.ID == id {
			return e, nil
		}
	}
	return journal.Effect{}, journal.NoEffect(id)
}

func (r *rows) Effects(_ context.Context, q journal.EffectQuery) ([]journal.Effect, error) {
	return slices.DeleteFunc(slices.Clone(r.effects), func(e journal.Effect) bool { return e.Run != q.Run }), nil
}

func (r *rows) Approvals(_ context.Context, q journal.ApprovalQuery) ([]journal.Approval, error) {
	return slices.DeleteFunc(slices.Clone(r.approvals), func(a journal.Approval) bool { return a.Run != q.Run }), nil
}

func (r *rows) AllNotices(_ context.Context, s journal.SessionID) ([]journal.Notice, error) {
	return slices.DeleteFunc(slices.Clone(r.notices), func(n journal.Notice) bool { return n.Of() != s }), nil
}

// other is another value of a column.
func other(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch x := v.Interface().(type) {
	case time.Time:
		out.Set(reflect.ValueOf(x.Add(1)))
	case []byte:
		out.SetBytes(append(slices.Clone(x), 'x'))
	case kernel.Approvers:
		x.Quorum++
		out.Set(reflect.ValueOf(x))
	default:
		switch v.Kind() {
		case reflect.String:
			out.SetString(v.String() + "x")
		case reflect.Bool:
			out.SetBool(!v.Bool())
		default:
			out.SetInt(v.Int() + 1)
		}
	}
	return out
}

// Any one column of any row is found, by both verifications where it is the
// run's own.
func TestVerifyFindsAnyColumn(t *testing.T) {
	j := memory.New()
	journaltest.Story(t, j)
	file := rowsOf(t, j)
	free := []string{"Resolutions", "Votes"} // rows of their own
	try := func(name string, row any, what journal.FlawKind) {
		v := reflect.ValueOf(row).Elem()
		for i := range v.NumField() {
			column := v.Type().Field(i).Name
			if slices.Contains(free, column) {
				continue
			}
			old := reflect.ValueOf(v.Field(i).Interface())
			v.Field(i).Set(other(v.Field(i)))
			report, err := journal.VerifyAll(t.Context(), file, nil)
			if err != nil || report.Flaw == nil || report.Flaw.What != what || report.Flaw.ID == "" {
				t.Errorf("%s of %s: %v, %v", column, name, report.Flaw, err)
			}
			v.Field(i).Set(old)
		}
	}
	for i := range file.effects {
		e := &file.effects[i]
		if e.Attempts > 1 { // how often a key was claimed by others is not known
			free = append(free, "Attempts")
		}
		try(fmt.Sprint(e.Run, " ", e.Call), e, journal.FlawEffect)
	}
	for i := range file.approvals {
		try(fmt.Sprint(file.approvals[i].Run, " ", file.approvals[i].Call), &file.approvals[i], journal.FlawApproval)
	}
	free = append(free, "Number", "At") // the events do not say when it was sent
	for i := range file.notices {
		if file.notices[i].ID != "waits" { // which no run has taken up
			try("notice "+file.notices[i].ID, &file.notices[i], journal.FlawNotice)
		}
	}
	if report, err := journal.VerifyAll(t.Context(), file, nil); err != nil || report.Flaw != nil {
		t.Errorf("put back: %v, %v", report.Flaw, err)
	}
}

// Any one row that is gone is found.
func TestVerifyFindsAnyMissingRow(t *testing.T) {
	j := memory.New()
	journaltest.Story(t, j)
	found := func(name string, bad *rows, run string) {
		t.Helper()
		all, err := journal.VerifyAll(t.Context(), bad, nil)
		one, err1 := journal.Verify(t.Context(), bad, run, nil)
		if err != nil || err1 != nil || all.Flaw == nil || one.Flaw == nil || one.Flaw.Run != run {
			t.Errorf("%s: %v and %v, %v, %v", name, all.Flaw, one.Flaw, err, err1)
		}
	}
	file := rowsOf(t, j)
	for i, e := range file.effects {
		bad := rowsOf(t, j)
		bad.effects = slices.Delete(bad.effects, i, i+1)
		found("effect of "+e.Run+" "+e.Call, bad, e.Run)
		for k := range e.Resolutions {
			bad := rowsOf(t, j)
			bad.effects[i].Resolutions = slices.Delete(slices.Clone(e.Resolutions), k, k+1)
			found("resolution of "+e.Run+" "+e.Call, bad, e.Run)
		}
	}
	for i, n := range file.notices {
		if n.ID != "waits" {
			bad := rowsOf(t, j)
			bad.notices = slices.Delete(bad.notices, i, i+1)
			found("notice "+n.ID, bad, "story-4")
		}
	}
	for i, a := range file.approvals {
		bad := rowsOf(t, j)
		bad.approvals = slices.Delete(bad.approvals, i, i+1)
		found("approval of "+a.Run+" "+a.Call, bad, a.Run)
		if a.State == journal.ApprovalOpen {
			continue // what people have said so far is told to the run when it is decided
		}
		for k := range a.Votes {
			bad := rowsOf(t, j)
			bad.approvals[i].Votes = slices.Delete(slices.Clone(a.Votes), k, k+1)
			found("vote on "+a.Run+" "+a.Call, bad, a.Run)
		}
	}
}

// A run that goes on while its rows are read raises no false alarm.
func TestVerifyRowsBetweenReads(t *testing.T) {
	for at := 0; ; at++ {
		j := memory.New()
		journaltest.Story(t, j)
		left := at
		r := between{j, func() error {
			if left--; left == -1 {
				goOn(t, j)
			}
			return nil
		}}
		report, err := journal.Verify(t.Context(), r, "story-3", nil)
		if err != nil || report.Flaw != nil {
			t.Fatalf("written before read %d: %v, %v", at+1, report.Flaw, err)
		}
		if left >= 0 {
			return
		}
	}
}

// goOn cancels story-3, which asks.
func goOn(t *testing.T, j journal.Journal) {
	t.Helper()
	records, err := j.Read(t.Context(), "story-3", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s kernel.State
	for i := range records {
		e, err := kernel.DecodeEvent(records[i].Payload)
		if err == nil {
			s, _, err = kernel.Step(s, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	head, err := j.Head(t.Context(), "story-3")
	if err != nil {
		t.Fatal(err)
	}
	e := kernel.Cancelled{At: s.Now + 1}
	payload, err := kernel.EncodeEvent(e)
	if err != nil {
		t.Fatal(err)
	}
	s, commands, err := kernel.Step(s, e)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, int64(e.At)).UTC()
	reached := head
	reached.Reach(&s, at)
	entry := journal.Entry{Head: reached, Lease: &head.Lease, Now: at, Records: []journal.Record{
		{Seq: head.LastSeq + 1, At: at, Kind: e.Kind(), Payload: payload},
	}}
	for _, c := range commands {
		if c, ok := c.(kernel.CloseApproval); ok {
			entry.Closed = append(entry.Closed, journal.Close{Approval: journal.ApprovalID("story-3", c.Cmd), As: journal.ApprovalState(c.As), At: at})
		}
	}
	if err := j.Append(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
}
