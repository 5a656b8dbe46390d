package holdfast_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/prompt/memory"
	"github.com/holdfast-run/holdfast/tool"
	propose "github.com/holdfast-run/holdfast/tool/memory"
)

// A model may propose what is to be remembered. It counts for nothing until the
// host confirms the very bytes, and goes with later requests as data.
func Example_memory() {
	dir := must(os.MkdirTemp("", "memory"))
	defer os.RemoveAll(dir)
	notes := must(memory.Open(memory.Config{Project: filepath.Join(dir, "project"), User: filepath.Join(dir, "host")}))
	agent := &holdfast.Agent{
		Model:  proposes("Deploys happen on Tuesdays."),
		Tools:  must(tool.NewSet(must(propose.New(keeper{notes}, propose.Project)))),
		Policy: must(policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: propose.Name}})),
		Attach: []prompt.Attacher{notes},
	}
	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	must(rt.RunStart(ctx, holdfast.Start{Agent: agent, Question: "When do we deploy?", User: "ann"}))

	for _, e := range must(notes.List(ctx)) {
		fmt.Println(e.State, e.Author, "-", e.Text)
		fmt.Println("attached:", len(must(notes.Attach(ctx, prompt.AttachRequest{User: "ben"}))))
		must(notes.Confirm(ctx, e, e.Hash, "the host"))
	}
	for _, a := range must(notes.Attach(ctx, prompt.AttachRequest{User: "ben"})) {
		_, text, _ := strings.Cut(a.Text, "\n")
		fmt.Println("attached:", text)
	}
	// Output:
	// proposed model - Deploys happen on Tuesdays.
	// attached: 0
	// attached: > Deploys happen on Tuesdays.
}

// keeper keeps what a model proposes in a memory.
type keeper struct{ memory *memory.Memory }

func (k keeper) Propose(ctx context.Context, p propose.Proposal) (propose.Receipt, error) {
	e, err := k.memory.Propose(ctx, memory.Proposal{
		Scope: memory.Scope(p.Scope), Owner: memory.Owner{Tenant: p.Tenant, User: p.User}, Text: p.Text, Author: "model", Source: "run " + p.Run,
	})
	return propose.Receipt{ID: e.ID, State: string(e.State)}, err
}

// proposes is a scripted model that proposes a text of the project.
func proposes(text string) *script.Model {
	args := must(json.Marshal(map[string]string{"scope": propose.Project, "text": text}))
	return must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{
		{Calls: []script.Call{{ID: "c1", Name: propose.Name, Args: string(args)}}}, {Text: "Done."},
	}}}))
}
