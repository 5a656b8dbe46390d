package cli

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/verify"
)

// recorded is a run read back: what the engine makes of it, and its records.
type recorded struct {
	*engine.Run
	question string
	events   []journal.Record
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
	replay := engine.NewReplay(id, nil)
	if err := replay.Fold(records); err != nil {
		return nil, err
	}
	r := &recorded{Run: replay.Snapshot(h), events: records, question: h.Question}
	if len(records) > 0 {
		if c, err := engine.DecodeContent(records[0].Kind, records[0].Content); err == nil && c.Question != nil {
			r.question = c.Question.Text
		}
	}
	return r, nil
}

// showRun shows a run of the given tenant and user, where they are given. To
// them another one's run is not there (row 43).
func (a *app) showRun(ctx context.Context, flags journalFlags, owner journal.Query, id string) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	r, err := readRun(ctx, reader, id)
	if err != nil {
		return err
	}
	if owner.Tenant != "" && owner.Tenant != r.Head.Tenant || owner.User != "" && owner.User != r.Head.User {
		return journal.NotFound(id)
	}
	if flags.json {
		out, err := newRecord(r)
		if err != nil {
			return err
		}
		return writeJSON(a.stdout, out)
	}
	return r.show(newDisplay(a.stdout))
}

func (r *recorded) show(d *display) error {
	h := r.Head
	d.printf("run %s, session %s", safeLine(h.Run), safeLine(h.Session))
	if h.Tenant != "" || h.User != "" {
		d.printf(", tenant %s, user %s", orDash(safeLine(h.Tenant)), orDash(safeLine(h.User)))
	}
	d.printf("\nquestion: %s\n\ntimeline\n", preview(r.question))
	for _, rec := range r.events {
		e, err := kernel.DecodeEvent(rec.Payload)
		if err != nil {
			return err
		}
		c, err := engine.DecodeContent(rec.Kind, rec.Content)
		if err != nil {
			return err
		}
		d.printf("%3d %s ", rec.Seq, rec.At.Format("15:04:05.000"))
		d.event(e, c)
	}
	d.printf("\nconversation\n")
	d.conversation(r.History)
	d.summary(r.Run)
	return nil
}

// record is what `runs show --json` prints: the report of `run --json`, and
// what it rests on. Private reasoning is left out.
type record struct {
	report
	Tenant    string    `json:"tenant"`
	User      string    `json:"user"`
	Question  string    `json:"question"`
	StartedAt time.Time `json:"started_at"`
	Trace     []trace   `json:"trace"`
	Events    []event   `json:"events"`
	Messages  []message `json:"messages"`
}

// trace is one run of a tool (row 91).
type trace struct {
	Turn      int    `json:"turn"`
	Tool      string `json:"tool"`
	Call      string `json:"call"`
	Code      string `json:"code"` // "ok", or the code of the error
	ElapsedMS int64  `json:"elapsed_ms"`
	Evidence  string `json:"evidence"`
}

func newTrace(r *verify.Result) trace {
	t := trace{Turn: r.Turn, Tool: r.Tool, Call: r.Call, Code: "ok", ElapsedMS: r.Elapsed.Milliseconds(), Evidence: r.Evidence}
	if r.IsError {
		t.Code = string(r.Code)
	}
	return t
}

type event struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Text string    `json:"text"` // the timeline's line
}

type message struct {
	Role   string        `json:"role"`
	Text   string        `json:"text"`
	Calls  []kernel.Call `json:"calls,omitempty"`
	CallID string        `json:"call_id,omitempty"`
	Error  bool          `json:"is_error,omitempty"`
}

func newRecord(r *recorded) (record, error) {
	out := record{
		report: newReport(r.Run), Tenant: r.Head.Tenant, User: r.Head.User, Question: r.question, StartedAt: r.Head.StartedAt,
		Trace: []trace{}, Events: []event{}, Messages: []message{},
	}
	for _, rec := range r.events {
		e, err := kernel.DecodeEvent(rec.Payload)
		if err != nil {
			return record{}, err
		}
		c, err := engine.DecodeContent(rec.Kind, rec.Content)
		if err != nil {
			return record{}, err
		}
		out.Events = append(out.Events, event{Seq: rec.Seq, At: rec.At, Kind: string(rec.Kind), Text: eventLine(e, c)})
	}
	for i := range r.Results {
		out.Trace = append(out.Trace, newTrace(&r.Results[i]))
	}
	for i := range r.History {
		out.Messages = append(out.Messages, newMessage(&r.History[i]))
	}
	return out, nil
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
