package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/internal/sandbox"
)

// looking is a project whose program looks for the host's own files, which lie in
// its workspace, and works in that.
func looking(t *testing.T, settings string) string {
	t.Helper()
	return project(t, map[string]string{
		"holdfast.yaml": `
model: {provider: script, name: play.yaml}
tools: [run_program]
programs: {look: [/bin/sh, -c, 'cat holdfast.yaml; ls .holdfast; echo mine >note && cat note']}
policy: [{allow: run_program}]
` + settings,
		"play.yaml": "steps:\n  - calls: [{id: call_1, name: run_program, args: '{\"program\":\"look\"}'}]\n  - text: done\n",
	})
}

// toldOf is what the model was told of the only call of a run, which exited as
// wanted.
func toldOf(t *testing.T, cmd *exec.Cmd, dir string) string {
	t.Helper()
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := json.Marshal(shown(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), `\`, "")
}

// Row 50: a newcomer's programs, in the folder of the configuration, work and
// reach neither that nor the journal, as far as this machine can hold them; the
// journal says what held.
func TestSandboxOfANewProject(t *testing.T) {
	m := sandbox.Look(t.Context())
	dir := looking(t, "")
	got := toldOf(t, process(t, dir, "run", "Look."), dir)
	if !strings.Contains(got, `mine`) {
		t.Errorf("the workspace does not work: %s", got)
	}
	switch leaked := strings.Contains(got, "provider: script") || strings.Contains(got, "journal.db-wal"); {
	case m.NoBwrap == nil:
		if leaked || !strings.Contains(got, `"sandbox":"bwrap: files, network, processes`) {
			t.Errorf("%s", got)
		}
	case m.NoLandlock == nil:
		t.Logf("bubblewrap is not tested: %v", m.NoBwrap)
		if !strings.Contains(got, "without the host's own in reach") {
			t.Errorf("%s", got)
		}
	default:
		t.Logf("no sandbox is tested: %v, %v", m.NoBwrap, m.NoLandlock)
		if !strings.Contains(got, `"sandbox":"none`) {
			t.Errorf("%s", got)
		}
	}
	if note, err := os.ReadFile(filepath.Join(dir, "note")); err != nil || string(note) != "mine\n" {
		t.Errorf("%q, %v", note, err)
	}
}

// What is required and not there is refused before anything runs, and doctor
// says it beforehand.
func TestSandboxThatIsNotThere(t *testing.T) {
	dir := looking(t, "sandbox: {require: bwrap}\n")
	without := "PATH=" + t.TempDir()
	cmd := process(t, dir, "run", "Look.")
	cmd.Env = append(cmd.Env, without)
	got := toldOf(t, cmd, dir)
	for _, part := range []string{"the sandbox requires bwrap, and bubblewrap (bwrap) is not installed", "holdfast doctor", `"state":"no_effect"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing: %s", part, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "note")); err == nil {
		t.Error("it ran")
	}
	cmd = process(t, dir, "doctor")
	cmd.Env = append(cmd.Env, without)
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), "broken  sandbox of look: ") || !strings.Contains(string(out), "requires bwrap") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A program that gets no folder for its temporary files is not said to be
// missing, by a run or by doctor: what is missing is where they would lie.
func TestSandboxWithoutTemporaryFolder(t *testing.T) {
	if m := sandbox.Look(t.Context()); m.NoLandlock != nil {
		t.Logf("no folder is lent here: %v", m.NoLandlock)
		return
	}
	dir := looking(t, "")
	for place, why := range map[string]string{
		filepath.Join(dir, "none"):      "no such file or directory",
		filepath.Join(dir, "play.yaml"): "not a directory",
		"/proc":                         "no such file or directory",
	} {
		cmd := process(t, dir, "run", "Look.")
		cmd.Env = append(cmd.Env, "TMPDIR="+place)
		want := `the temporary folder "` + place + `" cannot be written to: ` + why
		if got := toldOf(t, cmd, dir); !strings.Contains(got, want) || !strings.Contains(got, "set TMPDIR") || !strings.Contains(got, `"state":"no_effect"`) {
			t.Errorf("%s: %s", place, got)
		}
		cmd = process(t, dir, "doctor")
		cmd.Env = append(cmd.Env, "TMPDIR="+place)
		out, err := cmd.Output()
		if err == nil || !strings.Contains(string(out), "broken  sandbox of look: ") || strings.Count(string(out), want) == 0 || strings.Contains(string(out), "install it") {
			t.Errorf("%s: %v\n%s", place, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "note")); err == nil {
		t.Error("it ran")
	}
}
