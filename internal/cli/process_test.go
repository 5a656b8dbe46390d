package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// quickExit keeps the race detector from waiting a second at the end of each
// process, for reports that nobody is left to make.
const quickExit = "GORACE=atexit_sleep_ms=0"

// process is the program as a process of its own, in dir.
func process(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"holdfast"}, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, quickExit}
	return cmd
}

// project writes the files of a configuration and returns their folder.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shown is the latest run of the journal, as another process reads it.
func shown(t *testing.T, dir string) record {
	t.Helper()
	var list []head
	out, err := process(t, dir, "runs", "ls", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &list); err != nil || len(list) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err = process(t, dir, "runs", "show", "--json", list[0].Run).Output(); err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// Case 48 and row 86: an interrupt while a program runs. The program ends, the
// run stops as cancelled, its outcome is printed and journaled, the exit code
// is 130.
func TestInterruptDuringATool(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: script, name: play.yaml}
tools: [run_program]
programs: {wait: {argv: [sh, -c, "echo up > fifo; exec sleep 600"], timeout: 9m}}
policy: [{allow: run_program}]
limits: {deadline: 9m}
`,
		"play.yaml": `
steps:
  - calls: [{id: call_1, name: run_program, args: '{"program":"wait"}'}]
  - text: never
`,
	})
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, dir, "run", "--json", "Wait.")
	r := interrupt(t, cmd, os.Interrupt, func() {
		if up, err := os.ReadFile(fifo); err != nil || string(up) != "up\n" {
			t.Errorf("the program did not come up: %q %v", up, err)
		}
	})
	if r.Stop != "cancelled" || r.State != "stopped" || r.Turns != 1 {
		t.Errorf("got %+v", r)
	}
	back := shown(t, dir)
	if back.Run != r.Run || back.Stop != "cancelled" {
		t.Errorf("the journal has %+v", back.report)
	}
	if last := back.Messages[len(back.Messages)-1]; last.Role != "tool" || last.CallID != "call_1" {
		t.Errorf("the call is not answered: %+v", back.Messages)
	}
}

// Report A18: a second interrupt does not wait for a program that will not end.
// The whole of it is killed, and the run still stops in order.
func TestSecondInterrupt(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: script, name: play.yaml}
tools: [run_program]
programs: {stay: {argv: [sh, -c, 'exec 3>fifo; trap "echo asked >&3" TERM; echo up >&3; (trap "" TERM INT HUP; exec sleep 600) & while :; do wait; done'], timeout: 9m}}
policy: [{allow: run_program}]
limits: {deadline: 9m}
`,
		"play.yaml": "steps:\n  - calls: [{id: call_1, name: run_program, args: '{\"program\":\"stay\"}'}]\n  - text: never\n",
	})
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, dir, "run", "--json", "Wait.")
	var held *os.File
	r := interrupt(t, cmd, syscall.SIGTERM, func() {
		var err error
		if held, err = os.Open(fifo); err != nil {
			t.Fatal(err)
		}
		told := bufio.NewReader(held)
		if line, err := told.ReadString('\n'); line != "up\n" {
			t.Errorf("%q, %v", line, err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if line, err := told.ReadString('\n'); line != "asked\n" {
			t.Errorf("%q, %v", line, err)
		}
	})
	defer held.Close()
	if err := held.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(held); err != nil {
		t.Errorf("a process lives on: %v after %q", err, rest)
	}
	if r.Stop != "cancelled" || shown(t, dir).Stop != "cancelled" {
		t.Errorf("got %+v", r)
	}
}

// Row 67: a run that is under way in another process shows what it has used,
// and so does one whose process was killed.
func TestShowARunUnderWay(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: script, name: play.yaml}
tools: [run_program]
programs: {wait: {argv: [sh, -c, "echo $$ > fifo; exec sleep 600"], timeout: 9m}}
policy: [{allow: run_program}]
limits: {deadline: 9m}
`,
		"play.yaml": `
steps:
  - calls: [{id: call_1, name: run_program, args: '{"program":"wait"}'}]
    usage: {input_tokens: 20, output_tokens: 5}
  - text: never
`,
	})
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, dir, "run", "Wait.")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it is killed already unless the test failed
		_ = cmd.Wait()         // says that it was killed
	}()
	up, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	program, err := strconv.Atoi(strings.TrimSpace(string(up)))
	if err != nil || program <= 1 {
		t.Fatalf("the program did not come up: %q", up)
	}
	defer func() { _ = syscall.Kill(program, syscall.SIGKILL) }() // nobody is left to end it
	want := tokens{Input: 20, Output: 5, Replies: 1, RepliesWithUsage: 1}
	if r := shown(t, dir); r.State != "running" || r.Stop != "" || r.Turns != 1 || *r.Calls != 1 || r.Requests != 1 || r.Usage != want {
		t.Errorf("under way: %+v", r.report)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	r := shown(t, dir)
	if r.State != "running" || r.Usage != want {
		t.Errorf("killed: %+v", r.report)
	}
	out, err := process(t, dir, "runs", "show", r.Run).Output()
	if line := "\nusage: 20 input tokens, 5 output tokens, reported by 1 of 1 replies; turns 1, calls 1, requests 1\n"; err != nil || !strings.Contains(string(out), line) {
		t.Errorf("%v: no %q in\n%s", err, line, out)
	}
}

// A terminal that closes (SIGHUP) interrupts like the others; while a request
// is under way, that closes its connection.
func TestInterruptDuringARequest(t *testing.T) {
	server, err := stub.Start(stub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	stall := stub.Text("never")
	stall.Stall = stub.Never()
	server.Play(stall)
	dir := project(t, nil)
	cmd := process(t, dir, "run", "--json", "Wait.")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-test", "OPENAI_MODEL=m", "OPENAI_BASE_URL="+server.OpenAIURL())
	r := interrupt(t, cmd, syscall.SIGHUP, func() { <-server.Arrived(0) })
	<-server.Closed(0)
	if r.Stop != "cancelled" || shown(t, dir).Stop != "cancelled" {
		t.Errorf("got %+v", r)
	}
}

// An interrupt while a person is asked withdraws the question: nothing runs.
func TestInterruptDuringAQuestion(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [write_file]\npolicy: [{ask: write_file}]\n",
		"play.yaml":     "steps:\n  - calls: [{id: call_1, name: write_file, args: '{\"path\":\"note.txt\",\"content\":\"x\"}'}]\n  - text: never\n",
	})
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	cmd := process(t, dir, "run", "--json", "Make a note.")
	cmd.Stdin, cmd.Stderr = slave, slave
	k := &keyboard{t: t, person: master}
	r := interrupt(t, cmd, os.Interrupt, func() { k.waitFor(prompt, 1) })
	if r.Stop != "cancelled" || shown(t, dir).Stop != "cancelled" {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err == nil {
		t.Error("the call ran")
	}
}

// interrupt starts cmd, waits until it is under way, sends it the signal and
// returns its report.
func interrupt(t *testing.T, cmd *exec.Cmd, sig os.Signal, underWay func()) report {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout = &out
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	underWay()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupt {
		t.Errorf("exit code %d (%s), want 130", code, cmd.ProcessState)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: stdout %q, stderr %q", err, out.String(), errs.String())
	}
	return r
}

// Row 40: a person at a terminal is asked on it, and stdout stays a pipe with
// one object.
func TestAskOnATerminal(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [write_file]\npolicy: [{ask: write_file}]\n",
		"play.yaml": `
steps:
  - calls: [{id: call_1, name: write_file, args: '{"path":"note.txt","content":"a\u202eb"}'}]
  - text: Done.
`,
	})
	for _, tt := range []struct {
		typed string
		made  bool
	}{{"YES\n", false}, {"yes\n", true}} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		cmd := process(t, dir, "run", "--json", "Make a note.")
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &out, slave
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		k := &keyboard{t: t, person: master}
		k.waitFor(prompt, 1)
		if screen := k.seen.String(); !strings.Contains(screen, "write_file") || !strings.Contains(screen, `a\u202eb`) ||
			!strings.Contains(screen, "\n  until 20") {
			t.Errorf("the question is %q", screen)
		}
		k.typeIn(tt.typed)
		if err := cmd.Wait(); err != nil {
			t.Errorf("typed %q: %v: %s", tt.typed, err, out.String())
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 || !json.Valid(out.Bytes()) {
			t.Errorf("typed %q: stdout is %q", tt.typed, out.String())
		}
		_, err = os.Stat(filepath.Join(dir, "note.txt"))
		if made := err == nil; made != tt.made {
			t.Errorf("typed %q: made %v, want %v", tt.typed, made, tt.made)
		}
		_ = slave.Close()
		_ = master.Close()
	}
}

// Row 90: the screen of a run that asks, as a person reads it. A call that runs
// meanwhile does not write behind the question.
func TestScreenOfARunThatAsks(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [multiply, write_file]\npolicy: [{allow: multiply}, {ask: write_file}]\n",
		"play.yaml": `
steps:
  - calls:
    - {id: call_1, name: write_file, args: '{"path":"note.txt","content":"x"}'}
    - {id: call_2, name: multiply, args: '{"a":248,"b":15}'}
    - {id: call_3, name: write_file, args: '{"path":"note.txt","content":"y"}'}
  - text: Done.
`,
	})
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := process(t, dir, "run", "Make a note.")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	k := &keyboard{t: t, person: master}
	for n := range 2 {
		k.waitFor(prompt, n+1)
		k.typeIn("yes\n")
	}
	k.waitFor("\nsession: ", 1)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.ReplaceAll(k.seen.String(), "\r\n", "\n"), "\n")
	asked := regexp.MustCompile("^call call_1: ask by policy rule 2: ask write_file, risk medium, policy [0-9a-f]+: the policy wants a person's approval$")
	for i, line := range lines {
		if strings.Contains(line, "approval needed") && !strings.HasPrefix(line, "approval needed: write_file") ||
			strings.Contains(line, prompt) && line != "type yes to allow; anything else refuses: yes" ||
			strings.HasPrefix(line, "type yes") && lines[i-1] != "    }" ||
			strings.HasPrefix(line, "approval needed") && !slices.ContainsFunc(lines[:i], asked.MatchString) {
			t.Errorf("line %d: %q in\n%s", i+1, line, strings.Join(lines, "\n"))
		}
	}
}

// A reader that goes away ends the output and nothing else: a run goes on to
// its stop, and what was not read is no failure, but for the one object.
func TestClosedOutput(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [multiply]\npolicy: [{allow: multiply}]\n",
		"play.yaml":     "steps:\n  - calls: [{id: call_1, name: multiply, args: '{\"a\":248,\"b\":15}'}]\n  - text: \"3720\"\n",
	})
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"run", "What is 248 times 15?"}, exitOK},
		{[]string{"run", "--json", "What is 248 times 15?"}, exitFailure},
		{[]string{"runs", "ls"}, exitOK},
		{[]string{"version"}, exitOK},
		{[]string{"--help"}, exitOK},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		code, errs := onto(t, w, dir, tt.args...)
		if code != tt.code || (code == exitOK) != (errs == "") {
			t.Errorf("%v: exit code %d, want %d; stderr %s", tt.args, code, tt.code, errs)
		}
	}
	if r := shown(t, dir); r.Stop != "answered" || r.Text != "3720" {
		t.Errorf("the journal has %+v", r.report)
	}
}

// onto runs the program with the given standard output, and closes that.
func onto(t *testing.T, w *os.File, dir string, args ...string) (code int, stderr string) {
	t.Helper()
	cmd := process(t, dir, args...)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	_ = cmd.Run() // its exit code is looked at
	_ = w.Close()
	return cmd.ProcessState.ExitCode(), errs.String()
}

// Main returns the code and keeps to the streams that it is given.
func TestMainInProcess(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Main([]string{"version"}, strings.NewReader(""), &out, &errs); code != exitOK || !strings.HasPrefix(out.String(), "holdfast ") || errs.Len() > 0 {
		t.Errorf("code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
	out.Reset()
	if code := Main([]string{"nonsense"}, strings.NewReader(""), &out, &errs); code != exitUsage || out.Len() > 0 || !json.Valid(errs.Bytes()) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"--help"}, {"doctor"}} {
		errs.Reset()
		code := Main(args, strings.NewReader(""), failingWriter{}, &errs)
		if want := `{"error":{"code":"INTERNAL","message":"standard output cannot be written to",`; code != exitFailure || !strings.HasPrefix(errs.String(), want) {
			t.Errorf("%v: code %d, stderr %q", args, code, errs.String())
		}
	}
}

// A panic in the program is an error with its place, and shows no value.
func TestPanicIsContained(t *testing.T) {
	var errs bytes.Buffer
	code := Main([]string{"version"}, strings.NewReader(""), panickingWriter{}, &errs)
	if code != exitFailure || !strings.Contains(errs.String(), "panicked at process_test.go:") || strings.Contains(errs.String(), "PLANTED") || !json.Valid(errs.Bytes()) {
		t.Errorf("code %d, stderr %q", code, errs.String())
	}
}

type panickingWriter struct{}

func (panickingWriter) Write([]byte) (int, error) { panic("PLANTED") }

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// What a server sends unasked shows nowhere: net/http would print it as it is,
// whatever it does to a terminal.
func TestUnsolicitedBytesAreNotShown(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: openai, name: m, stream: false}
tools: [run_program]
programs: {wait: {argv: [sh, -c, "echo up > up; read x < go"], timeout: 9m}}
policy: [{allow: run_program}]
limits: {deadline: 9m}
`,
	})
	up, release := filepath.Join(dir, "up"), filepath.Join(dir, "go")
	for _, path := range []string{up, release} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := process(t, dir, "run", "--json", "Wait.")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=http://"+listener.Addr().String()+"/v1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	idle := reply(t, listener, `{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"run_program","arguments":"{\"program\":\"wait\"}"}}]},"finish_reason":"tool_calls"}]}`)
	defer idle.Close()
	if _, err := os.ReadFile(up); err != nil { // the whole reply was read
		t.Fatal(err)
	}
	if _, err := io.WriteString(idle, "\x1b[31mplanted"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, idle) // until the client has seen it, and hangs up
	if err := os.WriteFile(release, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer reply(t, listener, `{"choices":[{"message":{"content":"Done."},"finish_reason":"stop"}]}`).Close()
	if err := cmd.Wait(); err != nil || errs.Len() > 0 || strings.Contains(out.String(), "planted") {
		t.Errorf("%v: stdout %q, stderr %q", err, out.String(), errs.String())
	}
}

// reply answers one request on a connection of its own, which stays open.
func reply(t *testing.T, listener net.Listener, body string) net.Conn {
	t.Helper()
	c, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	return c
}
