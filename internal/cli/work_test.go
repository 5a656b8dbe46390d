package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// killedRun starts a run in dir whose program says its process id on the pipe
// `fifo`, kills the run's process with SIGKILL once the program is up, and the
// program too.
func killedRun(t *testing.T, dir string) {
	t.Helper()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, dir, "run", "--session", "s1", "Do it.")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	pid, err := strconv.Atoi(strings.TrimSpace(string(up)))
	if err != nil || pid <= 1 {
		t.Fatalf("the program did not come up: %q", up)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // nobody is left to end it
	if err := os.Remove(fifo); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "again"), nil, 0o600); err != nil { // no program waits any more
		t.Fatal(err)
	}
}

// counting is a project with one program, which counts its starts in the file `count`.
func counting(t *testing.T, class string) string {
	t.Helper()
	lease := "1s" // is waited for
	if runtime.GOOS == "linux" {
		lease = "10m" // is not, since the process is seen to be gone
	}
	return project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: script, name: play.yaml}
tools: [run_program]
programs: {pay: {argv: [sh, -c, 'echo x >> count; test -e again || { echo $$ > fifo; exec sleep 600; }'], timeout: 9m, effect: ` + class + `}}
policy: [{allow: run_program}]
limits: {deadline: 9m}
engine: {lease: ` + lease + `}
`,
		"play.yaml": `
steps:
  - calls: [{id: call_1, name: run_program, args: '{"program":"pay"}'}]
  - text: Done.
  - calls: [{id: call_2, name: run_program, args: '{"program":"pay"}'}]
  - text: Once more.
  - calls: [{id: call_3, name: run_program, args: '{"program":"pay"}'}]
  - text: Once more.
