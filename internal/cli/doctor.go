package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/internal/room"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// The states of a check.
const (
	checkOK     = "ok"
	checkNote   = "note"   // worth knowing
	checkBroken = "broken" // a run would fail
)

// check is one thing that doctor looked at. It holds no secret.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
}

func (a *app) doctorCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a run needs: configuration, model, workspace, programs, policy, limits, journal, sandbox, terminal",
		Long:  "Doctor looks at what a run would use and starts none. To find out what confines programs here it runs true(1) twice. It sends nothing over the network and prints no key.",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), flags)
		},
	}
	flags.addPlace(cmd, "the configuration `FILE` to check (default ./holdfast.yaml, if it is there)", oneObject)
	return cmd
}

func (a *app) doctor(ctx context.Context, flags journalFlags) error {
	checks := a.examine(ctx, flags)
	healthy := !slices.ContainsFunc(checks, func(c check) bool { return c.Status == checkBroken })
	if flags.json {
		err := writeJSON(a.stdout, struct {
			OK     bool    `json:"ok"`
			Checks []check `json:"checks"`
		}{healthy, checks})
		if err != nil {
			return err
		}
	} else {
		d := newDisplay(a.stdout)
		for _, c := range checks {
			d.printf("%-6s  %s: %s\n", c.Status, c.Name, safeLine(c.Detail))
			if c.Hint != "" {
				d.printf("        %s\n", safeLine(c.Hint))
			}
		}
	}
	if !healthy {
		return exitError(exitFailure)
	}
	return nil
}

// examine makes all checks. What depends on a configuration that cannot be
// read is left out.
func (a *app) examine(ctx context.Context, flags journalFlags) []check {
	checks := []check{{Name: "version", Status: checkOK, Detail: "holdfast " + readBuild().Version}}
	c, err := a.readConfig(flags.config)
	if err != nil {
		return append(checks, broken("config", err), a.checkTerminal())
	}
	checks = append(checks, checkConfig(c))
	checks = append(checks, a.checkModel(c)...)
	if a.exposed != nil {
		checks = append(checks, check{Name: "keys", Status: checkNote, Detail: "programs that run_program starts may find the keys in this process: " + a.exposed.Error(),
			Hint: "list run_program only where you trust the programs with the keys"})
	}
	checks = append(checks, checkWorkspace(c))
	checks = append(checks, checkPrograms(c)...)
	checks = append(checks, checkHooks(c)...)
	checks = append(checks, checkServers(c)...)
	checks = append(checks, checkPolicy(ctx, c)...)
	checks = append(checks, checkLimits(c)...)
	checks = append(checks, checkContext(c))
	checks = append(checks, checkMemory(ctx, c)...)
	checks = append(checks, checkSkills(c)...)
	path := flags.db
	if path == "" {
		path = journalBeside(c.File)
	}
	checks = append(checks, checkJournal(ctx, path), checkProtection(c, path))
	return append(append(checks, checkSandbox(ctx, c, path)...), a.checkTerminal())
}

// checkProtection says what the agent's tools reach of the host's own files.
func checkProtection(c *config.Config, journal string) check {
	if _, err := hostFiles(c, journal); err != nil {
		return broken("protected", err)
	}
	return check{Name: "protected", Status: checkOK, Detail: "the file tools reach neither the configuration nor the journal"}
}

func broken(name string, err error) check {
	e := asError(err)
	return check{Name: name, Status: checkBroken, Detail: e.Message, Hint: e.Hint}
}

func checkConfig(c *config.Config) check {
	if c.File == "" {
		return check{Name: "config", Status: checkNote, Detail: "there is no ./" + defaultConfig + ": the model comes from the environment, with the tool multiply alone"}
	}
	return check{Name: "config", Status: checkOK, Detail: c.File}
}

// checkModel looks at what reaches the model, and reaches for nothing. The key
// is there or not; its value is nobody's business.
func (a *app) checkModel(c *config.Config) []check {
	if err := c.Complete(a.env); err != nil {
		return []check{broken("model", err)}
	}
	m := c.Model
	if _, err := buildModel(m); err != nil {
		return []check{broken("model", err)}
	}
	checks := []check{{Name: "model", Status: checkOK, Detail: fmt.Sprintf("%s %s, profile %s, at most %d output tokens", m.Provider, m.Name, m.Profile, m.MaxTokens)}}
	if m.Provider == config.Script {
		checks[0].Status, checks[0].Detail = checkNote, "a fixed script answers, no real model: "+m.Name
		return checks
	}
	host := "the provider's own"
	if m.BaseURL != "" {
		u, err := url.Parse(m.BaseURL)
		if err != nil {
			return append(checks, check{Name: "base_url", Status: checkBroken, Detail: "not a URL"})
		}
		host = u.Host
	}
	return append(checks, check{Name: "base_url", Status: checkOK, Detail: "host " + host + ", which was not asked"}, checkKey(&m))
}

// checkKey says whether there is a key and whether others can read it on its
// way.
func checkKey(m *config.Model) check {
	switch {
	case keyInClear(m):
		return check{Name: "key", Status: checkNote, Detail: "present, and sent in the clear: the base URL is plain http and leaves this machine",
			Hint: "use https, unless nobody else is on the way"}
	case m.Key.Set():
		return check{Name: "key", Status: checkOK, Detail: "present"}
	}
	return check{Name: "key", Status: checkOK, Detail: "none, and none is needed on this machine"}
}

