package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// Case 42, rows 72 and 73: four notices go with a request and five fail the
// preparation, as do 241 characters and a blank text; characters are counted,
// not bytes. Nothing is sent then, and the history is as it was.
func TestNoticeBounds(t *testing.T) {
	for name, c := range map[string]struct {
		texts []string
		ok    bool
	}{
		"four":           {[]string{"a", "b", "c", "d"}, true},
		"five":           {[]string{"a", "b", "c", "d", "e"}, false},
		"240 characters": {[]string{strings.Repeat("é", 240)}, true},
		"241 characters": {[]string{strings.Repeat("é", 241)}, false},
		"blank":          {[]string{"fine", " \t\n"}, false},
		"none":           {nil, true},
	} {
		f := &fake{steps: []func(*model.Request) (*model.Reply, error){answers("done")}}
		d := begin(t, agent(t, f, 10), "run_1", "why", nil)
		begun := d.take(d.x.Begin())
		for i, text := range c.texts {
			d.notice(fmt.Sprint("n", i), text)
		}
		d.goOn(begun)
		out := d.x.State.Outcome
		want, sends, messages := kernel.StopAnswered, 1, 2
		if !c.ok {
			want, sends, messages = kernel.StopContext, 0, 1
		}
		if out.Stop != want || len(f.seen) != sends || len(d.x.History.Messages()) != messages {
			t.Errorf("%s: %s (%s) after %d requests, %d messages", name, out.Stop, out.Detail, len(f.seen), len(d.x.History.Messages()))
		}
		if !c.ok && len(d.x.State.Notices) != len(c.texts) {
			t.Errorf("%s: %v are pending", name, d.x.State.Notices)
		}
	}
}

// The configured bounds hold in the place of the usual ones.
func TestNoticeBoundsAreConfigured(t *testing.T) {
	for chars, want := range map[int]kernel.Stop{10: kernel.StopAnswered, 11: kernel.StopContext} {
		f := &fake{steps: []func(*model.Request) (*model.Reply, error){answers("done")}}
		a := agent(t, f, 10)
		a.Context.Notices.Max, a.Context.Notices.Chars = 6, 10
		d := begin(t, a, "run_1", "why", nil)
		begun := d.take(d.x.Begin())
		for i := range 6 {
			d.notice(fmt.Sprint("n", i), strings.Repeat("x", chars))
		}
		d.goOn(begun)
		if got := d.x.State.Outcome; got.Stop != want {
			t.Errorf("%d characters: %s (%s)", chars, got.Stop, got.Detail)
		}
	}
}

// Case 43, rows 71 and 78: a request holds its notice once, and the history
// never; the reply acknowledges it, and a request that failed leaves it for the
// next one.
func TestNoticeGoesOnce(t *testing.T) {
	f := &fake{steps: []func(*model.Request) (*model.Reply, error){
		fails(model.Error{Kind: kernel.FailStatus, Status: 529}), asks("c1"), asks("c2"), answers("done"),
	}}
	a := agent(t, f, 10)
	d := begin(t, a, "run_1", "why", nil)
	d.before = func(c kernel.PrepareContext) {
		if c.Turn < 3 {
			d.notice(fmt.Sprint("n", c.Turn), fmt.Sprintf("the bell rang, %d", c.Turn))
		}
	}
	if out := d.run(); out.Stop != kernel.StopAnswered {
		t.Fatalf("%+v", out)
	}
	for i, want := range []string{"the bell rang, 1", "the bell rang, 1", "the bell rang, 2", ""} {
		all := texts(&f.seen[i])
		last := all[len(all)-1]
		if n := count(all, "the bell rang"); want == "" && n != 0 || want != "" && (n != 1 || !strings.Contains(last, want) || !strings.Contains(last, "<notice source=")) {
			t.Errorf("request %d: %q", i+1, all)
		}
	}
	if holds(d.x.History.Messages(), "bell") || len(d.x.State.Notices) != 0 {
		t.Errorf("left: %v; history %v", d.x.State.Notices, d.x.History.Messages())
	}
	seen := f.seen
	f.seen = append(seen[:0:0], seen[0], seen[2], seen[3]) // a retry is not prepared again
	replayed(t, d, a)
}
