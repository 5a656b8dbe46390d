package cli

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt/memory"
	"github.com/holdfast-run/holdfast/tool"
)

//go:embed demo
var demoFiles embed.FS

// The turns of the program check: what it takes when it may ask the documents,
// and when it may not.
const (
	demoTurnsAllowed = 5
	demoTurnsRefused = 4
	maxDemoTurns     = 8
)

// demoStart bounds how long the server of the demonstration is waited for.
const demoStart = 10 * time.Second

// What goes with requests, and into no history.
const (
	demoMemory = "What counts is what the program prints in this very run."
	demoNotice = "The program was changed an hour ago."
)

// variant is one way to play the program check.
type variant struct {
	title string
	allow bool // the question to the documents
	turns int  // at most
}

func demoVariants() []variant {
	return []variant{
		{"task 2: the program check, where asking the documents is allowed", true, demoTurnsAllowed},
		{"task 3a: the same check, where asking the documents is refused", false, demoTurnsAllowed},
		{"task 3b: the same check, allowed, with a turn limit that is one short", true, demoTurnsAllowed - 1},
	}
}

// chosenVariant is the one that the flags describe.
func chosenVariant(decision string, turns int) (variant, error) {
	switch {
	case decision != "allow" && decision != "refuse":
		return variant{}, usage(fmt.Sprintf("--decision is allow or refuse, not %.40q", decision), "holdfast demo --decision allow")
	case turns < 1 || turns > maxDemoTurns:
		return variant{}, usage(fmt.Sprintf("--max-turns is a number from 1 to %d, not %d", maxDemoTurns, turns),
			fmt.Sprintf("the check takes %d turns where the question is allowed, and %d where it is refused", demoTurnsAllowed, demoTurnsRefused))
	}
	v := variant{title: fmt.Sprintf("the program check, where asking the documents meets %s, in at most %d turns", decision, turns), allow: decision == "allow", turns: turns}
	return v, nil
}

// end is how the variant must end. The program runs in its fourth turn, and only
// where the documents could be asked.
func (v variant) end() (kernel.Stop, kernel.Verdict) {
	verdict := kernel.VerdictNot
	if v.allow && v.turns >= demoTurnsAllowed-1 {
		verdict = kernel.VerdictTrue
	}
	switch {
	case v.allow && v.turns >= demoTurnsAllowed:
		return kernel.StopVerified, verdict
	case !v.allow && v.turns >= demoTurnsRefused:
		return kernel.StopAnswered, verdict
	}
	return kernel.StopTurnLimit, verdict
}

// demoCheck is one task, find out what a program prints, with everything that
// a request holds and a call goes through: a skill, memory, a notice, another
// program's tool that a person is asked about, and a failure that passes.
func demoCheck(ctx context.Context, rt *holdfast.Runtime, d *display, dir string, variants []variant) error {
	file, argv, note := demoProgram(ctx)
	if err := writeDemo(dir, file, argv); err != nil {
		return err
	}
	if err := rememberDemo(ctx, dir); err != nil {
		return err
	}
	d.printf("\n%s The documents are an MCP server, a child process.\n"+
		"The person who is asked is a fixed answer, too. The list of skills and the confirmed memory go with each request,\n"+
		"the notice with the first one, and none of them enters the history.\n", note)
	for _, v := range variants {
		if err := v.play(ctx, rt, d, dir, file); err != nil {
			return err
		}
	}
	return nil
}

// play runs a variant with an agent, and so a server, of its own.
func (v variant) play(ctx context.Context, rt *holdfast.Runtime, d *display, dir, file string) error {
	agent, release, err := v.agent(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	session := "ses_" + ulid.Make().String()
	if err := rt.Signal(ctx, "", engine.Signal{
		ID: "ntc_" + ulid.Make().String(), Kind: engine.SignalNotice, By: "demo", Text: demoNotice,
		Session: &journal.SessionID{Session: session},
	}); err != nil {
		return err
	}
	s := scene{
		title: v.title, question: "What does " + file + " print?", session: session, agent: agent,
		notices: 1, passing: []string{demoMemory, demoNotice, "These skills are there."},
	}
	s.stop, s.verified = v.end()
	return s.play(ctx, rt, d)
}

// agent makes the agent of the demonstration's configuration, with its server
// up.
func (v variant) agent(ctx context.Context, dir string) (*engine.Agent, func(), error) {
	c, err := config.Read(filepath.Join(dir, "holdfast.yaml"), toolNames())
	if err != nil {
		return nil, nil, err
	}
	if err := c.Complete(func(string) string { return "" }); err != nil { // of the environment it takes nothing
		return nil, nil, err
	}
	c.Limits.Turns = v.turns
	servers, err := buildMCP(c, nil, demoStart)
	if err != nil {
		return nil, nil, err
	}
	c.MCP = nil // a run goes on without a server that is late, and this one waits for it
	agent, release, err := buildAgent(c, filepath.Join(dir, "journal.db"), nil)
	if err != nil {
		_ = servers.Close() // never fails
		return nil, nil, err
	}
	agent.Sources, agent.Approver = []tool.Source{servers}, fixedAnswer(v.allow)
	end := func() {
		_ = servers.Close() // never fails
		release()
	}
	if _, missing := servers.Snapshot(ctx); len(missing) > 0 && ctx.Err() == nil {
		end()
		return nil, nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the server of the demonstration did not start: " + strings.Join(missing, "; ")}
	}
	return agent, end, nil
}

// fixedAnswer stands for the person who is asked.
type fixedAnswer bool

// Approve gives the answer.
func (f fixedAnswer) Approve(context.Context, policy.Approval) (policy.Verdict, error) {
	v := policy.Verdict{Approved: bool(f), By: "the demonstration"}
	if !v.Approved {
		v.Reason = "not now"
	}
	return v, nil
}

// rememberDemo puts one entry into the project's memory and confirms it, as a
// person would with holdfast memory confirm.
func rememberDemo(ctx context.Context, dir string) error {
	m, err := memory.Open(memory.Config{Project: filepath.Join(dir, "memory"), User: filepath.Join(dir, "people")})
	if err != nil {
		return err
	}
	e, err := m.Propose(ctx, memory.Proposal{
		Scope: memory.Project, Text: demoMemory, Author: "demo", Source: "holdfast demo",
	})
	if err != nil {
		return err
	}
	_, err = m.Confirm(ctx, e, e.Hash, "demo")
	return err
}

// writeDemo writes the files of the check: those of a project that anyone could
// have.
func writeDemo(dir, file string, argv []string) error {
	self, err := os.Executable()
	if err != nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "this program cannot be found, and so not started as a server", Err: err}
	}
	fill := strings.NewReplacer("FILE", file, "ARGV", flow(argv...), "DOCS", flow(self, demoDocsName), "TURNS", strconv.Itoa(demoTurnsAllowed))
	err = fs.WalkDir(demoFiles, "demo", func(name string, e fs.DirEntry, err error) error {
		place := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "demo")))
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(place, 0o700)
		}
		text, err := demoFiles.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(place, []byte(fill.Replace(string(text))), 0o600)
	})
	if err == nil {
		err = writeDemoProgram(filepath.Join(dir, "workspace"), file)
	}
	if err != nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the temporary directory cannot be written to", Hint: "check the space and the permissions of TMPDIR", Err: err}
	}
	return nil
}

// flow writes a list in YAML, of which JSON is a part.
func flow(words ...string) string {
	b, err := json.Marshal(words)
	if err != nil { // cannot happen: texts
		return "[]"
	}
	return string(b)
}
