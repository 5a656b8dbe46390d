package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/anthropic"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// plantedKey is the key of every model here, so that a leak can be found.
const plantedKey = "sk-selfcheck-planted-key"

var errNotHeld = errors.New("the rule does not hold")

func notHeld(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNotHeld, fmt.Sprintf(format, args...))
}

// bench is what a proof experiments with: a strict stub server, a model on it,
// the tool multiply, and a journal in a file.
type bench struct {
	server *stub.Server
	agent  *engine.Agent
	file   string // of the journal
	rt     *holdfast.Runtime
	close  []func()
}

func (b *bench) Close() {
	for _, f := range slices.Backward(b.close) {
		f()
	}
}

// newBench starts the parts. wire is config.OpenAI or config.Anthropic.
func newBench(ctx context.Context, dir, wire string) (_ *bench, err error) {
	b := &bench{file: filepath.Join(filepath.Dir(dir), "journal.db")}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if b.server, err = stub.Start(stub.Options{Key: plantedKey}); err != nil {
		return nil, err
	}
	b.close = append(b.close, b.server.Close)
	m, err := benchModel(b.server, wire)
	if err != nil {
		return nil, err
	}
	tools, release, err := buildTools(&config.Config{Workspace: dir, Tools: []string{"multiply", "read_file", "write_file"}})
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, release)
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "multiply"}, {Answer: kernel.Ask, Tool: "write_file"}})
	if err != nil {
		return nil, err
	}
	b.agent = &engine.Agent{Model: m, Tools: tools, Policy: rules}
	if b.rt, err = holdfast.Open(ctx, holdfast.Options{File: b.file}); err != nil {
		return nil, err
	}
	b.close = append(b.close, func() { _ = b.rt.Close() })
	return b, nil
}

func benchModel(server *stub.Server, wire string) (model.Model, error) {
	if wire == config.Anthropic {
		return anthropic.New(anthropic.Config{BaseURL: server.AnthropicURL(), Key: plantedKey, Name: "scripted", Stream: true})
	}
	return openai.New(openai.Config{BaseURL: server.OpenAIURL(), Key: plantedKey, Name: "scripted", Stream: true})
}

// play runs the agent on a script of answers.
func (b *bench) play(ctx context.Context, steps ...stub.Step) (*engine.Run, error) {
	b.server.Play(steps...)
	return b.rt.Run(ctx, b.agent, "What is 248 times 15?")
}

func multiplyCall(id, args string) stub.Call {
	return stub.Call{ID: id, Name: "multiply", Args: args}
}

// ran counts the calls of a run that began.
func ran(r *engine.Run) int { return r.State.Observations }

func proveArguments(ctx context.Context, dir string) error {
	tools, release, err := buildTools(&config.Config{Workspace: dir, Tools: []string{"multiply"}})
	if err != nil {
		return err
	}
	defer release()
	for _, bad := range []string{
		`{"a":"248","b":15}`, `{"a":true,"b":15}`, `{"a":1.0,"b":15}`, `{"a":248}`, `{"a":1,"b":2,"c":3}`, `[1]`,
		`{"a":1000001,"b":1}`, `{"a":1,"a":2,"b":3}`,
	} {
		if err := tools.Check("multiply", []byte(bad)); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			return notHeld("%s is accepted", bad)
		}
	}
	for args, want := range map[string]string{`{"a":248,"b":15}`: "3720", `{"a":1000000,"b":-1000000}`: "-1000000000000"} {
		if err := tools.Check("multiply", []byte(args)); err != nil {
			return err
		}
		t, _ := tools.Bind("multiply", kernel.Read)
		out := tool.Border{}.Execute(ctx, t, tool.Call{ID: "call_1", Arguments: json.RawMessage(args)})
		if out.IsError || !strings.Contains(out.Text, want) {
			return notHeld("%s gives %s", args, out.Text)
		}
	}
	return nil
}

func proveOpenAI(ctx context.Context, dir string) error { return proveWire(ctx, dir, config.OpenAI) }
func proveAnthropic(ctx context.Context, dir string) error {
	return proveWire(ctx, dir, config.Anthropic)
}

