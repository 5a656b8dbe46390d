package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// spy is a project whose program shows its parent's environment.
func spy(t *testing.T) (dir string, server *stub.Server) {
	t.Helper()
	server, err := stub.Start(stub.Options{Key: "sk-planted-key"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Play(
		stub.Calls(stub.Call{ID: "call_1", Name: "run_program", Args: `{"program":"spy"}`}),
		stub.Text("Done."),
	)
	return project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: openai, name: m}
tools: [run_program]
programs: {spy: {argv: [sh, -c, 'tr "\0" "\n" < /proc/$PPID/environ; echo looked'], sandbox: {enabled: false}}}
policy: [{allow: run_program}]
`}), server
}

func runSpy(t *testing.T, cmd *exec.Cmd, server *stub.Server) string {
	t.Helper()
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-planted-key", "ANTHROPIC_API_KEY=sk-planted-other", "OPENAI_BASE_URL="+server.OpenAIURL(), "VISIBLE=planted-visible")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	back := shown(t, cmd.Dir)
	told := back.Messages[len(back.Messages)-2].Text
	if back.Stop != "answered" || !strings.Contains(told, "looked") || server.Count() != 2 {
		t.Fatalf("stop %s after %d requests: %s", back.Stop, server.Count(), told)
	}
	if strings.Contains(string(out)+told, "sk-planted") {
		t.Errorf("a program saw a key of its host: %s", told)
	}
	return told
}

// Report A22: a program finds no key in the environment of its parent, as the
// same user (also root, who may read everything), and the key still reaches
// the provider: the stub demands it.
func TestProgramsSeeNoKeyOfTheHost(t *testing.T) {
	dir, server := spy(t)
	told := runSpy(t, process(t, dir, "run", "Look."), server)
	if root := os.Getuid() == 0; root != strings.Contains(told, "planted-visible") {
		t.Errorf("uid %d: the program saw %s", os.Getuid(), told)
	}
}

// A program of an ordinary user cannot look at its host at all.
func TestTheProcessIsClosedToItsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become an ordinary user; without root the test above is this one")
	}
	dir, server := spy(t)
	cmd := process(t, dir, "run", "Look.")
	const nobody = 65534
	cmd.Path = copyProgram(t, cmd.Path, dir)
	for p := dir; p != os.TempDir() && len(p) > 1; p = filepath.Dir(p) {
		if err := os.Chown(p, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(dir, "holdfast.yaml"), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if told := runSpy(t, cmd, server); strings.Contains(told, "planted-visible") || !strings.Contains(told, "ermission denied") {
		t.Errorf("the program saw %s", told)
	}
}

// copyProgram puts a program where anybody may run it.
func copyProgram(t *testing.T, from, dir string) string {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	to := filepath.Join(dir, "holdfast-"+strconv.Itoa(os.Getpid()))
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

// An output that takes nothing, such as a full disk, is one clear error of
// every command.
func TestFullOutput(t *testing.T) {
	dir := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\n",
		"play.yaml":     "steps: [{text: Done.}, {text: Done.}]\n",
	})
	for _, args := range [][]string{
		{"run", "Do it."}, {"run", "--json", "Do it."}, {"runs", "ls"}, {"runs", "ls", "--json"}, {"demo"}, {"doctor"}, {"selfcheck"}, {"version"}, {"run", "--help"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		code, errs := onto(t, full, dir, args...)
		if code != exitFailure || !strings.HasPrefix(errs, `{"error":{"code":"INTERNAL","message":"standard output cannot be written to`) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs)
		}
	}
	if r := shown(t, dir); r.Stop != "answered" {
		t.Errorf("the journal has %+v", r.report)
	}
}

// Main leaves the environment of its process as it is.
func TestMainKeepsTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-planted-key")
	if code := Main([]string{"version"}, strings.NewReader(""), io.Discard, io.Discard); code != exitOK || os.Getenv("OPENAI_API_KEY") != "sk-planted-key" {
		t.Errorf("code %d, the key is %q", code, os.Getenv("OPENAI_API_KEY"))
	}
}

// Where the keys could not be hidden, doctor says so.
func TestDoctorTellsOfKeysThatShow(t *testing.T) {
	dir := project(t, map[string]string{"holdfast.yaml": "tools: [multiply]\n"})
	a := &app{stdin: strings.NewReader(""), env: os.Getenv}
	flags := journalFlags{config: filepath.Join(dir, "holdfast.yaml")}
	for _, exposed := range []error{nil, errStat} {
		a.exposed = exposed
		told := slices.ContainsFunc(a.examine(t.Context(), flags), func(c check) bool { return c.Name == "keys" && c.Status == checkNote })
		if told != (exposed != nil) {
			t.Errorf("exposed %v: told %v", exposed, told)
		}
	}
}
