package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// baseline is the scenario as it goes when nobody disturbs it.
type baseline struct {
	writes []string
	end    *end
}

func undisturbed(t *testing.T) *baseline {
	t.Helper()
	dir := t.TempDir()
	out, died := play(t, part{Dir: dir})
	b := &baseline{}
	if err := json.Unmarshal(out, &b.writes); died || err != nil {
		t.Fatalf("undisturbed: killed %t, %v", died, err)
	}
	b.end = read(t, dir)
	b.end.wantSound(t)
	if b.end.run.Outcome.Stop != kernel.StopAnswered {
		t.Fatalf("undisturbed: %+v", b.end.run.Outcome)
	}
	if got := happened(dir, seen); len(got) != 4 { // each call once
		t.Fatalf("undisturbed: the hook behind the calls saw %q", got)
	}
	return b
}

// goOn lets this process go on with the run: another one than was killed.
func goOn(t *testing.T, s Subject, dir string) {
	t.Helper()
	if _, err := (part{Dir: dir, Work: true}).play(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// play lets another process play a part. It reports what that wrote, and whether
// it was killed.
func play(t *testing.T, p part) (out []byte, died bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := command(ctx, t, p)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		t.Fatalf("a process does not end: %+v\n%s", p, stderr.Bytes())
	case err != nil && cmd.ProcessState.Exited():
		t.Fatalf("a process failed: %+v: %v\n%s", p, err, stderr.Bytes())
	}
	return stdout.Bytes(), err != nil
}

// command is a process that plays a part.
func command(ctx context.Context, t *testing.T, p part) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"="+string(text))
	return cmd
}

// killedAtEachWrite is Report A14 at every place: it kills the process right before and right behind each of its
// writes.
func killedAtEachWrite(t *testing.T, s Subject, base *baseline) {
	for i, what := range base.writes {
		for _, after := range []bool{false, true} {
			when := map[bool]string{false: "before", true: "behind"}[after]
			t.Run(fmt.Sprintf("%02d %s %s", i+1, when, what), func(t *testing.T) {
				t.Parallel()
				recovers(t, s, base, Kill{Write: i + 1, After: after})
			})
		}
	}
}

// killedInEachCall is Report A14, (a) and (b): it kills the process in the middle of each tool, before and
// behind its effect, and of each request.
func killedInEachCall(t *testing.T, s Subject, base *baseline) {
	var kills []Kill
	for _, name := range []string{look, put, move, charge, checked, seen} {
		kills = append(kills, Kill{Call: name}, Kill{Call: name, After: true})
	}
	for turn := 1; turn <= 3; turn++ {
		kills = append(kills, Kill{Turn: turn})
	}
	for _, k := range kills {
		t.Run(fmt.Sprintf("%+v", k), func(t *testing.T) {
			t.Parallel()
			recovers(t, s, base, k)
		})
	}
}

// recovers kills a process, lets another one go on, and looks at what came of
// it; a further one changes nothing.
func recovers(t *testing.T, s Subject, base *baseline, k Kill) {
	t.Helper()
	dir := t.TempDir()
	if _, died := play(t, part{Dir: dir, Kill: k}); !died {
		t.Fatalf("nobody was killed: %+v", k)
	}
	cut := read(t, dir)
	goOn(t, s, dir)
	got := read(t, dir)
	if cut == nil {
		if got != nil || len(happened(dir, charge)) != 0 {
			t.Fatal("a run that never began is there")
		}
		return
	}
	got.wantSound(t)
	got.wantAs(t, base.end, cut)
	again(t, s, dir, got)
}

// again works once more, where nothing is left to do.
func again(t *testing.T, s Subject, dir string, before *end) {
	t.Helper()
	goOn(t, s, dir)
	after := read(t, dir)
	if after.head != before.head || after.effects() != before.effects() {
		t.Errorf("a second recovery changed %+v, %s\ninto %+v, %s", before.head, before.effects(), after.head, after.effects())
	}
}

// cancelledAfterAKill cancels the run before anyone goes on with it: then
// nothing begins any more.
func cancelledAfterAKill(t *testing.T, s Subject, base *baseline) {
	for i, what := range base.writes {
		t.Run(fmt.Sprintf("%02d %s", i+1, what), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			play(t, part{Dir: dir, Kill: Kill{Write: i + 1, After: true}})
			cut := read(t, dir)
			if cut == nil || cut.run.Outcome != nil {
				return // it was the notice before it, or the last one
			}
			cancel(t, dir)
			goOn(t, s, dir)
			got := read(t, dir)
			got.wantSound(t)
			if o := got.run.Outcome; o.Stop != kernel.StopCancelled || o.Detail != "enough" || got.effects() != cut.effects() {
				t.Errorf("outcome %+v, effects %s, before %s", o, got.effects(), cut.effects())
			}
			again(t, s, dir, got)
		})
	}
}

func cancel(t *testing.T, dir string) {
	t.Helper()
	j := open(t, dir)
	defer func() { _ = j.Close() }()
	sig := journal.Signal{ID: "c", Run: run, Kind: journal.SignalCancel, By: "op", At: time.Now(), Payload: []byte(`{"reason":"enough"}`)}
	if _, err := j.Send(t.Context(), sig); err != nil {
		t.Fatal(err)
	}
}

// killedAgainAndAgain kills every process that goes on, a few writes later each
// time, until none is left to be killed. A take-over alone takes up to three.
func killedAgainAndAgain(t *testing.T, s Subject) {
	for _, every := range []int{4, 5, 7} {
		t.Run(fmt.Sprint("at write ", every), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, died := play(t, part{Dir: dir, Kill: Kill{Write: every, After: true}})
			for n := 0; died; n++ {
				if n == 100 {
					t.Fatal("the run comes to no end")
				}
				_, died = play(t, part{Dir: dir, Work: true, Kill: Kill{Write: every, After: n%2 == 0}})
			}
			got := read(t, dir)
			got.wantSound(t)
			again(t, s, dir, got)
		})
	}
}
