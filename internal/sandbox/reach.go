//go:build linux || darwin

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/internal/process"
)

// reach is what a program gets to see. All of it exists.
type reach struct {
	program string   // the program's own file, absolute
	system  []string // to read and to run: of every machine
	read    []string // to read and to run: of this program and of the plan
	write   []string // to change; the workspace comes first
	protect []string // what is there of the protected, without links
	leaks   bool     // something protected lies in what may be changed or read
}

// systemPaths are to be read and run by every program. Of /etc there is what
// programs need to start, to name users and to look up hosts; the rest of it
// holds secrets.
func systemPaths() []string {
	etc := []string{
		"alternatives", "fonts", "gai.conf", "gitconfig", "group", "hosts", "java-*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
		"localtime", "locale.alias", "locale.conf", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "php",
		"pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "protocols", "python*", "R", "resolv.conf",
		"services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "static", "terminfo", "timezone",
	}
	all := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/run/current-system",
	}
	for _, name := range etc {
		found, err := filepath.Glob("/etc/" + name)
		if err == nil { // it is no pattern of ours else
			all = append(all, found...)
		}
	}
	return existing(all)
}

func existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// reach finds what there is of a plan. An error means that there is no such
// program, as of exec.LookPath.
func (m *Machine) reach(p Plan, c process.Command, granted []string) (*reach, error) {
	file := c.Argv[0]
	if strings.ContainsRune(file, filepath.Separator) && !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir, file)
	}
	program, err := exec.LookPath(file)
	if err != nil {
		return nil, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	r := &reach{program: program, system: m.system}
	r.write = append(r.write, resolved(p.Workspace))
	for _, path := range existing(p.Write) {
		r.write = append(r.write, resolved(path))
	}
	for _, path := range existing(p.Protect) {
		r.protect = append(r.protect, resolved(path))
	}
	i := interpreters{home: resolved(lookEnv(c.Env, "HOME")), r: r, apart: slices.Concat(r.write, r.protect)}
	i.program(program)
	for _, dir := range filepath.SplitList(lookEnv(c.Env, "PATH")) {
		i.folder(dir)
	}
	for _, path := range existing(p.Read) {
		r.read = append(r.read, resolved(path))
	}
	for _, path := range granted {
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() {
			r.read = append(r.read, resolved(path))
		}
	}
	r.read = outermost(r.read)
	for _, path := range r.protect {
		r.leaks = r.leaks || covers(slices.Concat(r.system, r.read, r.write), path)
	}
	return r, nil
}

// resolved is a path without links, or as it is where it leads nowhere.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	return path
}

// outermost leaves out what another one of paths holds.
func outermost(paths []string) []string {
	var kept []string
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if !covers(kept, path) {
			kept = append(kept, path)
		}
	}
	return kept
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func covers(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// interpreters finds what a program and those on the PATH need of the places
// that they are installed in: python3 of a virtual environment, node of a
// version manager in somebody's home.
type interpreters struct {
	home  string
	r     *reach
	apart []string // what must not be granted by the way
}

// program grants a program, what its links lead over, and what is installed
// beside each of them.
func (i *interpreters) program(path string) {
	for range 40 {
		i.grant(path)
		if filepath.Base(filepath.Dir(path)) != "." {
			i.folder(filepath.Dir(path))
		}
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	if found := resolved(path); found != path {
		i.program(found)
	}
}

// folder grants a folder of programs with the libraries beside it. Whatever else
// is installed there, such as the credentials of a package manager, is not
// granted. The shims of a version manager need all of it.
func (i *interpreters) folder(dir string) {
	if !filepath.IsAbs(dir) {
		return
	}
	for _, dir := range slices.Compact([]string{filepath.Clean(dir), resolved(dir)}) {
		prefix := filepath.Dir(dir)
		switch filepath.Base(dir) {
		case "shims":
			i.grant(prefix)
		case "bin", "sbin":
			i.grant(dir)
			if prefix == i.home {
				continue
			}
			beside := []string{"lib", "lib32", "lib64", "libexec", "include", "pyvenv.cfg", "conda-meta", "ssl"}
			if filepath.Base(prefix) != ".local" { // whose share is a home of secrets
				beside = append(beside, "share")
			}
			for _, name := range beside {
				i.grant(filepath.Join(prefix, name))
			}
		}
	}
}

// grant lets path be read, unless more would come with it than what is installed
// there: somebody's home, the workspace or what is protected.
func (i *interpreters) grant(path string) {
	if _, err := os.Stat(path); err != nil || covers(i.r.system, path) || covers(i.r.write, path) {
		return
	}
	if path == "/" || i.home != "" && within(i.home, path) {
		return
	}
	if slices.ContainsFunc(i.apart, func(other string) bool { return within(other, path) }) {
		return
	}
	i.r.read = append(i.r.read, path)
}
