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
	"github.com/holdfast-run/holdfast/policy"
	request "github.com/holdfast-run/holdfast/prompt"
)

func (a *app) demoCommand() *cobra.Command {
	var decision string
	var turns int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run three tasks on a scripted model; needs no key and no network",
		Long: "Demo runs a small calculation, and then one task that takes a skill, memory, a notice, a server and a program, in\n" +
			"three ways: allowed, refused, and with too few turns. With a flag it plays that one task alone, as the flags say.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("decision") && !cmd.Flags().Changed("max-turns") {
				return a.demo(cmd.Context(), nil)
			}
			one, err := chosenVariant(decision, turns)
			if err != nil {
				return err
			}
			return a.demo(cmd.Context(), &one)
		},
	}
	cmd.Flags().StringVar(&decision, "decision", "refuse", "the `ANSWER` to the question that the check asks a person: allow or refuse")
	cmd.Flags().IntVar(&turns, "max-turns", demoTurnsAllowed, "the turns that the check has, a `NUMBER` from 1 to 8")
	return cmd
}

// scene is one run of the demonstration and how it must end.
type scene struct {
	title    string
	question string
	session  string // empty: a new one
	agent    *engine.Agent
	stop     kernel.Stop
	verified kernel.Verdict
	notices  int      // that requests went with, each once
	passing  []string // what goes with requests and enters no history
}

// demoRoom is twice what the journal and the workspaces of a demonstration take.
const demoRoom = 4 << 20

// demo plays all of it, or one way of the program check.
func (a *app) demo(ctx context.Context, one *variant) error {
	ctx, stop := untilInterrupted(ctx, func() {}) // what a demonstration starts ends by itself
	defer stop()

	dir, err := temporary("holdfast-demo-", demoRoom)
	if err != nil {
		return err
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
	variants := demoVariants()
	if one != nil {
		variants = []variant{*one}
	} else if err := demoMultiply(ctx, rt, d, dir); err != nil {
		return err
	}
	if err := demoCheck(ctx, rt, d, dir, variants); err != nil {
		return err
	}
	d.printf("\nNext, a real model, and the tests:\n" +
		"  OPENAI_API_KEY=KEY OPENAI_MODEL=NAME go run ./cmd/holdfast run \"What is 248 times 15? Use the tool.\"\n" +
		"  go test ./...\n")
	return nil
}

// play runs a scene, shows it and checks its end: what the demonstration
// claims is tested each time that it is shown.
func (s *scene) play(ctx context.Context, eng engine.Engine, d *display) error {
	d.printf("\n== %s\nquestion: %s\n", s.title, s.question)
	seen := tally{began: map[string]int{}, went: map[string]int{}}
	r, err := follow(ctx, eng, engine.Start{Agent: s.agent, Question: s.question, Session: s.session}, func(u engine.Update) {
		seen.see(u)
		d.update(u)
	})
	if err != nil {
		return err
	}
	d.summary(r, "")
	switch o := standing(r); {
	case ctx.Err() != nil:
		return exitError(exitInterrupt)
	case o.Stop == kernel.StopHostError:
		return hostFailed(r)
	case o.Stop != s.stop || o.Verified != s.verified:
		return &kernel.Error{Code: kernel.CodeInternal,
			Message: fmt.Sprintf("%s: ended as %s, verified %s; expected %s, verified %s", s.title, o.Stop, o.Verified, s.stop, s.verified),
			Hint:    "run `holdfast selfcheck`"}
	}
	if err := seen.check(s, r); err != nil {
		return &kernel.Error{Code: kernel.CodeInternal, Message: s.title + ": " + err.Error(), Hint: "run `holdfast selfcheck`"}
	}
	return nil
}

// tally counts how often each call of a run began, and with how many replies
// each notice went.
type tally struct{ began, went map[string]int }

func (t *tally) see(u engine.Update) {
	switch e := u.Event.(type) {
	case kernel.CallStarted:
		t.began[e.Call]++
	case kernel.ContextPrepared:
		for _, id := range e.Attached {
			t.went[id]++
		}
	}
}

// check finds a call that began again, such as when only a request was to be sent
// again, a notice that went with two requests or with none, and what
// entered the history although it was not to.
func (t *tally) check(s *scene, r *engine.Run) error {
	if len(t.went) != s.notices {
		return fmt.Errorf("%d notices went with requests, and not %d", len(t.went), s.notices)
	}
	for _, counts := range []map[string]int{t.began, t.went} {
		for id, n := range counts {
			if n != 1 {
				return fmt.Errorf("%s was there %d times", id, n)
			}
		}
	}
	for i := range r.History {
		for _, text := range s.passing {
			if strings.Contains(request.Text(&r.History[i]), text) {
				return fmt.Errorf("%q is in the history", text)
			}
		}
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
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(workspace, file), []byte(text), 0o600)
}
