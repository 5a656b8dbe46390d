package holdfast_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
)

// house attaches what is known of the house to each request. It enters no
// history.
type house struct{}

func (house) Attach(context.Context, prompt.AttachRequest) ([]prompt.Attachment, error) {
	return []prompt.Attachment{{Kind: "memory", ID: "house.md", Text: "The door is blue."}}, nil
}

// What a request holds: something attached to its copy, and a window that the
// history is made small enough for. What was taken out is in an archive.
func Example_context() {
	endpoint := must(stub.Start(stub.Options{}))
	defer endpoint.Close()
	for n := range 6 {
		endpoint.Play(stub.Calls(stub.Call{ID: fmt.Sprint("r", n), Name: "room", Args: fmt.Sprintf(`{"n":%d}`, n)}))
	}
	endpoint.Play(stub.Text("Six rooms."))
	model := must(openai.New(openai.Config{BaseURL: endpoint.OpenAIURL(), Key: "sk-example", Name: "some-model", MaxTokens: 256}))
	defer model.Close()

	type in struct {
		N int `json:"n"`
	}
	room := must(tool.Func(tool.Spec{Name: "room", Description: "Describes a room.", Effect: kernel.Read},
		func(_ context.Context, _ tool.Call, in in) (string, error) {
			return fmt.Sprintf("room %d: %s", in.N, strings.Repeat("a chair; ", 400)), nil
		}))
	agent := &holdfast.Agent{
		Model: model, Tools: must(tool.NewSet(room)),
		Policy:  must(policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "room"}})),
		Attach:  []prompt.Attacher{house{}},
		Context: engine.Context{Window: 1500, Reserve: 100},
	}

	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	run := must(rt.Run(ctx, agent, "How many rooms are there?"))
	fmt.Println(run.Outcome.Stop, run.Answer)

	archive, _ := prompt.IsSummary(&run.History[0])
	fmt.Println("archived by the run:", strings.HasPrefix(archive, run.Head.Run+"."), "question kept:", prompt.Text(&run.History[1]))
	attached, kept := 0, 0
	for _, r := range endpoint.Requests() {
		attached += strings.Count(string(r.Body), "The door is blue.")
	}
	for i := range run.History {
		kept += strings.Count(prompt.Text(&run.History[i]), "The door is blue.")
	}
	fmt.Println("attached to", attached, "requests, in the history", kept, "times")
	// Output:
	// answered Six rooms.
	// archived by the run: true question kept: How many rooms are there?
	// attached to 7 requests, in the history 0 times
}
