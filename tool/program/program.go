//go:build linux || darwin

// Package program is the tool run_program: it runs one of a configured set of
// programs by its argument vector, without a shell.
//
// What a model is told of the output is clean text; the facts beside it hold
// the output as it was printed, of which only invalid UTF-8 is replaced.
//
// A program runs in a process group of its own with a short environment (PATH,
// HOME, LANG, LC_ALL, TMPDIR and TZ, as far as the host has them), without
// standard input, without a terminal, and with bounded output. When it ends, by itself, by its
// time or by an interruption, its whole group ends with it. A process that
// leaves the group on purpose (setsid) escapes that, but no [Sandbox]. On Linux the program also dies with its host, however that
// ends; what it started before does not.
package program

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/internal/sandbox"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Name is the tool's name.
const Name = "run_program"

// Bounds of a call.
const (
	MaxArgs     = 64      // arguments that a call adds
	MaxArg      = 4 << 10 // bytes of one of them
	maxPrograms = 64
	maxName     = 64 // bytes of a program's name
)

// Bounds and defaults of a Config.
const (
	DefaultTimeout   = 10 * time.Second
	maxTimeout       = 12 * time.Hour
	DefaultMaxOutput = 8 << 10
	minOutput        = 256
	maxOutput        = 128 << 10
	DefaultGrace     = 500 * time.Millisecond
	maxGrace         = time.Second // within the grace of a tool.Border
)

//go:embed description.txt
var description string

// Config says which programs there are.
type Config struct {
	// Programs by the name that the model uses: 1–64 bytes of printable text
	// without white space. At least one, at most 64.
	Programs map[string]Entry
	// Dir is the working directory, and what a relative path in Argv[0] starts
	// from. Empty: the host's own.
	Dir string
	// MaxOutput bounds what is told of standard output and of standard error
	// each: 256 B – 128 KiB, head and tail. 0: 8 KiB.
	MaxOutput int
	// Grace is the time from SIGTERM to SIGKILL, at most 1 s. 0: 500 ms.
	Grace time.Duration
	// Sandbox confines the programs that have none of their own; nil: they have
	// the rights of the host.
	Sandbox *Sandbox
	// Protect are absolute paths that no sandbox lets a program reach, such as
	// the host's own files in Dir. Bubblewrap alone can keep back what lies in
	// Dir; a result under Landlock says where that was not so.
	Protect []string
}

// Entry is one program.
type Entry struct {
	Argv    []string           // the program and its first arguments
	Effect  kernel.EffectClass // read, idempotent or once; empty: once
	Timeout time.Duration      // at most 12 h; 0: 10 s
	Sandbox *Sandbox           // nil: that of the Config
}

// New returns the tool run_program{program, args?}, or CONFIGURATION. It is a
// tool.Classifier: a call has the class of its program. It is an io.Closer too:
// Close kills what is running at once, without the grace, and lets nothing more
// start. It does not wait, never fails, and may be called more than once.
func New(c Config) (tool.Tool, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(c.Programs))
	schema, err := schemaOf(names)
	if err != nil {
		return nil, configuration("the programs have no schema: " + err.Error())
	}
	p := &programs{config: c, env: process.Environment(nil), closed: make(chan struct{})}
	p.machine = sync.OnceValue(func() *sandbox.Machine { return sandbox.Look(context.Background()) })
	t, err := tool.Func(tool.Spec{
		Name:         Name,
		Description:  description,
		Schema:       schema,
		Effect:       c.gravest(),
		Capabilities: []string{"run_programs"},
		Limits: tool.Limits{
			// A program's own time comes first, and its report fits whole:
			// JSON takes at most two bytes for each byte of clean text.
			Timeout:   c.longest() + c.Grace + process.Drain + 5*time.Second,
			MaxResult: 2*2*c.MaxOutput + 4<<10,
		},
	}, p.run)
	if err != nil {
		return nil, err
	}
	p.Tool = t
	return p, nil
}