`,
	})
}

func started(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "count"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "x")
}

func succeed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
	return string(out)
}

// A run whose process was killed while a call ran goes on by the call's class:
// what may happen once is not run again, and stays unknown until somebody has
// found out; what reads is run again. A second look changes nothing.
func TestWorkAfterAKill(t *testing.T) {
	for _, c := range []struct {
		class  string
		starts int
		told   string
		state  string // of the effect; empty: there is none
	}{
		{"once", 1, "Interrupted, may have taken effect", "unknown"},
		{"read", 2, `"exit_code":0`, ""},
		{"idempotent", 2, `"exit_code":0`, "landed"},
	} {
		t.Run(c.class, func(t *testing.T) {
			dir := counting(t, c.class)
			killedRun(t, dir)
			if r := shown(t, dir); r.State != "running" || r.Stop != "" {
				t.Fatalf("after the kill: %+v", r.report)
			}
			out := succeed(t, process(t, dir, "work", "--once"))
			r := shown(t, dir)
			if r.Stop != "answered" || r.Text != "Done." || !strings.Contains(out, r.Run+": stop: answered") {
				t.Errorf("%+v\n%s", r.report, out)
			}
			if told := r.Messages[2]; told.CallID != "call_1" || !strings.Contains(told.Text, c.told) {
				t.Errorf("the model was told %+v", told)
			}
			if n := started(t, dir); n != c.starts {
				t.Errorf("started %d times, want %d", n, c.starts)
			}
			switch {
			case c.state == "" && len(r.Effects) > 0, c.state != "" && (len(r.Effects) != 1 || r.Effects[0].State != c.state):
				t.Errorf("the ledger has %+v", r.Effects)
			}
			if out := succeed(t, process(t, dir, "work", "--once")); strings.Contains(out, "run_") {
				t.Errorf("a second look found %s", out)
			}
			if again := shown(t, dir); len(again.Events) != len(r.Events) || started(t, dir) != c.starts {
				t.Errorf("a second look changed it: %+v", again.report)
			}
		})
	}
}

// What is unknown is resolved by a person; nothing runs by that.
func TestResolveAfterAKill(t *testing.T) {
	dir := counting(t, "once")
	killedRun(t, dir)
	succeed(t, process(t, dir, "work", "--once"))
	var unknown []effect
	if err := json.Unmarshal([]byte(succeed(t, process(t, dir, "effects", "ls", "--unknown", "--json"))), &unknown); err != nil || len(unknown) != 1 {
		t.Fatalf("%v: %+v", err, unknown)
	}
	// The same request does not slip past under a new call id (report A15).
	succeed(t, process(t, dir, "run", "--session", "s1", "Do it again."))
	if second := shown(t, dir); started(t, dir) != 1 || second.Trace[0].Code != "EFFECT_REFUSED" || second.Trace[0].Ran {
		t.Errorf("started %d times: %+v", started(t, dir), second.Trace)
	}
	var e effect
	out := succeed(t, process(t, dir, "effects", "resolve", unknown[0].ID, "--no-effect", "--note", "it was killed before it paid", "--json"))
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.State != "no_effect" || len(e.Resolutions) != 1 {
		t.Errorf("%v: %s", err, out)
	}
	succeed(t, process(t, dir, "run", "--session", "s1", "--json", "Do it again."))
	if n := started(t, dir); n != 2 {
		t.Errorf("started %d times after the finding", n)
	}
}

// Work goes on with a run as soon as somebody has decided, in whatever process,
// and ends in order with a signal.
func TestWorkUntilInterrupted(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [write_file]\npolicy: [{ask: write_file}]\n",
		"play.yaml":     "steps:\n  - calls: [{id: call_1, name: write_file, args: '{\"path\":\"note.txt\",\"content\":\"x\"}'}]\n  - text: Done.\n",
	})
	var waiting report
	run := process(t, dir, "run", "--json", "Make a note.")
	out, _ := run.Output() // exits with 3
	if err := json.Unmarshal(out, &waiting); err != nil || run.ProcessState.ExitCode() != exitWaiting || waiting.Approval == "" {
		t.Fatalf("%v: %s: %s", err, run.ProcessState, out)
	}
	work := process(t, dir, "work")
	r, w := io.Pipe()
	work.Stdout = w
	if err := work.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(r)
	await(t, lines, "work: ")
	succeed(t, process(t, dir, "approvals", "approve", waiting.Approval))
	await(t, lines, waiting.Run+": stop: answered")
	if err := work.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = work.Wait()
	if code := work.ProcessState.ExitCode(); code != exitInterrupt {
		t.Errorf("exit code %d (%s)", code, work.ProcessState)
	}
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err != nil {
		t.Error(err)
	}
}

// An interrupt hands a run back whose call is under way; it is not cancelled by
// that, and the next one goes on with it.
func TestWorkHandsBack(t *testing.T) {
	dir := counting(t, "read")
	killedRun(t, dir)
	if err := os.Remove(filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	work := process(t, dir, "work", "--once")
	var out strings.Builder
	work.Stdout = &out
	if err := work.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(fifo); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} { // the second one does not wait for the program
		if err := work.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	_ = work.Wait()
	if code := work.ProcessState.ExitCode(); code != exitInterrupt {
		t.Errorf("exit code %d (%s)", code, work.ProcessState)
	}
	r := shown(t, dir)
	if r.Stop == "cancelled" {
		t.Errorf("it was cancelled: %+v", r.report)
	}
	if line := r.Run + ": running, driven by nobody; `holdfast work --once` goes on with it\n"; !strings.HasSuffix(out.String(), line) {
		t.Errorf("%q does not end with %q", out.String(), line)
	}
	heard(t, dir, r.Run)
	if err := os.WriteFile(filepath.Join(dir, "again"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, process(t, dir, "work", "--once"))
	if r := shown(t, dir); r.Stop != "answered" || r.Pending != 0 || !slices.ContainsFunc(r.Messages, func(m message) bool { return m.Role == "user" && m.Text == "And date it." }) {
		t.Errorf("%+v: %+v", r.report, r.Messages)
	}
}

// heard tells a run something that nobody drives, and sees that each screen says
// both: docs/recovery.md promises it.
func heard(t *testing.T, dir, run string) {
	t.Helper()
	succeed(t, process(t, dir, "say", "s1", "And date it."))
	for _, args := range [][]string{{"runs", "ls"}, {"runs", "show", run}} {
		if out := succeed(t, process(t, dir, args...)); !strings.Contains(out, "running, driven by nobody, 1 signal to take up") {
			t.Errorf("%v: %s", args, out)
		}
	}
	var list []head
	if err := json.Unmarshal([]byte(succeed(t, process(t, dir, "runs", "ls", "--json"))), &list); err != nil || len(list) != 1 || list[0].Pending != 1 {
		t.Errorf("%v: %+v", err, list)
	}
	if r := shown(t, dir); r.Pending != 1 {
		t.Errorf("%+v", r.report)
	}
}

// await reads lines until one begins with the text.
func await(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the output ended before %q: %v", text, lines.Err())
}

// Of a run that is to wait for a finding, the call is answered by it.
func TestWorkWaitsForAFinding(t *testing.T) {
	dir := counting(t, "once")
	file := filepath.Join(dir, "holdfast.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "unknown: wait\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "receipt"), []byte("paid 5"), 0o600); err != nil {
		t.Fatal(err)
	}
	killedRun(t, dir)
	succeed(t, process(t, dir, "work", "--once"))
	r := shown(t, dir)
	if r.State != "waiting" || r.WaitingFor != "resolution" || len(r.Effects) != 1 {
		t.Fatalf("%+v: %+v", r.report, r.Effects)
	}
	if out := succeed(t, process(t, dir, "runs", "show", r.Run)); !strings.Contains(out, "\nto say what was found out: holdfast effects resolve "+r.Effects[0].ID+" ") {
		t.Errorf("nothing says what to do: %s", out)
	}
	succeed(t, process(t, dir, "effects", "resolve", r.Effects[0].ID, "--landed", "--result", "receipt", "--note", "it is on the statement"))
	succeed(t, process(t, dir, "work", "--once"))
	r = shown(t, dir)
	if r.Stop != "answered" || r.Messages[2].Text != "paid 5" || started(t, dir) != 1 || r.Trace[0].Code != "ok" || r.Trace[0].Evidence == "" {
		t.Errorf("%+v: %+v, %+v", r.report, r.Messages, r.Trace)
	}
}

// A question that nobody decides in time is answered by its rule, while a
// worker is there.
func TestWorkEndsAQuestionInTime(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [write_file]\npolicy: [{ask: write_file, expires: 1s, on_expiry: refuse}]\n",
		"play.yaml":     "steps:\n  - calls: [{id: call_1, name: write_file, args: '{\"path\":\"note.txt\",\"content\":\"x\"}'}]\n  - text: Done.\n",
	})
	run := process(t, dir, "run", "--json", "Make a note.")
	_ = run.Run() // exits with 3
	if code := run.ProcessState.ExitCode(); code != exitWaiting {
		t.Fatalf("exit code %d", code)
	}
	work := process(t, dir, "work")
	r, w := io.Pipe()
	work.Stdout = w
	if err := work.Start(); err != nil {
		t.Fatal(err)
	}
	id := shown(t, dir).Run
	await(t, bufio.NewScanner(r), id+": stop: answered")
	if err := work.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = work.Wait() // killed
	back := shown(t, dir)
	if back.Approvals[0].State != "expired" || !strings.Contains(back.Messages[2].Text, "nobody decided") {
		t.Errorf("%+v: %+v", back.Approvals, back.Messages)
	}
	approve := process(t, dir, "approvals", "approve", back.Approvals[0].ID)
	if out, err := approve.CombinedOutput(); err == nil || !strings.Contains(string(out), `"code":"EXPIRED"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// Row 49 and case 38: at a terminal approve shows what would run, and takes
