package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Run three tasks on a scripted model; needs no key and no network",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

// scene is one run of the demonstration and how it must end.
type scene struct {
	title    string
	question string
	agent    *engine.Agent
	stop     kernel.Stop
	verified kernel.Verdict
}

func (a *app) demo(ctx context.Context) error {
	ctx, stop := untilInterrupted(ctx, func() {}) // what a demonstration starts ends by itself
	defer stop()

	dir, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return noTemporary(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in a temporary place
	d := newDisplay(a.stdout)
	d.printf("The model here is a fixed script and no real model; nothing leaves this machine.\n" +
		"Wire, files, processes, policy, verdicts and journal are real.\n")

	rt, err := holdfast.Open(ctx, holdfast.Options{File: filepath.Join(dir, "journal.db")})
	if err != nil {
		return err
	}
	defer rt.Close()
	if err := demoMultiply(ctx, rt, d, dir); err != nil {
		return err
	}
	if err := demoCheck(ctx, rt, d, dir); err != nil {
		return err
	}
	d.printf("\nNext, a real model, and the tests:\n" +
		"  OPENAI_API_KEY=KEY OPENAI_MODEL=NAME go run ./cmd/holdfast run \"What is 248 times 15? Use the tool.\"\n" +
		"  go test ./...\n")
	return nil
}

// noTemporary is the error of a command that works in a temporary directory.
func noTemporary(err error) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: "no temporary directory can be made", Hint: "set TMPDIR to a directory that can be written to", Err: err}
}

// play runs a scene, shows it and checks its end: what the demonstration
// claims is tested each time that it is shown.
func (s *scene) play(ctx context.Context, eng engine.Engine, d *display) error {
	d.printf("\n== %s\nquestion: %s\n", s.title, s.question)
	r, err := follow(ctx, eng, engine.Start{Agent: s.agent, Question: s.question}, d.update)
	if err != nil {
		return err
	}
	d.summary(r)
	switch o := r.Outcome; {
	case ctx.Err() != nil:
		return exitError(exitInterrupt)
	case o.Stop != s.stop || o.Verified != s.verified:
		return &kernel.Error{Code: kernel.CodeInternal,
			Message: fmt.Sprintf("%s: ended as %s, verified %s; expected %s, verified %s", s.title, o.Stop, o.Verified, s.stop, s.verified),
			Hint:    "run `holdfast selfcheck`"}
	}
	return nil
}

// demoMultiply is the smallest loop, over the OpenAI wire.
func demoMultiply(ctx context.Context, eng engine.Engine, d *display, dir string) error {
	server, err := stub.Start(stub.Options{})
	if err != nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "no server can be started on 127.0.0.1", Err: err}
	}
	defer server.Close()
	server.Play(
		stub.Calls(stub.Call{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}),
		stub.Text("248 × 15 = 3720"),
	)
	m, err := openai.New(openai.Config{BaseURL: server.OpenAIURL(), Key: "demo", Name: "scripted", Stream: true})
	if err != nil {
		return err
	}
	tools, release, err := buildTools(&config.Config{Workspace: dir, Tools: []string{"multiply"}})
	if err != nil {
		return err
	}
	defer release()
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "multiply"}})
	if err != nil {
		return err
	}
	s := scene{
		title:    "task 1: multiply, over the OpenAI wire, against a stub server in this process that plays the script",
		question: "What is 248 times 15?",
		agent:    &engine.Agent{Model: m, Tools: tools, Policy: rules},
		stop:     kernel.StopAnswered, verified: kernel.Unchecked,
	}
	return s.play(ctx, eng, d)
}

