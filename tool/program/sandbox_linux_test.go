package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/internal/sandbox"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/program"
)

// machine is what this machine offers, asked by somebody else than the tool.
func machine(t *testing.T) *sandbox.Machine {
	t.Helper()
	return sandbox.Look(t.Context())
}

// confinements are the ways to confine that a test is to hold under. Where the
// machine lacks one, the refusal to run without it is what is tested instead.
func confinements(t *testing.T, test func(t *testing.T, by program.Confinement)) {
	t.Helper()
	m := machine(t)
	for by, missing := range map[program.Confinement]error{program.Landlock: m.NoLandlock, program.Bubblewrap: m.NoBwrap} {
		t.Run(string(by), func(t *testing.T) {
			if missing != nil {
				t.Logf("THE REFUSAL IS TESTED INSTEAD: %v", missing)
				refused(t, by)
				return
			}
			test(t, by)
		})
	}
}

// refused proves that a program does not run with less than what is required.
func refused(t *testing.T, by program.Confinement) {
	t.Helper()
	dir := t.TempDir()
	c := program.Config{Dir: dir, Sandbox: &program.Sandbox{Require: by}, Programs: map[string]program.Entry{"main": {Argv: []string{"/bin/sh", "-c", "echo ran >ran"}}}}
	o, _ := execute(t.Context(), t, newTool(t, c), main)
	if !o.IsError || o.Facts.Disposition != kernel.DidNotHappen || o.Facts.Code != kernel.CodeConfiguration || !strings.Contains(o.Text, "requires "+string(by)) {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// box is a program in a sandbox, and a world around it.
type box struct {
	t       *testing.T
	config  program.Config
	outside string // a folder that is not the workspace
	secret  string // a file in it
	shell   tool.Tool
}

func newBox(t *testing.T, by program.Confinement) *box {
	t.Helper()
	b := &box{t: t, outside: t.TempDir()}
	b.secret = filepath.Join(b.outside, "secret")
	if err := os.WriteFile(b.secret, []byte("sk-outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.config = program.Config{Dir: t.TempDir(), Sandbox: &program.Sandbox{Require: by}}
	return b
}

// run runs argv and returns what was reported.
func (b *box) run(argv ...string) report {
	b.t.Helper()
	return b.call(argv)
}

// call runs argv with arguments that only the call names.
func (b *box) call(argv []string, args ...string) report {
	b.t.Helper()
	c := b.config
	c.Programs = map[string]program.Entry{"main": {Argv: argv, Timeout: time.Minute}}
	return b.execute(newTool(b.t, c), args...)
}

// script has a shell run a script, with the secret and its folder. All of them
// share a tool, which looks at the machine once.
func (b *box) script(text string) report {
	b.t.Helper()
	if b.shell == nil {
		c := b.config
		c.Programs = map[string]program.Entry{"main": {Argv: []string{"sh", "-c"}, Timeout: time.Minute}}
		b.shell = newTool(b.t, c)
	}
	return b.execute(b.shell, text, "sh", b.secret, b.outside)
}

func (b *box) execute(tl tool.Tool, args ...string) report {
	b.t.Helper()
	call, err := json.Marshal(map[string]any{"program": "main", "args": append([]string{}, args...)})
	if err != nil {
		b.t.Fatal(err)
	}
	o, r := execute(b.t.Context(), b.t, tl, string(call))
	if r.Program == "" {
		b.t.Fatalf("%q: %+v", args, o)
	}
	if r.Sandbox == "" || !strings.HasPrefix(r.Sandbox, string(b.config.Sandbox.Require)) {
		b.t.Errorf("the sandbox was %q", r.Sandbox)
	}
	return r
}

// denied fails unless the script fails and tells nothing of the secret.
func (b *box) denied(script string) {
	b.t.Helper()
	if r := b.script(script); r.ExitCode == 0 || strings.Contains(r.Stdout+r.Stderr, "sk-outside") {
		b.t.Errorf("%s: %+v", script, r)
	}
}

// Row 50: the workspace works, for a shell and for the python3 of the PATH,
// and what is beside it is out of reach.
func TestSandboxWorkspace(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		if err := os.WriteFile(filepath.Join(b.config.Dir, "main.py"), []byte(strings.Join([]string{
			"import os, json, ssl, tempfile, subprocess",
			"open('out.txt', 'w').write('42'); os.mkdir('d'); os.rename('out.txt', 'd/out.txt')",
			"tempfile.NamedTemporaryFile().write(b'x'); open(os.path.expanduser('~/cache'), 'w').write('x')",
			"print(open('d/out.txt').read(), subprocess.check_output(['sh', '-c', 'echo child']).decode().strip())",
		}, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := b.run("python3", "main.py"); r.Stdout != "42 child\n" || r.ExitCode != 0 {
			t.Errorf("%+v", r)
		}
		if written, err := os.ReadFile(filepath.Join(b.config.Dir, "d/out.txt")); err != nil || string(written) != "42" {
			t.Errorf("%q, %v", written, err)
		}
		if r := b.run("sh", "-c", "echo a >a && cat a && rm a && echo b >/dev/null && head -c 4 /dev/urandom >r && ls"); r.Stdout != "a\nd\nmain.py\nr\n" {
			t.Errorf("%+v", r)
		}
		// A relative program of the workspace, which a line of its own names.
		if err := os.WriteFile(filepath.Join(b.config.Dir, "run"), []byte("#!/usr/bin/env python3\nprint('here')\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if r := b.run("./run"); r.Stdout != "here\n" {
			t.Errorf("%+v", r)
		}
	})
}

// Row 50: files outside are neither read nor written nor listed, by no way that
// a link, a descriptor or a child could open.
func TestSandboxFiles(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		// It is somebody's home too, with programs in it.
		t.Setenv("HOME", b.outside)
		t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(b.outside, "bin")+":"+b.outside)
		if err := os.Symlink(b.secret, filepath.Join(b.config.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{
			`cat "$1"`,
			`cat /etc/shadow /etc/ssl/private/*`,
			`ls "$2"/`,
			`cat link`,
			`ln -s "$1" made && cat made`,
			`ln "$1" hard && cat hard`,
			`mv "$1" mine && cat mine`,
			`sh -c 'sh -c "cat $0" "$0"' "$1"`,
			`python3 -c 'import os,sys; os.chdir(sys.argv[1]); print(open("secret").read())' "$2"`,
			`python3 -c 'import os,sys; d=os.open(sys.argv[1], os.O_PATH); print(os.read(os.open("secret", os.O_RDONLY, dir_fd=d), 99))' "$2"`,
			`exec 9<"$1"; cat /proc/self/fd/9`,
			`cat /proc/self/root"$1"`,
			`cat /proc/self/cwd/../../../../../../../.."$1"`,
			`cat "$HOME"/../../../../../../../.."$1"`,
			`cat /proc/1/root"$1"`,
			`echo x >"$1"`,
			`rm "$1"`,
			`python3 -c 'import os,sys; os.truncate(sys.argv[1], 0)' "$1"`,
			`echo x >/usr/bin/holdfast-test || echo x >/etc/holdfast-test`,
			`mknod disk b 8 0 && cat disk`,
			`mount --bind / . && cat ."$1"`,
		} {
			b.denied(script)
		}
		// Under bubblewrap what is not there can be made, in memory.
		for _, script := range []string{`echo x >"$2/new"`, `mkdir "$2/new"`, `mkdir -p "$2" && echo x >"$1"`} {
			b.script(script)
		}
		if left, err := os.ReadFile(b.secret); err != nil || string(left) != "sk-outside" {
			t.Errorf("%q, %v", left, err)
		}
		if entries, err := os.ReadDir(b.outside); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// The settings of the machine are out of reach, for root too.
func TestSandboxMachine(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		// Whether a file can be opened for writing is all that is tried.
		b.denied(`set -e; for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sys/net/ipv4/ip_forward; do if (: >>$f); then exit 0; fi; done; exit 1`)
		b.denied(`test -e /proc/sysrq-trigger && : >>/proc/sysrq-trigger`)
		b.denied(`unshare -Urm sh -c 'mount -o remount,rw /proc && : >>/proc/sys/kernel/core_pattern'`)
		if r := b.script(`echo out >/dev/stdout; echo err >/dev/stderr; : </dev/null`); r.ExitCode != 0 || r.Stdout != "out\n" || r.Stderr != "err\n" {
			t.Errorf("%+v", r)
		}
	})
}

// What a plan adds can be read, or changed, and a script that the configuration
// names by its whole path can be run.
func TestSandboxReadAndWrite(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		script := filepath.Join(t.TempDir(), "say.py")
		if err := os.WriteFile(script, []byte("print('said')"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := b.run("python3", script); r.Stdout != "said\n" {
			t.Errorf("%+v", r)
		}
		if r := b.call([]string{"cat"}, script); r.ExitCode == 0 {
			t.Errorf("a call names it: %+v", r)
		}
		b.config.Sandbox.Read = []string{b.outside, filepath.Join(b.outside, "gone")}
		if r := b.call([]string{"cat"}, b.secret); r.Stdout != "sk-outside" {
			t.Errorf("%+v", r)
		}
		if r := b.call([]string{"sh", "-c", `echo x >"$0"`}, b.secret); r.ExitCode == 0 {
			t.Errorf("%+v", r)
		}
		b.config.Sandbox.Write = []string{b.outside}
		if r := b.call([]string{"sh", "-c", `echo new >"$0"`}, b.secret); r.ExitCode != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// A program does not reach the host's own files. Those in the workspace
// Landlock cannot keep back, and the result says that.
func TestSandboxProtects(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		b.config.Protect = []string{b.outside, filepath.Join(b.outside, "journal-wal")}
		b.config.Sandbox.Read = []string{filepath.Dir(b.secret)}
		own := filepath.Join(b.config.Dir, ".holdfast")
		journal, file := filepath.Join(own, "holdfast.db"), filepath.Join(b.config.Dir, "holdfast.yaml")
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{journal, file} {
			if err := os.WriteFile(path, []byte("sk-outside"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.config.Protect = []string{own, journal, file, journal + "-wal"}
		b.config.Sandbox.Read = nil
		if by == program.Landlock {
			if r := b.run("true"); !strings.Contains(r.Sandbox, "without the host's own in reach") {
				t.Errorf("%+v", r)
			}
			b.config.Protect = []string{b.secret}
			if r := b.run("true"); strings.Contains(r.Sandbox, "without") {
				t.Errorf("%+v", r)
			}
			return
		}
		b.denied(`cat ` + journal)
		b.denied(`cat holdfast.yaml | grep .`)
		b.denied(`echo x >holdfast.yaml`)
		b.denied(`echo x >.holdfast/new`)
		b.denied(`mv .holdfast other`)
		b.denied(`rm -f holdfast.yaml`)
		for _, path := range []string{journal, file} {
			if left, err := os.ReadFile(path); err != nil || string(left) != "sk-outside" {
				t.Errorf("%s: %q, %v", path, left, err)
			}
		}
		if entries, err := os.ReadDir(own); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// A connect to a listener on this machine is denied, and nobody may listen;
// network: true leaves both alone.
func TestSandboxNetwork(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		const connect = `import socket,sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5); print("connected")`
		const listen = `import socket; socket.create_server(("127.0.0.1", 0)); print("listening")`
		b := newBox(t, by)
		if r := b.run("python3", "-c", connect, port); r.ExitCode == 0 || strings.Contains(r.Stdout, "connected") {
			t.Errorf("%+v", r)
		}
		if r := b.run("sh", "-c", `python3 -c "$0" "$1" & wait $!`, connect, port); r.ExitCode == 0 {
			t.Errorf("by a child: %+v", r)
		}
		// Under bubblewrap the network is one of its own, in which anybody may
		// listen and nobody hears.
		if r := b.run("python3", "-c", listen); by == program.Landlock && r.ExitCode == 0 {
			t.Errorf("%+v", r)
		}
		b.config.Sandbox.Network = true
		r := b.run("python3", "-c", connect, port)
		if r.Stdout != "connected\n" || strings.Contains(r.Sandbox, "tcp") || strings.Contains(r.Sandbox, "network") {
			t.Errorf("%+v", r)
		}
		if r := b.run("python3", "-c", listen); r.Stdout != "listening\n" {
			t.Errorf("%+v", r)
		}
	})
}

// A program signals nobody outside, reads nobody's memory, and has none of
// root's powers over the machine.
func TestSandboxProcesses(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		other := exec.CommandContext(t.Context(), "sleep", "600")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		pid := strconv.Itoa(other.Process.Pid)
		b.denied(`cat /proc/` + pid + `/environ /proc/` + pid + `/mem`)
		r := b.run("sh", "-c", "kill -9 "+pid)
		if holds := by == program.Bubblewrap || strings.Contains(r.Sandbox, "signals"); holds == (r.ExitCode == 0) {
			t.Errorf("%+v", r)
		}
		_ = other.Process.Kill()
		_ = other.Wait()
		b.denied(`chroot . true`)
		b.denied(`chown 12345 .`)
		if r := b.run("sh", "-c", "sleep 60 & kill -9 $! && wait $!"); r.ExitCode != 128+9 {
			t.Errorf("its own child: %+v", r)
		}
	})
}

func TestSandboxLimits(t *testing.T) {
	m := machine(t)
	confinements(t, func(t *testing.T, by program.Confinement) {
		b := newBox(t, by)
		if m.NoLimits != nil {
			t.Logf("NO LIMIT CAN BE SET HERE: %v", m.NoLimits)
			if r := b.run("true"); strings.Contains(r.Sandbox, "limits") {
				t.Errorf("%+v", r)
			}
			return
		}
		b.config.Sandbox.Limits = program.Limits{CPU: time.Second, Memory: 512 << 20, FileSize: 1 << 20, OpenFiles: 32}
		if r := b.run("python3", "-c", "while True: pass"); r.ExitCode == 0 || r.TimedOut || !strings.HasSuffix(r.Sandbox, ", limits") {
			t.Errorf("CPU: %+v", r)
		}
		if r := b.run("python3", "-c", "try:\n  bytearray(1 << 30)\nexcept MemoryError: print('refused')"); r.Stdout != "refused\n" {
			t.Errorf("memory: %+v", r)
		}
		if r := b.run("sh", "-c", "head -c 3000000 /dev/zero >big; wc -c <big"); strings.TrimSpace(r.Stdout) != "1048576" {
			t.Errorf("file size: %+v", r)
		}
		if r := b.run("python3", "-c", "try:\n  a = [open('/dev/null') for i in range(64)]\nexcept OSError: print('refused')"); r.Stdout != "refused\n" {
			t.Errorf("open files: %+v", r)
		}
		if r := b.run("sh", "-c", "ulimit -c; ulimit -H -c"); r.Stdout != "0\n0\n" {
			t.Errorf("core: %+v", r)
		}
	})
}

// Only the user's own threads count, and root has no limit at all: that is
// what the document says.
func TestSandboxLimitsProcesses(t *testing.T) {
	c := sh(`for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1 & done; wait; echo done`)
	c.Sandbox = &program.Sandbox{Limits: program.Limits{Processes: 4}}
	_, r := execute(t.Context(), t, newTool(t, c), main)
	limited := os.Geteuid() != 0 && strings.Contains(r.Sandbox, "limits")
	if limited == (r.Stdout == "done\n" && r.Stderr == "") {
		t.Errorf("%+v", r)
	}
}

// Without a requirement the best that is there is taken, and said; what is
// required and not there is refused before anything runs.
func TestSandboxRequire(t *testing.T) {
	m := machine(t)
	c := sh("echo ran")
	c.Sandbox = &program.Sandbox{}
	_, r := execute(t.Context(), t, newTool(t, c), main)
	want := "none"
	switch {
	case m.NoBwrap == nil:
		want = "bwrap: files, network, processes"
	case m.NoLandlock == nil:
		want = "landlock(abi "
	}
	if r.Stdout != "ran\n" || !strings.HasPrefix(r.Sandbox, want) {
		t.Errorf("%+v, want %s", r, want)
	}

	t.Setenv("PATH", t.TempDir()) // where no bwrap is
	refused(t, program.Bubblewrap)
	c = sh("echo ran")
	c.Programs["main"] = program.Entry{Argv: []string{"/bin/sh", "-c", "echo ran"}, Sandbox: &program.Sandbox{Network: true}}
	_, r = execute(t.Context(), t, newTool(t, c), main)
	if r.Stdout != "ran\n" || strings.HasPrefix(r.Sandbox, "bwrap") || strings.Contains(r.Sandbox, "tcp") {
		t.Errorf("%+v", r)
	}
}

// What cannot be executed has not happened, under a sandbox too.
func TestSandboxDoesNotStart(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		dir := t.TempDir()
		plain := filepath.Join(dir, "plain")
		if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		orphan := filepath.Join(dir, "orphan")
		if err := os.WriteFile(orphan, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		for argv, code := range map[string]kernel.Code{
			"no-such-program-here": kernel.CodeNotFound, "./missing": kernel.CodeNotFound,
			plain: kernel.CodeConfiguration, orphan: "", dir: kernel.CodeConfiguration,
		} {
			c := program.Config{Dir: dir, Programs: map[string]program.Entry{"main": {Argv: []string{argv}}}, Sandbox: &program.Sandbox{Require: by}}
			o, _ := execute(t.Context(), t, newTool(t, c), main)
			if !o.IsError || o.Facts.Disposition != kernel.DidNotHappen || code != "" && o.Facts.Code != code {
				t.Errorf("%s: %+v", argv, o)
			}
		}
	})
}

// The tree ends with its time under a sandbox too, also what has left the group.
func TestSandboxTimeout(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		w := newWatch(t)
		dir := filepath.Dir(w.path)
		c := sh(w.stubborn())
		c.Grace, c.Dir = 50*time.Millisecond, dir
		c.Programs["main"] = program.Entry{Argv: c.Programs["main"].Argv, Timeout: 4 * time.Second, Sandbox: &program.Sandbox{Require: by}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if o, r := execute(context.WithoutCancel(t.Context()), t, newTool(t, c), main); !r.TimedOut || o.Facts.Code != tool.CodeTimeout {
				t.Errorf("%+v", o)
			}
		}()
		w.started()
		<-done
		w.ended()
	})
}

// A program has its grace under a sandbox too.
func TestSandboxGrace(t *testing.T) {
	confinements(t, func(t *testing.T, by program.Confinement) {
		w := newWatch(t)
		c := sh(`trap 'echo saved; exit 0' TERM; exec 3>` + w.path + `; echo started >&3; sleep 600 & wait`)
		c.Grace, c.Dir, c.Sandbox = time.Second, filepath.Dir(w.path), &program.Sandbox{Require: by}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, r := execute(ctx, t, newTool(t, c), main); r.Stdout != "saved\n" || r.ExitCode != 0 || !r.Interrupted {
				t.Errorf("%+v", r)
			}
		}()
		w.started()
		cancel()
		<-done
		w.ended()
	})
}

// The facts for the journal say what held.
func TestSandboxIsInTheFacts(t *testing.T) {
	c := sh("true")
	c.Sandbox = &program.Sandbox{}
	o, r := execute(t.Context(), t, newTool(t, c), main)
	var facts struct{ Sandbox string }
	if err := json.Unmarshal(o.Data, &facts); err != nil || facts.Sandbox == "" || facts.Sandbox != r.Sandbox {
		t.Errorf("%s, %v", o.Data, err)
	}
}

func TestSandboxRefuses(t *testing.T) {
	for name, s := range map[string]program.Sandbox{
		"kind":       {Require: "chroot"},
		"relative":   {Read: []string{"x"}},
		"NUL":        {Write: []string{"/\x00"}},
		"CPU":        {Limits: program.Limits{CPU: time.Millisecond}},
		"memory":     {Limits: program.Limits{Memory: 1}},
		"file size":  {Limits: program.Limits{FileSize: -1}},
		"processes":  {Limits: program.Limits{Processes: -1}},
		"open files": {Limits: program.Limits{OpenFiles: 3}},
	} {
		c := sh("true")
		c.Sandbox = &s
		_, err := program.New(c)
		if e, ok := errors.AsType[*kernel.Error](err); !ok || e.Code != kernel.CodeConfiguration || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
