package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// smallDisk names the folder where a process with mounts of its own is to have a
// disk of its own.
const smallDisk = "HOLDFAST_CLI_TEST_DISK"

// Row 87: a disk that is full is called that, by whatever command meets it, and
// not a fault of the disk, of the archive or of this build.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(smallDisk); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Logf("no disk of its own for a test here: %v", err)
		return
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// onSmallDisk makes what the commands need on a disk of two megabytes, fills that
// and calls them.
func onSmallDisk(t *testing.T, dir string) {
	if err := syscall.Mount("small", dir, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Logf("no disk of its own for a test here: %v", err)
		return
	}
	defer func() { _ = syscall.Unmount(dir, 0) }()
	here := project(t, map[string]string{
		"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [write_file]\nworkspace: " + dir +
			"/work\nmemory: {project: " + dir + "/memory, user: " + dir + "/mine}\nskills: [" + dir + "/skills]\n",
		"play.yaml": "steps:\n  - text: done\n",
	})
	for _, name := range []string{"work", "memory", "mine", "skills", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	packSkill(t, filepath.Join(here, "sums.zip"))
	call := func(args ...string) (stdout, stderr string) {
		cmd := process(t, here, args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // what it prints says how it went
		return out.String(), errs.String()
	}
	whole := filepath.Join(here, "whole.db")
	journal, desk := filepath.Join(dir, "j.db"), filepath.Join(dir, "d.db")
	for _, args := range [][]string{{"run", "--db", whole, "Do it."}, {"run", "--db", journal, "Do it."}, {"desk", "init", "--db", desk}} {
		if _, errs := call(args...); errs != "" {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	fillDisk(t, dir, journal+"-shm", desk+"-shm")

	for _, args := range [][]string{
		{"runs", "ls", "--db", journal}, {"run", "--db", journal, "More."}, {"run", "--db", filepath.Join(dir, "new.db"), "Do it."},
		{"desk", "drafts", "--db", desk, "--user", "alice"}, {"db", "backup", "--db", whole, filepath.Join(dir, "backup.db")},
		{"memory", "propose", "--scope", "project", "Tea, please."}, {"skills", "install", "sums.zip"},
	} {
		_, errs := call(args...)
		fullDiskSaid(t, args, errs)
	}
	for _, place := range []string{journal, filepath.Join(dir, "new", "j.db")} {
		out, _ := call("doctor", "--db", place)
		for _, want := range []string{"broken  journal: ", "broken  workspace: "} {
			if _, rest, there := strings.Cut(out, want); !there || !strings.Contains(rest[:strings.IndexByte(rest, '\n')], "its disk is full") {
				t.Errorf("doctor, with %s, on a full disk:\n%s", place, out)
			}
		}
	}
	for _, args := range [][]string{{"selfcheck"}, {"demo"}, {"desk", "eval-search"}, {"desk", "eval"}} {
		cmd := process(t, here, args...)
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		_ = cmd.Run() // its error says how it went
		fullDiskSaid(t, args, errs.String())
		if !strings.Contains(errs.String(), "the temporary folder ") {
			t.Errorf("%v: %s", args, errs.String())
		}
	}
	readOnlySaid(t, here, dir, desk)
}

// readOnlySaid makes the same disk read-only: that it has no room is then not what is
// in the way.
func readOnlySaid(t *testing.T, here, dir, desk string) {
	t.Helper()
	if err := syscall.Mount("small", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"doctor", "--db", filepath.Join(dir, "new.db")}, {"selfcheck"}, {"desk", "drafts", "--db", desk, "--user", "alice"},
	} {
		cmd := process(t, here, args...)
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil || strings.Contains(string(out), "its disk is full") {
			t.Errorf("%v, on a read-only disk: %v\n%s", args, err, out)
		}
	}
}

func fullDiskSaid(t *testing.T, args []string, stderr string) {
	t.Helper()
	var told struct{ Error kernel.Error }
	if err := json.Unmarshal([]byte(stderr), &told); err != nil || told.Error.Code != kernel.CodeLocalStorage ||
		!strings.Contains(told.Error.Message, "its disk is full") || !strings.Contains(told.Error.Hint, "free some space") {
		t.Errorf("%v, on a full disk: %s", args, stderr)
	}
}

// fillDisk removes files that SQLite makes again, and takes all that is left.
func fillDisk(t *testing.T, dir string, gone ...string) {
	t.Helper()
	for _, path := range gone {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func packSkill(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("sums/SKILL.md")
	if err == nil {
		_, err = w.Write([]byte("---\nname: sums\ndescription: Adds numbers.\n---\nAdd them.\n"))
	}
	if err := errors.Join(err, z.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}
