//go:build linux || darwin

package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/program"
)

// hostVar makes the test binary a host that runs one program and does nothing
// else.
const hostVar = "HOLDFAST_TEST_HOST_SCRIPT"

func TestMain(m *testing.M) {
	if script := os.Getenv(hostVar); script != "" {
		t, err := program.New(program.Config{Programs: map[string]program.Entry{"main": {Argv: []string{"sh", "-c", script}}}})
		if err != nil {
			os.Exit(1)
		}
		set, err := tool.NewSet(t)
		if err != nil {
			os.Exit(1)
		}
		bound, _ := set.Bind(program.Name, kernel.Once)
		tool.Border{}.Execute(context.Background(), bound, tool.Call{Arguments: json.RawMessage(`{"program":"main"}`)})
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// report is what comes back of a run.
type report struct {
	Program     string
	ExitCode    int `json:"exit_code"`
	Signal      string
	Stdout      string
	Stderr      string
	Omitted     int64 `json:"omitted_bytes"`
	TimedOut    bool  `json:"timed_out"`
	Interrupted bool
	Sandbox     string
	Note        string
	Elapsed     *int64 `json:"elapsed_ms"`
}

func newTool(t testing.TB, c program.Config) tool.Tool {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	tl, err := program.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// sh is the one program "main" made of a shell script.
func sh(script string) program.Config {
	return program.Config{Programs: map[string]program.Entry{"main": {Argv: []string{"sh", "-c", script, "sh"}}}}
}

func execute(ctx context.Context, t testing.TB, tl tool.Tool, args string) (tool.Outcome, report) {
	t.Helper()
	set, err := tool.NewSet(tl)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(program.Name, []byte(args)); err != nil {
		t.Fatal(err)
	}
	bound, _ := set.Bind(program.Name, set.EffectOf(program.Name, json.RawMessage(args)))
	o := tool.Border{}.Execute(ctx, bound, tool.Call{Arguments: json.RawMessage(args)})
	var told, kept report
	if json.Unmarshal([]byte(o.Text), &told) == nil && o.Data != nil {
		if err := json.Unmarshal(o.Data, &kept); err != nil {
			t.Fatal(err)
		}
		if told.Elapsed != nil || kept.Elapsed == nil {
			t.Error("the elapsed time belongs to the facts alone")
		}
		kept.Elapsed = nil
		if !utf8.ValidString(kept.Stdout + kept.Stderr) {
			t.Errorf("the kept output is no text: %q, %q", kept.Stdout, kept.Stderr)
		}
		// Clean text is as it was printed.
		kept.Stdout, kept.Stderr, kept.Omitted = told.Stdout, told.Stderr, told.Omitted
		if told != kept {
			t.Errorf("told %+v, kept %+v", told, kept)
		}
	}
	return o, told
}

const main = `{"program":"main"}`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "input"), []byte("42\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := sh(`cat input; echo "<err>" >&2`)
	c.Dir = dir
	o, r := execute(t.Context(), t, newTool(t, c), main)
	want := `{"program":"main","exit_code":0,"stdout":"42\n","stderr":"<err>\n","omitted_bytes":0,"timed_out":false,"sandbox":"none"}`
	if o.Text != want || o.IsError || o.Facts.Status != kernel.StatusOK || o.Facts.Disposition != kernel.Landed {
		t.Errorf("%+v\nwant %s", o, want)
	}
	if r.Stdout != "42\n" {
		t.Errorf("%+v", r)
	}
}

// The exit code is a fact about the program, not a failure of the tool.
func TestExitCode(t *testing.T) {
	o, r := execute(t.Context(), t, newTool(t, sh("exit 3")), main)
	if r.ExitCode != 3 || o.IsError || o.Facts.Disposition != kernel.Landed {
		t.Errorf("%+v", o)
	}
	o, r = execute(t.Context(), t, newTool(t, sh("kill -SEGV $$")), main)
	if r.ExitCode != -1 || r.Signal != syscall.SIGSEGV.String() || o.IsError {
		t.Errorf("%+v", o)
	}
}

// Arguments reach the program as they are: there is no shell to read them.
func TestArgumentsAreNoShellText(t *testing.T) {
	c := program.Config{Programs: map[string]program.Entry{"say": {Argv: []string{"printf", "%s|"}}}}
	_, r := execute(t.Context(), t, newTool(t, c), `{"program":"say","args":["a b","$(id)","; rm -rf x","-n","","*"]}`)
	if want := "a b|$(id)|; rm -rf x|-n||*|"; r.Stdout != want {
		t.Errorf("stdout %q, want %q", r.Stdout, want)
	}
}

func TestRefusedArguments(t *testing.T) {
	tl := newTool(t, sh("echo ran"))
	set, err := tool.NewSet(tl)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"program":"other"}`:           `program must be one of "main"`,
		`{}`:                            "missing arguments: program",
		`{"program":"main","argv":[]}`:  "unexpected arguments: argv",
		`{"program":"main","args":"x"}`: "args must be an array",
		`{"program":"main","args":[1]}`: "args[0] must be a string",
		`{"program":"main","args":[` + many(`"x"`, 65) + `]}`:   "args must have at most 64 items",
		`{"program":"main","args":["` + many("x", 2049) + `"]}`: "args[0] must have at most 4096 characters",
	} {
		err := set.Check(program.Name, []byte(args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%.50s) = %v, want %q", args, err, want)
		}
	}
	// What no schema says, and what comes without one.
	for _, args := range []string{
		`{"program":"main","args":["a\u0000b"]}`,
		`{"program":"main","args":["` + strings.Repeat("汉", 2000) + `"]}`,
		`{"program":"other"}`,
		`{"program":"main","args":[` + many(`"x"`, 65) + `]}`,
	} {
		bound, _ := set.Bind(program.Name, kernel.Once)
		o := tool.Border{}.Execute(t.Context(), bound, tool.Call{Arguments: json.RawMessage(args)})
		if o.Facts.Code != kernel.CodeInvalidArgument || o.Facts.Disposition != kernel.DidNotHappen || strings.Contains(o.Text, "ran") {
			t.Errorf("%.50s: %+v", args, o)
		}
	}
}

func many(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// Report A22: a program sees a short environment and no key, also when nothing
// of the short list is set.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-x")
	t.Setenv("SESSION_SECRET", "y")
	t.Setenv("LD_PRELOAD", "")
	t.Setenv("TZ", "UTC")
	_, r := execute(t.Context(), t, newTool(t, program.Config{Programs: map[string]program.Entry{"main": {Argv: []string{"env"}}}}), main)
	allowed := map[string]bool{"PATH": true, "HOME": true, "LANG": true, "LC_ALL": true, "TMPDIR": true, "TZ": true}
	for line := range strings.Lines(r.Stdout) {
		if name, _, _ := strings.Cut(line, "="); !allowed[name] {
			t.Errorf("the program sees %s", name)
		}
	}
	if !strings.Contains(r.Stdout, "TZ=UTC\n") || !strings.Contains(r.Stdout, "PATH=") {
		t.Errorf("environment %q", r.Stdout)
	}

	env := "/usr/bin/env"
	if _, err := os.Stat(env); err != nil {
		t.Skip("no " + env)
	}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"} {
		t.Setenv(name, "") // so that the test's end restores it
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	c := program.Config{Dir: "/", Programs: map[string]program.Entry{"main": {Argv: []string{env}}}}
	if _, r := execute(t.Context(), t, newTool(t, c), main); r.Stdout != "" || r.ExitCode != 0 {
		t.Errorf("environment %q", r.Stdout)
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	if _, r := execute(t.Context(), t, newTool(t, sh("cat; echo done")), main); r.Stdout != "done\n" {
		t.Errorf("%+v", r)
	}
}

// watch is a pipe in the file system that a program holds open for writing:
// it tells when the program is there, and whether anything of it still lives.
type watch struct {
	t    *testing.T
	path string
	file *os.File
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{t: t, path: filepath.Join(t.TempDir(), "watch")}
	if err := syscall.Mkfifo(w.path, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// started waits until the program has written its first line.
func (w *watch) started() {
	w.t.Helper()
	file, err := os.OpenFile(w.path, os.O_RDONLY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.file = file
	w.t.Cleanup(func() { _ = file.Close() })
	if _, err := io.ReadFull(file, make([]byte, len("started\n"))); err != nil {
		w.t.Fatal(err)
	}
}

// ended fails unless everything that held the pipe is gone.
func (w *watch) ended() {
	w.t.Helper()
	if err := w.file.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		w.t.Fatal(err)
	}
	if rest, err := io.ReadAll(w.file); err != nil {
		w.t.Errorf("a process lives on: %v after %q", err, rest)
	}
}

// stubborn is the script of report A18, with a child that ignores SIGTERM and
// pipes that stay open.
func (w *watch) stubborn() string {
	return `exec 3>` + w.path + `; echo begun; echo started >&3; (trap "" TERM; sleep 600) & sleep 600 | cat; wait`
}

// Report A18: at its timeout the whole tree ends, whatever ignores SIGTERM and
// whoever holds the pipes.
func TestTimeoutEndsTheTree(t *testing.T) {
	w := newWatch(t)
	for effect, disposition := range map[kernel.EffectClass]kernel.Disposition{kernel.Once: kernel.InDoubt, kernel.Read: kernel.DidNotHappen} {
		c := sh(w.stubborn())
		c.Grace = 50 * time.Millisecond
		c.Programs["main"] = program.Entry{Argv: c.Programs["main"].Argv, Effect: effect, Timeout: time.Second}
		done := make(chan struct{})
		go func() {
			defer close(done)
			o, r := execute(t.Context(), t, newTool(t, c), main)
			if !r.TimedOut || r.Interrupted || r.Stdout != "begun\n" {
				t.Errorf("%+v", r)
			}
			if !o.IsError || o.Facts.Code != tool.CodeTimeout || o.Facts.Disposition != disposition {
				t.Errorf("%s: %+v", effect, o)
			}
			if strings.Contains(o.Text, "outcome is unknown") != (effect == kernel.Once) {
				t.Errorf("%s: %s", effect, o.Text)
			}
		}()
		w.started()
		<-done
		w.ended()
	}
}

// Report A18: the same when the user interrupts.
func TestCancelEndsTheTree(t *testing.T) {
	w := newWatch(t)
	c := sh(w.stubborn())
	c.Grace = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o, r := execute(ctx, t, newTool(t, c), main)
		if !r.Interrupted || r.TimedOut || r.Stdout != "begun\n" || o.Facts.Code != kernel.CodeCancelled || o.Facts.Disposition != kernel.InDoubt {
			t.Errorf("%+v", o)
		}
	}()
	w.started()
	cancel()
	<-done
	w.ended()
}

// Whoever closes the tool waits for nobody: the tree is killed, also while it
// ignores what it was asked, and nothing starts after that.
func TestCloseEndsTheTree(t *testing.T) {
	w := newWatch(t)
	c := sh(`trap "" TERM; ` + w.stubborn())
	c.Programs["main"] = program.Entry{Argv: c.Programs["main"].Argv, Timeout: time.Minute}
	tl := newTool(t, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		o, r := execute(t.Context(), t, tl, main)
		if !r.Interrupted || r.TimedOut || r.Stdout != "begun\n" || o.Facts.Code != kernel.CodeCancelled || o.Facts.Disposition != kernel.InDoubt {
			t.Errorf("%+v", o)
		}
	}()
	w.started()
	for range 2 {
		if err := tl.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	}
	<-done
	w.ended()
	if o, _ := execute(t.Context(), t, tl, main); o.Facts.Code != kernel.CodeCancelled || o.Facts.Disposition != kernel.DidNotHappen {
		t.Errorf("after the end: %+v", o)
	}
}

// A program that ends well when asked to has the grace to do it.
func TestGraceIsGiven(t *testing.T) {
	w := newWatch(t)
	c := sh(`trap 'echo saved; exit 0' TERM; exec 3>` + w.path + `; echo started >&3; sleep 600 & wait`)
	c.Grace = time.Second
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o, r := execute(ctx, t, newTool(t, c), main)
		if r.Stdout != "saved\n" || r.ExitCode != 0 || !r.Interrupted || o.Facts.Disposition != kernel.InDoubt {
			t.Errorf("%+v", o)
		}
	}()
	w.started()
	cancel()
	<-done
	w.ended()
}

// Report A18: what a program leaves in the background ends with it, and its
// open pipes hold nobody up.
func TestBackgroundProcessesEndWithTheProgram(t *testing.T) {
	w := newWatch(t)
	tl := newTool(t, sh(`exec 3>`+w.path+`; echo started >&3; (trap "" TERM HUP; sleep 600) & echo done`))
	done := make(chan struct{})
	go func() {
		defer close(done)
		o, r := execute(t.Context(), t, tl, main)
		if r.Stdout != "done\n" || r.ExitCode != 0 || r.TimedOut || o.IsError {
			t.Errorf("%+v", o)
		}
	}()
	w.started()
	<-done
	w.ended()
}

// A process that has left the group is out of reach, but holds up nobody.
func TestEscapedProcessHoldsUpNobody(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no setsid program")
	}
	w, gone := newWatch(t), newWatch(t)
	c := sh(`setsid sh -c 'exec 3>` + w.path + `; echo started >&3; echo $$ >&3; echo >` + gone.path + `; exec sleep 600' & read line <` + gone.path + `; echo done`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, r := execute(t.Context(), t, newTool(t, c), main); r.Stdout != "done\n" || r.TimedOut {
			t.Errorf("%+v", r)
		}
	}()
	w.started()
	<-done
	pid := make([]byte, 32)
	n, err := w.file.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	escaped, err := strconv.Atoi(strings.TrimSpace(string(pid[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(escaped, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	w.ended()
}

// Report A18: the host is killed outright; on Linux the program goes with it.
func TestProgramDiesWithItsHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a program that its host has died")
	}
	w := newWatch(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.StartProcess(self, []string{self}, &os.ProcAttr{
		Env:   append(os.Environ(), hostVar+"=exec 3>"+w.path+"; echo started >&3; exec sleep 600"),
		Files: []*os.File{nil, nil, nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.started()
	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Wait(); err != nil {
		t.Fatal(err)
	}
	w.ended()
}

// What never started has not happened.
func TestProgramsThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("\x01\x02"), 0o700); err != nil {
		t.Fatal(err)
	}
	for argv, code := range map[string]kernel.Code{
		"no-such-program-here": kernel.CodeNotFound,
		"/no/such/program":     kernel.CodeNotFound,
		"./missing":            kernel.CodeNotFound,
		plain:                  kernel.CodeConfiguration,
		garbage:                kernel.CodeConfiguration,
		dir:                    kernel.CodeConfiguration,
	} {
		c := program.Config{Dir: dir, Programs: map[string]program.Entry{"main": {Argv: []string{argv}}}}
		o, _ := execute(t.Context(), t, newTool(t, c), main)
		if !o.IsError || o.Facts.Disposition != kernel.DidNotHappen || o.Facts.Code != code || strings.Contains(o.Text, dir) {
			t.Errorf("%s: %+v", argv, o)
		}
	}
}

func TestRelativeProgramStartsFromDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\necho here\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := program.Config{Dir: dir, Programs: map[string]program.Entry{"main": {Argv: []string{"./run"}}}}
	if _, r := execute(t.Context(), t, newTool(t, c), main); r.Stdout != "here\n" {
		t.Errorf("%+v", r)
	}
}

func TestInterruptedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o, _ := execute(ctx, t, newTool(t, sh("echo ran")), main); o.Facts.Disposition != kernel.DidNotHappen || strings.Contains(o.Text, "ran") {
		t.Errorf("%+v", o)
	}
}

func TestEffectIsThatOfTheProgram(t *testing.T) {
	tl := newTool(t, program.Config{Programs: map[string]program.Entry{
		"look": {Argv: []string{"true"}, Effect: kernel.Read},
		"set":  {Argv: []string{"true"}, Effect: kernel.Idempotent},
		"pay":  {Argv: []string{"true"}},
	}})
	set, err := tool.NewSet(tl)
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := set.Spec(program.Name); s.Effect != kernel.Once {
		t.Errorf("the tool's class is %q", s.Effect)
	}
	for args, want := range map[string]kernel.EffectClass{
		`{"program":"look"}`: kernel.Read, `{"program":"set"}`: kernel.Idempotent,
		`{"program":"pay"}`: kernel.Once, `{"program":"none"}`: kernel.Once, `{`: kernel.Once,
	} {
		if got := set.EffectOf(program.Name, json.RawMessage(args)); got != want {
			t.Errorf("EffectOf(%s) = %q, want %q", args, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	entry := program.Entry{Argv: []string{"true"}}
	one := func(name string, e program.Entry) program.Config {
		return program.Config{Programs: map[string]program.Entry{name: e}}
	}
	with := func(f func(*program.Config)) program.Config {
		c := one("main", entry)
		f(&c)
		return c
	}
	for name, c := range map[string]program.Config{
		"no programs":     {},
		"blank name":      one("", entry),
		"name with space": one("a b", entry),
		"long name":       one(strings.Repeat("a", 65), entry),
		"no command":      one("main", program.Entry{}),
		"blank command":   one("main", program.Entry{Argv: []string{" "}}),
		"NUL":             one("main", program.Entry{Argv: []string{"a", "\x00"}}),
		"reconcilable":    one("main", program.Entry{Argv: []string{"true"}, Effect: kernel.Reconcilable}),
		"unknown effect":  one("main", program.Entry{Argv: []string{"true"}, Effect: "x"}),
		"timeout":         one("main", program.Entry{Argv: []string{"true"}, Timeout: -1}),
		"output":          with(func(c *program.Config) { c.MaxOutput = 1 }),
		"grace":           with(func(c *program.Config) { c.Grace = time.Minute }),
		"directory":       with(func(c *program.Config) { c.Dir = "/no/such/directory" }),
	} {
		_, err := program.New(c)
		var e *kernel.Error
		if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration || e.Hint == "" {
			t.Errorf("%s: New = %v, want CONFIGURATION", name, err)
		}
	}
}
