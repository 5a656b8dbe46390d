package loop

import (
	"context"
	"net/http"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/holdfast-run/holdfast/bench/scripted"
)

// Fantasy is an agent of charm.land/fantasy on its OpenAI-compatible provider.
// Its retries are off.
func Fantasy() Contestant {
	return Contestant{Name: "fantasy", New: newFantasy}
}

type fantasyAgent struct {
	http   *http.Client
	agent  fantasy.Agent
	stream bool
}

func newFantasy(c Config) (Runner, error) {
	h := &http.Client{Transport: newTransport(), Timeout: requestTimeout}
	provider, err := openaicompat.New(openaicompat.WithBaseURL(c.BaseURL), openaicompat.WithAPIKey("none"), openaicompat.WithHTTPClient(h))
	if err != nil {
		return nil, err
	}
	m, err := provider.LanguageModel(context.Background(), scripted.Model)
	if err != nil {
		return nil, err
	}
	type input struct {
		N int64 `json:"n" description:"number of the entry"`
	}
	e := entries(scripted.Entries(c.Turns))
	lookup := fantasy.NewAgentTool(scripted.ToolName, scripted.ToolText,
		func(_ context.Context, in input, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			text, err := e.lookup(in.N)
			return fantasy.NewTextResponse(text), err
		})
	return &fantasyAgent{http: h, stream: c.Stream, agent: fantasy.NewAgent(m,
		fantasy.WithSystemPrompt(scripted.Instructions), fantasy.WithTools(lookup), fantasy.WithMaxOutputTokens(scripted.MaxTokens),
		fantasy.WithMaxRetries(0), fantasy.WithStopConditions(fantasy.StepCountIs(c.Turns)))}, nil
}

func (l *fantasyAgent) Run(ctx context.Context) (Result, error) {
	var r *fantasy.AgentResult
	var err error
	if l.stream {
		r, err = l.agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: scripted.Question})
	} else {
		r, err = l.agent.Generate(ctx, fantasy.AgentCall{Prompt: scripted.Question})
	}
	if err != nil {
		return Result{}, err
	}
	calls := 0
	for i := range r.Steps {
		calls += len(r.Steps[i].Content.ToolResults())
	}
	return Result{r.Response.Content.Text(), calls}, nil
}

func (l *fantasyAgent) Close() { l.http.CloseIdleConnections() }
