package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// display writes lines for a person. Once a write has failed it stays silent:
// a reader that went away changes nothing about a run. It is safe for
// concurrent use, but for summary, which comes after a run's events.
type display struct {
	mu     sync.Mutex
	w      io.Writer
	broken bool
	clues  clues // of the events shown
}

func newDisplay(w io.Writer) *display { return &display{w: w} }

// printf writes one piece of text. What comes from models and tools goes
// through safeLine, safeLines or preview first.
func (d *display) printf(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return
	}
	_, err := fmt.Fprintf(d.w, format, args...)
	d.broken = err != nil
}

// event writes the line of one event: the kernel's own rendering, and a look
// at the content that came with it.
func (d *display) event(e kernel.Event, c engine.Content) {
	d.mu.Lock()
	d.clues.note(e, c)
	d.mu.Unlock()
	d.printf("%s\n", eventLine(e, c))
}

func eventLine(e kernel.Event, c engine.Content) string {
	line := kernel.DescribeEvent(e)
	switch {
	case c.Question != nil:
		line += ", model " + safeLine(modelName(c.Question))
	case c.Message != nil:
		if text := visibleText(c.Message); text != "" {
			line += ": " + preview(text)
		}
	case c.Result != nil:
		line += fmt.Sprintf(" in %s: %s", c.Result.Elapsed.Round(time.Millisecond/10), preview(c.Result.Text))
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
