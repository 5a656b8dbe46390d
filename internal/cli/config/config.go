// Package config reads holdfast.yaml. The whole file is checked before
// anything starts: unknown keys, duplicates, wrong types and values out of
// range are CONFIGURATION errors that name file, line and what to do.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// The providers.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Script    = "script"
)

// The bounds of model.max_tokens, and its value where nothing sets it.
const (
	MinMaxTokens     = 128
	MaxMaxTokens     = 16384
	DefaultMaxTokens = 4096
)

// DefaultRequestTimeout bounds one model request where nothing sets it.
const DefaultRequestTimeout = 15 * time.Second

// RunProgram is the tool that runs configured programs: two sections depend on
// its name.
const RunProgram = "run_program"

// MaxStdout is what a result of run_program records of an output, in bytes. A
// longer one is cut, and nothing can be said of it.
const MaxStdout = 8 << 10

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// DefaultLease is how long a process that fell silent keeps its runs where
// nothing sets it.
const DefaultLease = 10 * time.Second

// Config is a checked configuration. A Config that Read returned is complete
// but for what the environment fills (see Complete). A new field belongs into
// what is kept with a run, too (see Stored).
type Config struct {
	File         string // as given; empty: there is none
	Dir          string // absolute; what the file's relative paths start from
	Model        Model
	Instructions string
	Workspace    string // absolute, an existing directory
	Tools        []string
	Programs     map[string]Program
	Sandbox      *Sandbox             // of the programs; nil: nothing in it is set
	MCP          map[string]MCPServer // by name
	Policy       []policy.Rule
	// PolicyPlaces are the files and lines of the rules, for people. It is not kept
	// with a run.
	PolicyPlaces []string
	// Places are the files and lines of programs, hooks and the context by their
	// keys, such as programs.main and hooks.before[0], for people. They are not kept
	// either.
	Places map[string]string
	// PolicyDir is the folder that more rules are in, absolute, whether or not it is
	// there; empty: there is none. A run is kept with the rules themselves, and with
	// the folder for its tools to stay out of.
	PolicyDir string
	Limits    kernel.Limits
	Retry     kernel.Retry
	// RequestTimeout bounds one request to the model.
	RequestTimeout time.Duration
	Verify         *Verify // nil: answers stay unchecked
	Engine         Engine
	Hooks          Hooks
	Memory         *Memory  // nil: nothing is remembered
	Skills         []string // folders, absolute
	// Unknown says what a call whose outcome is unknown does to its run.
	Unknown kernel.OnUnknown
	Context Context
	// Kept says that this is what a run was started with (see FromStored), and
	// not what a file says now.
	Kept bool
}

// Engine says how runs are driven.
type Engine struct {
	// Lease is how long a process that fell silent keeps its runs, from 1 s to
	// 10 min.
	Lease time.Duration
}

// Model says which model answers. Empty fields are unset.
type Model struct {
	Provider string // OpenAI, Anthropic or Script
	Name     string // script: the file, absolute
	BaseURL  string // empty: the provider's own
	// SecretQuery says that the query of BaseURL came from the environment, where
	// keys come from: it is not kept with a run.
	SecretQuery bool
	Profile     kernel.Profile
	Stream      bool
	// MaxTokens is the output limit of a request, from MinMaxTokens to
	// MaxMaxTokens; 0: unset.
	MaxTokens int
	Key       Secret
}

// Program is a program that run_program may start.
type Program struct {
	Argv    []string           // not empty
	Effect  kernel.EffectClass // empty: the tool's default
	Timeout time.Duration      // 0: the tool's default
	Sandbox *Sandbox           // nil: that of the file
}

// Verify says which program's last result decides on the answer.
type Verify struct {
	Program  string
	Args     []string // what the model is to give the program
	ExitCode int
	Stdout   *string // nil: not looked at
	EachTurn bool    // also after each turn's results
	Continue bool    // an unverified answer goes back to the model
}

// Default is the configuration where there is no file: a model from the
// environment that may multiply, and nothing else. Paths start from dir.
func Default(dir string) *Config {
	c := empty(dir)
	c.Tools = []string{"multiply"}
	c.Policy = []policy.Rule{{Answer: kernel.Allow, Tool: "multiply"}}
	return c
}

// empty is what a file starts from: no tools, no rules, the kernel's limits.
func empty(dir string) *Config {
	return &Config{
		Dir:            dir,
		Workspace:      dir,
		Model:          Model{Profile: kernel.Strict, Stream: true},
		Limits:         kernel.DefaultLimits(),
		Retry:          kernel.DefaultRetry(),
		RequestTimeout: DefaultRequestTimeout,
		Engine:         Engine{Lease: DefaultLease},
		Unknown:        kernel.UnknownTell,
	}
}

// Read reads and checks the file at path. tools are the names of the tools
// that exist. Errors are CONFIGURATION.
func Read(path string, tools []string) (*Config, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	c := empty(filepath.Dir(abs))
	c.File = path
	if err := c.decode(text, tools); err != nil {
		return nil, err
	}
	return c, nil
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular():
		return nil, unusable(path, "it is not a regular file", "name a file with -c", nil)
	case info.Size() > maxFile:
		return nil, unusable(path, "it is over 1 MiB", "is it the right file? Long instructions can be files of the workspace", nil)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return text, nil
}

func unreadable(path string, err error) error {
	reason, hint := err.Error(), "check the disk that it is on"
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathErr.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "give an existing file with -c, or leave -c out to use ./holdfast.yaml"
	case errors.Is(err, fs.ErrPermission):
		hint = "check the owner and the mode of the file and of its folders"
	}
	return unusable(path, reason, hint, err)
}

func unusable(path, reason, hint string, err error) error {
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: fmt.Sprintf("cannot read the configuration file %s: %s", path, reason),
		Hint:    hint,
		Err:     err,
	}
}