// demoCheck is one task, read a program, run it and say what it printed, under
// three sets of rules.
func demoCheck(ctx context.Context, eng engine.Engine, d *display, dir string) error {
	file, argv, note := demoProgram(ctx)
	workspace := filepath.Join(dir, "workspace")
	if err := writeDemoProgram(workspace, file); err != nil {
		return err
	}
	tools, release, err := buildTools(&config.Config{
		Workspace: workspace,
		Tools:     []string{"read_file", config.RunProgram},
		Programs:  map[string]config.Program{"main": {Argv: argv, Timeout: 10 * time.Second}},
	})
	if err != nil {
		return err
	}
	defer release()
	d.printf("\n%s\n", note)

	for _, s := range []struct {
		title    string
		run      kernel.Answer
		turns    int
		stop     kernel.Stop
		verified kernel.Verdict
	}{
		{"task 2: the program check, with a real file, a real process and a real verdict", kernel.Allow, 3, kernel.StopVerified, kernel.VerdictTrue},
		{"task 3a: the same check, and running it is refused", kernel.Deny, 3, kernel.StopAnswered, kernel.VerdictNot},
		{"task 3b: the same check, and the turn limit is one short", kernel.Allow, 2, kernel.StopTurnLimit, kernel.VerdictTrue},
	} {
		agent, err := demoAgent(tools, file, s.run, s.turns)
		if err != nil {
			return err
		}
		one := scene{title: s.title, question: "Read " + file + ", run it and tell me what it prints.", agent: agent, stop: s.stop, verified: s.verified}
		if err := one.play(ctx, eng, d); err != nil {
			return err
		}
	}
	return nil
}

// demoAgent is the agent of the program check. run is the rule for running the
// program.
func demoAgent(tools *tool.Set, file string, run kernel.Answer, turns int) (*engine.Agent, error) {
	m, err := script.New(script.Config{Name: "demo", Script: &script.Script{Steps: []script.Step{
		{Calls: []script.Call{{ID: "call_1", Name: "read_file", Args: fmt.Sprintf(`{"path":%q}`, file)}}, Usage: &script.Usage{InputTokens: 60, OutputTokens: 12}},
		{Calls: []script.Call{{ID: "call_2", Name: config.RunProgram, Args: `{"program":"main"}`}}, Usage: &script.Usage{InputTokens: 90, OutputTokens: 12}},
		{Any: []script.Step{
			{If: &script.If{LastResultContains: "42"}, Text: file + " ran and printed 42.", Usage: &script.Usage{InputTokens: 120, OutputTokens: 9}},
			// What it could not see it claims all the same: the verdict counts.
			{Text: file + " prints 42.", Usage: &script.Usage{InputTokens: 120, OutputTokens: 9}},
		}},
	}}})
	if err != nil {
		return nil, err
	}
	rules, err := policy.NewRules([]policy.Rule{
		{Answer: kernel.Allow, Tool: "read_file"},
		{Answer: run, Tool: config.RunProgram},
	})
	if err != nil {
		return nil, err
	}
	stdout := "42"
	limits := kernel.DefaultLimits()
	limits.Turns = turns
	return &engine.Agent{
		Model: m, Tools: tools, Policy: rules, Limits: limits,
		Verifier: verify.Program{Tool: config.RunProgram, Program: "main", Stdout: &stdout},
	}, nil
}

// demoProgram chooses the program to check: Python where it works, and
// otherwise a shell script. An interpreter that is merely named python3 is not
// enough: some systems put an installer there.
func demoProgram(ctx context.Context) (file string, argv []string, note string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if python, err := exec.LookPath("python3"); err == nil {
		probe := exec.CommandContext(ctx, python, "-c", "print(6 * 7)")
		probe.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		if out, err := probe.Output(); err == nil && strings.TrimSpace(string(out)) == "42" {
			return "main.py", []string{"python3", "main.py"}, "The program of the next tasks is main.py, run by python3."
		}
	}
	return "main.sh", []string{"sh", "main.sh"}, "There is no working python3 here: the program of the next tasks is main.sh, run by sh."
}

func writeDemoProgram(workspace, file string) error {
	text := "print(6 * 7)\n"
	if file == "main.sh" {
		text = "echo $((6 * 7))\n"
	}
	err := os.Mkdir(workspace, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(workspace, file), []byte(text), 0o600)
	}
	if err != nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the temporary directory cannot be written to", Hint: "check the space and the permissions of TMPDIR", Err: err}
	}
	return nil
}