// proveWire relies on the stub: it refuses a request whose results are not
// where, and under which ids, the wire wants them.
func proveWire(ctx context.Context, dir, wire string) error {
	b, err := newBench(ctx, dir, wire)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := b.play(ctx,
		stub.Calls(multiplyCall("call_1", `{"a":248,"b":15}`), stub.Call{ID: "call_2", Name: "divide", Args: `{}`}),
		stub.Text("3720"))
	if err != nil {
		return err
	}
	if r.Outcome.Stop != kernel.StopAnswered || r.Answer != "3720" || b.server.Count() != 2 || ran(r) != 1 {
		return notHeld("stop %s, %d requests, %d calls ran", r.Outcome.Stop, b.server.Count(), ran(r))
	}
	return nil
}

func proveTruncation(ctx context.Context, dir string) error {
	b, err := newBench(ctx, dir, config.OpenAI)
	if err != nil {
		return err
	}
	defer b.Close()
	cut := stub.Answer(stub.Reply{Calls: []stub.Call{multiplyCall("call_1", `{"a":248,"b":15}`)}, Stop: kernel.StopLength})
	r, err := b.play(ctx, cut, cut) // once more with a larger limit, then no more
	if err != nil {
		return err
	}
	if r.Outcome.Stop != kernel.StopTruncated || r.Outcome.Answered || ran(r) != 0 {
		return notHeld("stop %s, answered %v, %d calls ran", r.Outcome.Stop, r.Outcome.Answered, ran(r))
	}
	return nil
}

func proveTurnLimit(ctx context.Context, dir string) error {
	b, err := newBench(ctx, dir, config.OpenAI)
	if err != nil {
		return err
	}
	defer b.Close()
	b.agent.Limits = kernel.DefaultLimits()
	b.agent.Limits.Turns = 3
	var steps []stub.Step
	for i := range 4 {
		steps = append(steps, stub.Calls(multiplyCall(fmt.Sprintf("call_%d", i), fmt.Sprintf(`{"a":%d,"b":15}`, i))))
	}
	r, err := b.play(ctx, steps...)
	if err != nil {
		return err
	}
	if r.Outcome.Stop != kernel.StopTurnLimit || b.server.Count() != 3 || r.Outcome.Turns != 3 {
		return notHeld("stop %s after %d requests", r.Outcome.Stop, b.server.Count())
	}
	return nil
}

func provePolicy(ctx context.Context, dir string) error {
	rules, err := policy.NewRules([]policy.Rule{
		{Answer: kernel.Allow, Tool: "*"}, {Answer: kernel.Deny, Tool: "write_*"},
	})
	if err != nil {
		return err
	}
	if d, err := rules.Decide(ctx, policy.Request{Tool: "write_file"}); err != nil || d.Answer != kernel.Deny {
		return notHeld("an allow before a deny opens it")
	}
	b, err := newBench(ctx, dir, config.OpenAI)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("nobody may read this"), 0o600); err != nil {
		return err
	}
	r, err := b.play(ctx, stub.Calls(stub.Call{ID: "call_1", Name: "read_file", Args: `{"path":"note.txt"}`}), stub.Text("done"))
	if err != nil {
		return err
	}
	if ran(r) != 0 || r.Outcome.Stop != kernel.StopAnswered {
		return notHeld("a tool without a rule ran: stop %s", r.Outcome.Stop)
	}
	return nil
}

func proveApproval(ctx context.Context, dir string) error {
	b, err := newBench(ctx, dir, config.OpenAI)
	if err != nil {
		return err
	}
	defer b.Close()
	b.server.Play(stub.Calls(stub.Call{ID: "call_1", Name: "write_file", Args: `{"path":"made.txt","content":"x"}`}), stub.Text("yes"))
	r, err := follow(ctx, b.rt, engine.Start{Agent: b.agent, Question: "Make a note."}, func(engine.Update) {})
	if err != nil {
		return err
	}
	if r.Outcome != nil || r.Head.State != journal.Waiting {
		return notHeld("a run that needs a person is %s", r.Head.State)
	}
	if _, err := os.Lstat(filepath.Join(dir, "made.txt")); !errors.Is(err, os.ErrNotExist) || ran(r) != 0 {
		return notHeld("a call ran that nobody approved")
	}
	return nil
}

