package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// recorded is a run read back: what the engine makes of it, and its records.
type recorded struct {
	*engine.Run
	question string
	records  []journal.Record
	updates  []engine.Update // one for each record

	approvals []journal.Approval // latest asked first, as are the next
	effects   []journal.Effect
}

func readRun(ctx context.Context, j journal.Reader, id string) (*recorded, error) {
	h, err := j.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	records, err := j.Read(ctx, id, 0, 0)
	if err != nil {
		return nil, err
	}
	r := &recorded{question: h.Question, records: records}
	replay := engine.NewReplay(id, nil)
	for i := range records {
		event, content, err := replay.Next(&records[i])
		if err != nil {
			return nil, err
		}
		if content.Question != nil {
			r.question = content.Question.Text
		}
		r.updates = append(r.updates, engine.Update{
			Seq: records[i].Seq, Event: event, Content: content.Public(),
			Committed: engine.Public(replay.Added()),
		})
	}
	r.Run = replay.Snapshot(h)
	if r.approvals, err = j.Approvals(ctx, journal.ApprovalQuery{Run: id}); err != nil {
		return nil, err
	}
	r.effects, err = j.Effects(ctx, journal.EffectQuery{Run: id})
	return r, err
}

// showRun shows a run that is there for whoever looks.
func (a *app) showRun(ctx context.Context, flags journalFlags, id string) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	if _, err := findRun(ctx, reader, id, flags.who.sees); err != nil {
		return err
	}
	r, err := readRun(ctx, reader, id)
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, newRecord(r))
	}
	d := newDisplay(a.stdout)
	r.show(d)
	d.summary(r.Run, flags.again())
	r.ledger(d)
	if r.Outcome == nil {
		return d.steps(ctx, reader, r.approvals, r.Run, flags)
	}
	d.loose(r.effects, flags)
	return nil
}

func (r *recorded) show(d *display) {
	h := r.Head
	d.printf("run %s, session %s", safeLine(h.Run), safeLine(h.Session))
	if h.Tenant != "" || h.User != "" {
		d.printf(", tenant %s, user %s", orDash(safeLine(h.Tenant)), orDash(safeLine(h.User)))
	}
	d.printf("\nstarted %s; the times below are UTC\nquestion: %s\n\ntimeline\n", h.StartedAt.UTC().Format(time.RFC3339), preview(r.question))
	for i, u := range r.updates {
		for _, line := range d.lines(u) {
			d.printf("%3d %s %s\n", u.Seq, r.records[i].At.UTC().Format("15:04:05.000"), line)
		}
	}
	d.printf("\nconversation\n")
	d.conversation(r.History)
}

// ledger writes what the run asked people and what it changed outside, a line
// each. What is still open follows in full.
func (r *recorded) ledger(d *display) {
	for i := range r.approvals {
		p := &r.approvals[i]
		if r.Outcome == nil && p.State == journal.ApprovalOpen {
			continue
		}
		d.printf("approval %s: %s, call %s, %s\n", safeLine(p.ID), p.State, safeLine(p.Call), toolAndEffect(p))
	}
	for i := range r.effects {
		e := &r.effects[i]
		d.printf("effect %s: %s, call %s, %s (effect %s), attempts %d\n", safeLine(e.ID), e.State, safeLine(e.Call), safeLine(e.Tool), e.Class, e.Attempts)
	}
}

// record is what `runs show --json` prints: the report of `run --json`, and
// what it rests on. Private reasoning is left out.
type record struct {
	report
	Tenant    string     `json:"tenant"`
	User      string     `json:"user"`
	Question  string     `json:"question"`
	StartedAt time.Time  `json:"started_at"`
	Finding   string     `json:"finding"` // what the verifier said
	Trace     []trace    `json:"trace"`
	Events    []event    `json:"events"`
	Messages  []message  `json:"messages"`
	Driver    string     `json:"driver,omitempty"`
	Approvals []approval `json:"approvals"` // latest asked first
	Effects   []effect   `json:"effects"`   // latest claimed first
}

type event struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Text string    `json:"text"` // the timeline's lines
}

type message struct {
	Role   string        `json:"role"`
	Text   string        `json:"text"`
	Calls  []kernel.Call `json:"calls,omitempty"`
	CallID string        `json:"call_id,omitempty"`
	Error  bool          `json:"is_error,omitempty"`
}

func newRecord(r *recorded) record {
	out := record{
		report: newReport(r.Run), Tenant: r.Head.Tenant, User: r.Head.User, Question: r.question, StartedAt: r.Head.StartedAt,
		Finding: standing(r.Run).Finding,
		Trace:   newTrace(r.Head.Run, r.updates), Events: []event{}, Approvals: []approval{}, Effects: []effect{},
	}
	if r.Head.Lease.Held(time.Now()) {
		out.Driver = r.Head.Lease.Owner
	}
	for i := range r.approvals {
		out.Approvals = append(out.Approvals, newApproval(&r.approvals[i]))
	}
	for i := range r.effects {
		out.Effects = append(out.Effects, newEffect(&r.effects[i]))
	}
	d := newDisplay(io.Discard)
	for i, u := range r.updates {
		rec := &r.records[i]
		out.Events = append(out.Events, event{Seq: rec.Seq, At: rec.At, Kind: string(rec.Kind), Text: strings.Join(d.lines(u), "\n")})
	}
	out.Messages = newMessages(r.History)
	return out
}

func newMessages(history []kernel.Message) []message {
	out := make([]message, 0, len(history))
	for i := range history {
		out = append(out, newMessage(&history[i]))
	}
	return out
}

func newMessage(m *kernel.Message) message {
	out := message{Role: string(m.Role)}
	for _, b := range m.Blocks {
		switch b.Kind {
		case kernel.BlockText:
			out.Text += b.Text
		case kernel.BlockCall:
			out.Calls = append(out.Calls, *b.Call)
		case kernel.BlockResult:
			out.Text, out.CallID, out.Error = b.Text, b.CallID, b.IsError
		}
	}
	return out
}
