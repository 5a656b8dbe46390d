package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
)

// fullDisk is a journal that takes so many appends and no more. Then it may not
// be readable either, or take what is smaller after all.
type fullDisk struct {
	journal.Journal
	left   atomic.Int64
	unread bool
	once   bool
}

func full() error {
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the disk is full", Hint: "make room"}
}

func (j *fullDisk) Append(ctx context.Context, e journal.Entry) error {
	if left := j.left.Add(-1); left == -1 || left < 0 && !j.once {
		return full()
	}
	return j.Journal.Append(ctx, e)
}

func (j *fullDisk) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	if j.unread && j.left.Load() < 0 {
		return nil, full()
	}
	return j.Journal.Read(ctx, run, after, limit)
}

// Row 21: a run whose journal fails has an end all the same, to whoever asked:
// host_error with its cause, in one object or in the summary, and the error on
// stderr. Nothing that the journal does not hold is claimed.
func TestAFailingJournal(t *testing.T) {
	for _, c := range []struct {
		name               string
		json, unread, once bool
		want               []string
	}{
		{"object", true, false, false, []string{`"session":"s1","state":"stopped","stop":"host_error","detail":"LOCAL_STORAGE: `, `"verified":"unchecked","text":"",`, `"calls":null,`, `"first_bad":"harness"`}},
		{"object, of an end that fits", true, false, true, []string{`"stop":"host_error","detail":"LOCAL_STORAGE: the disk is full"`, `"calls":null,`}},
		{"text, of an end that fits", false, false, true, []string{"\nstop: host_error (LOCAL_STORAGE: the disk is full)\n"}},
		{"object, unreadable", true, true, false, []string{`"session":"s1","state":"stopped","stop":"host_error","detail":"LOCAL_STORAGE: `, `"calls":null,`}},
		{"text", false, false, false, []string{"\nstop: host_error (LOCAL_STORAGE: ", "\nverified: unchecked\n", "\nsession: s1; "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &fullDisk{Journal: memory.New(), unread: c.unread, once: c.once}
			j.left.Store(1)
			rt, err := holdfast.Open(t.Context(), holdfast.Options{Journal: j})
			if err != nil {
				t.Fatal(err)
			}
			defer rt.Close()
			steps := []script.Step{{Text: "Done."}}
			if c.once { // not the run's last record: the stop is another one
				steps = append([]script.Step{{Calls: []script.Call{{ID: "c1", Name: "none", Args: "{}"}}}}, steps...)
			}
			m, err := script.New(script.Config{Script: &script.Script{Steps: steps}})
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			a := &app{stdout: &output{w: &out}}
			flags := runFlags{journalFlags: journalFlags{json: c.json}}
			start := engine.Start{Agent: &engine.Agent{Model: m}, Question: "Do it.", Session: "s1"}
			err = a.drive(t.Context(), host{rt, j}, newDisplay(a.stdout), flags, start)
			if code := exitCode(err, &errs); code != exitFailure || !strings.HasPrefix(errs.String(), `{"error":{"code":"LOCAL_STORAGE",`) {
				t.Errorf("code %d, stderr %q", code, errs.String())
			}
			if got := errs.String(); !strings.Contains(got, "the disk is full") || c.once && !strings.Contains(got, "holdfast runs show run_") {
				t.Errorf("stderr %q", got)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
			if c.json {
				var r report
				if err := json.Unmarshal(out.Bytes(), &r); err != nil || !strings.HasPrefix(r.Run, "run_") {
					t.Errorf("%v: %s", err, out.String())
				}
			}
		})
	}
}
