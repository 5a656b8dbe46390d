package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/holdfast-run/holdfast/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errMissing = errors.New("it is not here")

// Each version of Landlock is used for what it has, and what it lacks is said.
func TestLandlockByVersion(t *testing.T) {
	for abi, want := range map[int]string{
		1: "landlock(abi 1): files (without truncation)",
		2: "landlock(abi 2): files (without truncation)",
		3: "landlock(abi 3): files",
		4: "landlock(abi 4): files, tcp",
		6: "landlock(abi 6): files, tcp",
	} {
		m := &Machine{ABI: abi, NoBwrap: errMissing}
		if got := m.heldByLandlock(Plan{}, false); got != want {
			t.Errorf("%d: %q, want %q", abi, got, want)
		}
		if m.choose(Plan{}) != Landlock || m.choose(Plan{Require: Landlock, Network: true}) != Landlock {
			t.Errorf("%d: not used", abi)
		}
		if used := m.choose(Plan{Require: Landlock}) == Landlock; used != (abi >= 4) {
			t.Errorf("%d: without the network it is required, and used: %v", abi, used)
		}
	}
	m := &Machine{ABI: 7, signals: true}
	if got, want := m.heldByLandlock(Plan{Network: true}, true), "landlock(abi 7): files (without the host's own in reach), signals"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	old := &Machine{ABI: 1}
	if got := old.known(writeAny | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV); got&(unix.LANDLOCK_ACCESS_FS_REFER|unix.LANDLOCK_ACCESS_FS_TRUNCATE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV) != 0 || got&unix.LANDLOCK_ACCESS_FS_MAKE_REG == 0 {
		t.Errorf("rights of version 1: %#x", got)
	}
}

func TestChoose(t *testing.T) {
	both := Machine{ABI: 7}
	for _, tt := range []struct {
		require             Kind
		noLandlock, noBwrap error
		want                Kind
	}{
		{None, nil, nil, Bubblewrap},
		{"", nil, errMissing, Landlock},
		{None, errMissing, errMissing, None},
		{Landlock, nil, nil, Landlock},
		{Landlock, errMissing, nil, None},
		{Bubblewrap, nil, nil, Bubblewrap},
		{Bubblewrap, nil, errMissing, None},
	} {
		m := both
		m.NoLandlock, m.NoBwrap = tt.noLandlock, tt.noBwrap
		p := Plan{Require: tt.require, Workspace: t.TempDir()}
		if got := m.choose(p); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
		if tt.want != None || tt.require == None {
			continue
		}
		_, err := m.Confine(p, process.Command{Argv: []string{"true"}})
		less, ok := errors.AsType[*LessError](err)
		if !ok || less.Kind != tt.require || less.Hint == "" || !strings.Contains(less.Error(), errMissing.Error()) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// A plan that requires a kind refuses to run without the limits that it sets.
func TestLimitsAreRequired(t *testing.T) {
	m := &Machine{NoLandlock: errMissing, NoBwrap: errMissing, NoLimits: errMissing}
	set := Limits{Memory: 1 << 30}
	for _, tt := range []struct {
		require Kind
		limits  Limits
		refuses bool
	}{{Landlock, set, true}, {Bubblewrap, set, true}, {Landlock, Limits{}, false}, {None, set, false}, {"", set, false}} {
		kind := tt.require
		if kind == "" {
			kind = None
		}
		err := m.enough(Plan{Require: tt.require, Limits: tt.limits}, kind)
		less, ok := errors.AsType[*LessError](err)
		if ok != tt.refuses || ok && (less.Hint == "" || !strings.Contains(less.Error(), "the limits that are set cannot be had")) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// tree makes empty files below a new folder, and links where a name has one.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := resolved(t.TempDir())
	for _, name := range files {
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if link {
			err = os.Symlink(filepath.Join(dir, target), path)
		} else {
			err = os.WriteFile(path, nil, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What is installed in somebody's home can be run there, and nothing comes with
// it that is nobody's library.
func TestInterpreters(t *testing.T) {
	home := tree(t,
		".bashrc", "secret", "bin/mine", "lib/kept", "tool",
		".pyenv/shims/python3", ".pyenv/versions/3/bin/python3",
		".cargo/bin/cargo", ".cargo/credentials.toml",
		".local/bin/uv -> .local/share/uv/bin/uv", ".local/lib/python3/a", ".local/share/keyrings/k", ".local/share/uv/bin/uv", ".local/share/uv/lib/l",
		"work/venv/bin/python -> apps/py/bin/python3", "work/venv/pyvenv.cfg", "apps/py/bin/python3", "apps/py/lib/l", "apps/py/etc/key",
	)
	workspace := filepath.Join(home, "work")
	join := func(names ...string) string {
		for i, name := range names {
			names[i] = filepath.Join(home, name)
		}
		return strings.Join(names, ":")
	}
	path := join("bin", ".pyenv/shims", ".cargo/bin", ".local/bin", "") + ":relative/bin"
	m := &Machine{system: systemPaths()}
	for argv0, granted := range map[string][]string{
		filepath.Join(home, "tool"): {"tool"},
		"uv":                        {".local/share/uv/bin", ".local/share/uv/lib"},
		"./venv/bin/python":         {"apps/py/bin", "apps/py/lib"},
	} {
		t.Setenv("PATH", path)
		r, err := m.reach(Plan{Workspace: workspace}, process.Command{Argv: []string{argv0}, Dir: workspace, Env: []string{"HOME=" + home, "PATH=" + path}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]string{"bin", ".pyenv", ".cargo/bin", ".local/bin", ".local/lib"}, granted...)
		for i, name := range want {
			want[i] = filepath.Join(home, name)
		}
		slices.Sort(want)
		if !slices.Equal(r.read, want) {
			t.Errorf("%s: read %q, want %q", argv0, r.read, want)
		}
	}
}

// Neither the workspace's parents nor what is protected is granted by the way.
func TestInterpretersKeepApart(t *testing.T) {
	dir := tree(t, "app/bin/run", "app/lib/l", "app/share/journal", "app/share/desk/w")
	r, err := (&Machine{}).reach(
		Plan{Workspace: filepath.Join(dir, "app/share/desk"), Protect: []string{filepath.Join(dir, "app/share/journal")}},
		process.Command{Argv: []string{filepath.Join(dir, "app/bin/run")}, Env: []string{"HOME=/nowhere"}}, nil,
	)
	want := []string{filepath.Join(dir, "app/bin"), filepath.Join(dir, "app/lib")}
	if err != nil || !slices.Equal(r.read, want) || r.leaks {
		t.Errorf("%+v, %v", r, err)
	}
}

// What a program made unwritable goes with the rest of its temporary files.
func TestLentFolderIsRemoved(t *testing.T) {
	c := &Confined{}
	dir, err := c.lend()
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{inner, filepath.Dir(inner)} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	c.Close()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// Where nothing can be lent the error is about that folder, and not one that
// reads as if the program were missing.
func TestNothingToLend(t *testing.T) {
	place := filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", place)
	_, err := (&Confined{}).lend()
	tmp, ok := errors.AsType[*TemporaryError](err)
	if !ok || tmp.Dir != place || tmp.Why != "no such file or directory" || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
