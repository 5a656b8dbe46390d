package holdfast_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/program"
)

// Programs that a model may run, in a sandbox: they change their working
// directory, read what is installed, and reach no network. The facts of each
// result say what held on this machine, since not every one has the means. With
// Require nothing runs with less.
func Example_sandbox() {
	dir := must(os.MkdirTemp("", "work"))
	defer os.RemoveAll(dir)
	run := must(program.New(program.Config{
		Dir:      dir,
		Programs: map[string]program.Entry{"count": {Argv: []string{"sh", "-c", "echo one two >words; wc -w <words"}}},
		Sandbox: &program.Sandbox{
			Require: program.Unconfined, // program.Bubblewrap: that, or nothing runs
			Network: false,
			Limits:  program.Limits{CPU: time.Minute, FileSize: 1 << 20},
		},
	}))
	set := must(tool.NewSet(run))
	bound, _ := set.Bind(program.Name, kernel.Once)
	outcome := tool.Border{}.Execute(context.Background(), bound, tool.Call{Arguments: json.RawMessage(`{"program":"count"}`)})
	var facts struct {
		Stdout  string `json:"stdout"`
		Sandbox string `json:"sandbox"` // "bwrap: files, network, processes, limits", …
	}
	if err := json.Unmarshal(outcome.Data, &facts); err != nil {
		panic(err)
	}
	fmt.Printf("%s%v\n", facts.Stdout, facts.Sandbox != "")
	// Output:
	// 2
	// true
}
