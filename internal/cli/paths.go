package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// defaultConfig is read when -c is not given, if it is there.
const defaultConfig = "holdfast.yaml"

// configFile returns the configuration file to use; empty: there is none.
func (a *app) configFile(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	_, err := os.Lstat(defaultConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", &kernel.Error{Code: kernel.CodeConfiguration, Message: "cannot look for ./" + defaultConfig, Hint: "give the configuration file with -c", Err: err}
	}
	return defaultConfig, nil
}

// journalBeside is the journal's default place, beside the configuration file
// or in the working directory where there is none.
func journalBeside(file string) string {
	return filepath.Join(filepath.Dir(file), ".holdfast", "journal.db")
}

// hostFiles are the paths that belong to the host and not to the agent, which
// otherwise could rewrite its rules or its record: the configuration, the one
// that is read by default, the script that answers, the journal with the files
// that SQLite keeps beside it, the folder of journals, those of the rules, of the
// memory and of the skills, and what the command lines of hooks and servers name.
func hostFiles(c *config.Config, journal string) ([]string, error) {
	paths := []string{
		filepath.Join(filepath.Dir(c.File), defaultConfig), filepath.Dir(journalBeside(c.File)),
		journal, journal + "-wal", journal + "-shm", journal + "-journal",
	}
	if c.File != "" {
		paths = append(paths, c.File)
	}
	if c.PolicyDir != "" {
		paths = append(paths, c.PolicyDir)
	}
	paths = slices.Concat(paths, memoryFolders(c), c.Skills, hostPrograms(c))
	if c.Model.Provider == config.Script {
		paths = append(paths, c.Model.Name)
	}
	for i, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, unnamedDirectory(err)
		}
		paths[i] = abs
	}
	return paths, nil
}

// hostPrograms are the files that hooks and MCP servers are made of, as far as
// their command lines name them: whoever could write one would decide, or have
// the host's rights. A file that is not there yet counts, and a folder does not:
// that may be what a server works on.
func hostPrograms(c *config.Config) []string {
	var paths []string
	add := func(argv []string) {
		for i, arg := range argv {
			if arg == "" || strings.HasPrefix(arg, "-") || i == 0 && !strings.ContainsRune(arg, filepath.Separator) {
				continue // a name alone is looked up in PATH
			}
			if !filepath.IsAbs(arg) {
				arg = filepath.Join(c.Dir, arg)
			}
			if info, err := os.Stat(arg); err != nil || !info.IsDir() {
				paths = append(paths, arg)
			}
		}
	}
	for _, h := range slices.Concat(c.Hooks.Before, c.Hooks.After) {
		add(h.Command)
	}
	for _, s := range c.MCP {
		add(s.Command)
	}
	return paths
}

func unnamedDirectory(err error) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the working directory cannot be named", Hint: "change to an existing directory", Err: err}
}

// readConfig reads the configuration file, or returns the default
// configuration of the working directory.
func (a *app) readConfig(flag string) (*config.Config, error) {
	file, err := a.configFile(flag)
	if err != nil {
		return nil, err
	}
	if file != "" {
		return config.Read(file, toolNames())
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, unnamedDirectory(err)
	}
	return config.Default(dir), nil
}