// complete fills in the defaults and judges the rest.
func (c Config) complete() (Config, error) {
	c.Programs = maps.Clone(c.Programs)
	if c.MaxOutput == 0 {
		c.MaxOutput = DefaultMaxOutput
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, configuration("the working directory cannot be found")
	}
	c.Dir = dir
	info, err := os.Stat(c.Dir)
	switch {
	case err != nil || !info.IsDir():
		return c, configuration("the working directory of programs is no directory")
	case len(c.Programs) == 0 || len(c.Programs) > maxPrograms:
		return c, configuration("there must be from 1 to " + strconv.Itoa(maxPrograms) + " programs")
	case c.MaxOutput < minOutput || c.MaxOutput > maxOutput:
		return c, configuration("the output limit of programs must be from 256 to 131072 bytes")
	case c.Grace < 0 || c.Grace > maxGrace:
		return c, configuration("the grace of programs must be positive and at most 1s")
	}
	if err := c.Sandbox.check(); err != nil {
		return c, err
	}
	for name, e := range c.Programs {
		if e.Sandbox == nil {
			e.Sandbox = c.Sandbox
		}
		if c.Programs[name], err = e.complete(name); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (e Entry) complete(name string) (Entry, error) {
	e.Argv = slices.Clone(e.Argv)
	if e.Effect == "" {
		e.Effect = kernel.Once
	}
	if e.Timeout == 0 {
		e.Timeout = DefaultTimeout
	}
	refuse := func(why string) (Entry, error) {
		return e, configuration("program " + strconv.Quote(name) + ": " + why)
	}
	switch {
	case !legalName(name):
		return refuse("the name must be 1–64 bytes of printable text without white space")
	case len(e.Argv) == 0 || strings.TrimSpace(e.Argv[0]) == "":
		return refuse("the command line is empty")
	case slices.ContainsFunc(e.Argv, hasNUL):
		return refuse("the command line holds a NUL")
	case gravity(e.Effect) < 0:
		return refuse("the effect class must be read, idempotent or once")
	case e.Timeout < 0 || e.Timeout > maxTimeout:
		return refuse("the timeout must be positive and at most 12h")
	}
	return e, e.Sandbox.check()
}

func legalName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return !strconv.IsPrint(r) || r == ' '
	})
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// gravity orders the effect classes of programs; -1 is none. A program cannot
// be asked later whether it took effect, so none is reconcilable.
func gravity(e kernel.EffectClass) int {
	return slices.Index([]kernel.EffectClass{kernel.Read, kernel.Idempotent, kernel.Once}, e)
}

func (c Config) gravest() kernel.EffectClass {
	worst := kernel.Read
	for _, e := range c.Programs {
		if gravity(e.Effect) > gravity(worst) {
			worst = e.Effect
		}
	}
	return worst
}

func (c Config) longest() time.Duration {
	var longest time.Duration
	for _, e := range c.Programs {
		longest = max(longest, e.Timeout)
	}
	return longest
}

func configuration(msg string) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: msg, Hint: "correct the programs in the configuration"}
}

func schemaOf(names []string) (json.RawMessage, error) {
	type object = map[string]any
	return json.Marshal(object{
		"type": "object",
		"properties": object{
			"program": object{"enum": names, "type": "string", "description": "Name of the program."},
			"args": object{
				"type": "array", "maxItems": MaxArgs, "description": "Arguments to append to the program's own.",
				"items": object{"type": "string", "maxLength": MaxArg},
			},
		},
		"required":             []string{"program"},
		"additionalProperties": false,
	})
}

// programs is the tool.
type programs struct {
	tool.Tool
	config Config
	env    []string
	close  sync.Once
	closed chan struct{}
	// machine says what can be had here. It is asked for once.
	machine func() *sandbox.Machine
}

// Close ends what runs and the tool.
func (p *programs) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

type arguments struct {
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
}

// Effect returns the class of the program that args name.
func (p *programs) Effect(args json.RawMessage) kernel.EffectClass {
	var in arguments
	if json.Unmarshal(args, &in) != nil {
		return kernel.Once
	}
	return p.config.Programs[in.Program].Effect // unknown: empty, which counts as once
}

// Argv returns the command line of the program that args name.
func (p *programs) Argv(args json.RawMessage) []string {
	var in arguments
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	return slices.Concat(p.config.Programs[in.Program].Argv, in.Args)
}

func (p *programs) run(ctx context.Context, _ tool.Call, in arguments) (tool.Result, error) {
	entry, ok := p.config.Programs[in.Program]
	switch {
	case !ok:
		return tool.Result{}, invalid("program must be one of the configured ones")
	case len(in.Args) > MaxArgs:
		return tool.Result{}, invalid("args must have at most " + strconv.Itoa(MaxArgs) + " items")
	case slices.ContainsFunc(in.Args, func(a string) bool { return len(a) > MaxArg }):
		return tool.Result{}, invalid("each of args must have at most " + strconv.Itoa(MaxArg) + " bytes")
	case slices.ContainsFunc(in.Args, hasNUL):
		return tool.Result{}, invalid("args must not hold a NUL")
	}
	own, cancel := context.WithTimeout(ctx, entry.Timeout)
	defer cancel()
	x, held, err := p.start(own, entry, process.Command{
		Argv: slices.Concat(entry.Argv, in.Args), Dir: p.config.Dir, Env: p.env,
		MaxOutput: p.config.MaxOutput, Grace: p.config.Grace, Kill: p.closed,
	})
	if err != nil {
		return tool.Result{}, explainStart(in.Program, err)
	}
	return p.report(in.Program, entry, x, held)
}

func invalid(msg string) error {
	return &tool.Error{Code: kernel.CodeInvalidArgument, Message: msg, Disposition: kernel.DidNotHappen}
}
