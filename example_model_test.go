package holdfast_test

import (
	"context"
	"fmt"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
)

// A model behind the OpenAI wire. Here the endpoint is a stub on this machine;
// without BaseURL it is the official one.
func Example_model() {
	endpoint := must(stub.Start(stub.Options{}))
	defer endpoint.Close()
	endpoint.Play(stub.Text("Good morning."))

	model := must(openai.New(openai.Config{
		BaseURL: endpoint.OpenAIURL(),
		Key:     "sk-example", // read yours from where you keep secrets
		Name:    "some-model",
		Profile: kernel.Tolerant, // strict, the default, is for the official endpoint
		Stream:  true,
	}))
	defer model.Close()

	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	run := must(rt.Run(ctx, &holdfast.Agent{Model: model, Instructions: "Be polite."}, "Hello?"))
	fmt.Println(run.Answer)
	// Output: Good morning.
}