func proveFiles(ctx context.Context, dir string) error {
	outside := filepath.Join(filepath.Dir(dir), "outside.txt")
	if err := os.WriteFile(outside, []byte("untouched"), 0o600); err != nil {
		return err
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		return err
	}
	tools, release, err := buildTools(&config.Config{Workspace: dir, Tools: []string{"read_file", "write_file"}})
	if err != nil {
		return err
	}
	defer release()
	if err := outOfReach(ctx, tools, "../outside.txt", outside, "link.txt", "a/../../outside.txt"); err != nil {
		return err
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "untouched" {
		return notHeld("a file outside the workspace was changed")
	}
	return nil
}

// outOfReach tries to read and to write each path.
func outOfReach(ctx context.Context, tools *tool.Set, paths ...string) error {
	for _, path := range paths {
		for name, args := range map[string]map[string]string{
			"read_file":  {"path": path},
			"write_file": {"path": path, "content": "changed"},
		} {
			encoded, err := json.Marshal(args)
			if err != nil {
				return err
			}
			t, _ := tools.Bind(name, tools.EffectOf(name, encoded))
			out := tool.Border{}.Execute(ctx, t, tool.Call{ID: "call_1", Arguments: encoded})
			if !out.IsError || out.Facts.Disposition != kernel.DidNotHappen {
				return notHeld("%s %s succeeds", name, path)
			}
		}
	}
	return nil
}

func proveProtection(ctx context.Context, dir string) error {
	c := &config.Config{File: filepath.Join(dir, defaultConfig), Workspace: dir, Tools: []string{"read_file", "write_file"}}
	path := journalBeside(c.File)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	for _, file := range []string{c.File, path} {
		if err := os.WriteFile(file, []byte("untouched"), 0o600); err != nil {
			return err
		}
	}
	if err := errors.Join(
		os.Symlink(filepath.Dir(path), filepath.Join(dir, "link")),
		os.Link(path, filepath.Join(dir, "copy.db")),
	); err != nil {
		return err
	}
	protected, err := hostFiles(c, path)
	if err != nil {
		return err
	}
	tools, release, err := buildTools(c, protected...)
	if err != nil {
		return err
	}
	defer release()
	if err := outOfReach(ctx, tools, defaultConfig, ".holdfast/journal.db", ".holdfast/journal.db-wal", "link/journal.db", "copy.db"); err != nil {
		return err
	}
	for _, file := range []string{c.File, path} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "untouched" {
			return notHeld("%s was changed", filepath.Base(file))
		}
	}
	return nil
}

func proveVerdict(ctx context.Context, _ string) error {
	want := "42"
	v := verify.Program{Tool: config.RunProgram, Program: "main", Stdout: &want}
	claimed, err := v.Verify(ctx, verify.Facts{Answer: "It printed 42."})
	if err != nil {
		return err
	}
	shown, err := v.Verify(ctx, verify.Facts{Results: []verify.Result{{
		Evidence: "run/1", Tool: config.RunProgram, Data: json.RawMessage(`{"program":"main","exit_code":0,"stdout":"42\n"}`),
	}}})
	if err != nil {
		return err
	}
	if claimed.Verified || !shown.Verified {
		return notHeld("claimed %v, shown %v", claimed.Verified, shown.Verified)
	}
	return nil
}

func proveJournal(ctx context.Context, dir string) error {
	b, err := newBench(ctx, dir, config.OpenAI)
	if err != nil {
		return err
	}
	defer b.Close()
	live, err := b.play(ctx, stub.Calls(multiplyCall("call_1", `{"a":248,"b":15}`)), stub.Text("3720"))
	if err != nil {
		return err
	}
	if err := b.rt.Close(); err != nil {
		return err
	}
	reader, err := sqlite.OpenReader(ctx, b.file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer reader.Close()
	back, err := readRun(ctx, reader, live.Head.Run)
	if err != nil {
		return err
	}
	before, err := kernel.EncodeState(live.State)
	if err != nil {
		return err
	}
	after, err := kernel.EncodeState(back.State)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) || back.Answer != live.Answer || len(back.History) != len(live.History) {
		return notHeld("the run reads back differently")
	}
	return nil
}

func proveSecrets(ctx context.Context, dir string) error {
	b, err := newBench(ctx, dir, config.OpenAI)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := b.play(ctx, stub.Status(401))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	newDisplay(&out).summary(r, "")
	if err := writeJSON(&out, newReport(r)); err != nil {
		return err
	}
	if err := b.rt.Close(); err != nil {
		return err
	}
	files, err := filepath.Glob(b.file + "*")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		out.Write(text)
	}
	if len(files) == 0 || bytes.Contains(out.Bytes(), []byte(plantedKey)) {
		return notHeld("the key shows")
	}
	return nil
}