// exactly yes; anything else and the end of the input leave it open, which is
// no failure. A second yes does not decide again.
func TestApproveAtATerminal(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [write_file]\npolicy: [{ask: write_file}]\n",
		"play.yaml":     "steps:\n  - calls: [{id: call_1, name: write_file, args: '{\"path\":\"note.txt\",\"content\":\"a\\u202eb\"}'}]\n  - text: Done.\n",
	})
	var waiting report
	out, _ := process(t, dir, "run", "--json", "Make a note.").Output() // exits with 3
	if err := json.Unmarshal(out, &waiting); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typed, state string }{
		{"no\n", "open"}, {"YES\n", "open"}, {"\x04", "open"}, {"yes\n", "approved"},
	} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		cmd := process(t, dir, "approvals", "approve", "--json", waiting.Approval)
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &out, slave
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		k := &keyboard{t: t, person: master}
		k.waitFor("anything else leaves it open: ", 1)
		if screen := k.seen.String(); !strings.Contains(screen, "write_file (effect reconcilable)") || !strings.Contains(screen, `a\u202eb`) {
			t.Errorf("the question is %q", screen)
		}
		k.typeIn(c.typed)
		var a approval
		if err := errors.Join(cmd.Wait(), json.Unmarshal(out.Bytes(), &a)); err != nil || a.State != c.state {
			t.Errorf("typed %q: %v: %s", c.typed, err, out.String())
		}
		_ = slave.Close()
		_ = master.Close()
	}
	again := process(t, dir, "approvals", "approve", waiting.Approval)
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), `"code":"ALREADY_DECIDED"`) {
		t.Errorf("%v: %s", err, out)
	}
}
