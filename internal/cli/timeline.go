package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// display writes lines for a person. It does not report a write that failed:
// that changes nothing about a run, and whoever made the writer knows of it. It
// is safe for concurrent use, but for summary, which comes after a run's
// events.
type display struct {
	mu       sync.Mutex
	feed     map[string]chan struct{} // closed when the decision on a call, by its id, is shown; nil: none will be
	w        io.Writer
	held     *bytes.Buffer   // what waits for the answer to a question; nil: nothing has to
	clues    clues           // of the events shown
	returned map[string]bool // the calls of the run that ran
	decided  map[string]bool // those that policy was asked about
	aside    string          // to be said before the run
}

func newDisplay(w io.Writer) *display {
	return &display{w: w, returned: map[string]bool{}, decided: map[string]bool{}}
}

// printf writes one piece of text. What comes from models and tools goes
// through safeLine, safeLines or preview first.
func (d *display) printf(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.w
	if d.held != nil {
		w = d.held
	}
	_, _ = fmt.Fprintf(w, format, args...) // see display
}

// update writes the lines of one record; a delta has none.
func (d *display) update(u engine.Update) {
	if u.Event == nil {
		return
	}
	for _, line := range d.lines(u) {
		d.printf("%s\n", line)
	}
	if decided, ok := u.Event.(kernel.CallDecided); ok {
		ch := d.shown(decided.Call)
		d.mu.Lock()
		defer d.mu.Unlock()
		closeOnce(ch)
	}
}

// lines are what an update is to a reader: the kernel's own rendering with a
// look at the content that came with it, then what the model is told of the
// calls that did not run.
func (d *display) lines(u engine.Update) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clues.note(u.Event, u.Content)
	if _, first := u.Event.(kernel.RunStarted); first {
		d.returned, d.decided = map[string]bool{}, map[string]bool{}
	}
	if u.Content.Result != nil {
		call, _ := engine.ResultOf(u.Event)
		d.returned[call] = true
	}
	lines := []string{eventLine(u.Event, u.Content)}
	switch e := u.Event.(type) {
	case kernel.ApprovalDecided: // a worker did not see what was asked before
		d.decided[e.Call] = true
	case kernel.CallDecided:
		if d.decided[e.Call] {
			lines[0] += " (the policy was asked again)"
		}
		d.decided[e.Call] = true
	}
	for i := range u.Committed {
		if b := resultOf(&u.Committed[i]); b != nil && !d.returned[b.CallID] {
			lines = append(lines, "call "+safeLine(b.CallID)+": answered: "+preview(b.Text))
		}
	}
	return lines
}

// resultOf returns the result block of a tool's message; nil: it is another
// one.
func resultOf(m *kernel.Message) *kernel.Block {
	if m.Role != kernel.RoleTool {
		return nil
	}
	return &m.Blocks[0]
}

func eventLine(e kernel.Event, c engine.Content) string {
	if r, ok := e.(kernel.Resumed); ok {
		r.By = driver(r.By)
		e = r
	}
	line := kernel.DescribeEvent(e)
	switch {
	case c.Question != nil:
		line += ", model " + safeLine(modelName(c.Question))
	case c.Message != nil:
		if text := visibleText(c.Message); text != "" {
			line += ": " + preview(text)
		}
	case c.Result != nil:
		if c.Result.Elapsed > 0 {
			line += " in " + c.Result.Elapsed.Round(time.Millisecond/10).String()
		}
		line += ": " + preview(c.Result.Text)
	case c.Said != nil:
		line += ": " + preview(c.Said.Text)
	}
	return line
}

func modelName(q *engine.Question) string {
	name := q.Provider
	if q.Model != "" {
		name += " " + q.Model
	}
	if q.Scripted {
		name += " (a fixed script, no real model)"
	}
	return name
}

// visibleText joins the text blocks of a message. Private reasoning is in
// other blocks and is never shown.
func visibleText(m *kernel.Message) string {
	text := ""
	for _, b := range m.Blocks {
		if b.Kind == kernel.BlockText {
			text += b.Text
		}
	}
	return text
}

// conversation writes the canonical history of a run.
func (d *display) conversation(history []kernel.Message) {
	for _, m := range history {
		for _, b := range m.Blocks {
			switch b.Kind {
			case kernel.BlockText:
				d.printf("%s: %s\n", m.Role, safeLines(b.Text))
			case kernel.BlockCall:
				d.printf("%s: calls %s id=%s %s\n", m.Role, safeLine(b.Call.Name), safeLine(b.Call.ID), safeLine(b.Call.Arguments))
			case kernel.BlockResult:
				d.printf("%s: %s: %s\n", m.Role, safeLine(b.CallID), safeLines(b.Text))
			}
		}
	}
}