func checkWorkspace(c *config.Config) check {
	out := check{Name: "workspace", Status: checkOK, Detail: c.Workspace}
	entries, err := os.Open(c.Workspace)
	if err != nil {
		return check{Name: "workspace", Status: checkBroken, Detail: c.Workspace + " cannot be read", Hint: "check its permissions"}
	}
	_ = entries.Close()
	if !slices.Contains(c.Tools, "write_file") {
		return out
	}
	const block = 4 << 10 // what the smallest file takes
	if why, hint := room.Short(c.Workspace, block); why != "" {
		return check{Name: "workspace", Status: checkBroken, Detail: c.Workspace + " cannot be written to, but write_file is listed: " + why, Hint: hint}
	}
	if !writable(c.Workspace) {
		out.Status, out.Detail, out.Hint = checkBroken, c.Workspace+" cannot be written to, but write_file is listed", "check its permissions"
	}
	return out
}

// checkPrograms looks for each program where a run would.
func checkPrograms(c *config.Config) []check {
	var checks []check
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		checks = append(checks, checkProgram("program "+name, c.Programs[name].Argv[0], c.Workspace, "programs."+name))
	}
	return checks
}

// checkHooks looks for the programs of hooks: one that cannot be started refuses
// every call that it is to look at.
func checkHooks(c *config.Config) []check {
	var checks []check
	for _, list := range []struct {
		key   string
		hooks []config.Hook
	}{{"hooks.before", c.Hooks.Before}, {"hooks.after", c.Hooks.After}} {
		for i := range list.hooks {
			h := &list.hooks[i]
			key := fmt.Sprintf("%s[%d]", list.key, i)
			checks = append(checks, checkProgram(key+" of "+h.Tool, h.Command[0], c.Dir, key))
		}
	}
	return checks
}

// checkServers looks for the programs of MCP servers, and starts none.
func checkServers(c *config.Config) []check {
	var checks []check
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		out := check{Name: "mcp " + name, Status: checkOK, Detail: "by its url; holdfast mcp ls connects to it"}
		if s := c.MCP[name]; len(s.Command) > 0 {
			if out = checkProgram(out.Name, s.Command[0], c.Dir, "mcp."+name); out.Status == checkOK {
				out.Detail += "; holdfast mcp ls starts it"
			} else {
				out.Status = checkNote // a run leaves the server out
			}
		}
		checks = append(checks, out)
	}
	return checks
}

// checkProgram looks for a program where it would be started: a relative path
// begins at dir.
func checkProgram(name, file, dir, key string) check {
	if strings.ContainsRune(file, filepath.Separator) && !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	found, err := exec.LookPath(file)
	if err != nil {
		return check{Name: name, Status: checkBroken, Detail: fmt.Sprintf("%q is not found or not executable", file), Hint: "install it, make it executable, or correct " + key}
	}
	return check{Name: name, Status: checkOK, Detail: found}
}

// newJournal is the room that the first run needs: what an empty journal takes,
// with the log and the index that SQLite keeps beside it, and some records.
const newJournal = 512 << 10

// checkJournal reads the journal that is there, and otherwise tries whether
// one could be made. It makes none.
func checkJournal(ctx context.Context, path string) check {
	reader, err := sqlite.OpenReader(ctx, path, sqlite.Options{})
	if err == nil {
		_ = reader.Close()
	} else if kernel.CodeOf(err) != kernel.CodeNotFound {
		return broken("journal", err)
	}
	dir, ok := folderThere(filepath.Dir(path))
	if !ok {
		return check{Name: "journal", Status: checkBroken, Detail: path + " cannot be made: " + dir + " is not a directory", Hint: "choose another place with --db"}
	}
	state, needed := "there", uint64(room.Needed)
	if err != nil {
		state, needed = "made by the first run", newJournal
	}
	if why, hint := room.Short(path, needed); why != "" {
		return check{Name: "journal", Status: checkBroken, Detail: path + " cannot grow: " + why, Hint: hint}
	}
	if !writable(dir) {
		return check{Name: "journal", Status: checkBroken, Detail: dir + " cannot be written to", Hint: "choose another place with --db"}
	}
	return check{Name: "journal", Status: checkOK, Detail: path + " (" + state + ")"}
}

// folderThere is the folder at dir, or the nearest one above it that is there; false: that is
// none, and nothing can be made in it.
func folderThere(dir string) (there string, ok bool) {
	for {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir || !errors.Is(err, os.ErrNotExist) {
			return dir, false
		}
		dir = parent
	}
}

// writable tries it: permissions alone do not tell.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".holdfast-doctor-*")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}

func (a *app) checkTerminal() check {
	if terminal(a.stdin) != nil && terminal(a.stderr) != nil {
		return check{Name: "terminal", Status: checkOK, Detail: "present: rules that ask are put to the person there"}
	}
	return check{Name: "terminal", Status: checkNote, Detail: "none: a run whose rule asks waits until somebody decides (holdfast approvals), unless --yes is given"}
}
