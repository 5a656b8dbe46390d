package loop

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/holdfast-run/holdfast/bench/scripted"
)

// OpenAIGo is the loop that the official SDK's own examples write: a slice of
// message parameters, and the SDK for each request. Its retries are off.
func OpenAIGo() Contestant {
	return Contestant{Name: "openai-go", New: newOpenAIGo}
}

type openAIGo struct {
	http   *http.Client
	client openai.Client
	params openai.ChatCompletionNewParams
	stream bool
	tool   entries
}

func newOpenAIGo(c Config) (Runner, error) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(scripted.ToolSchema), &schema); err != nil {
		return nil, err
	}
	h := &http.Client{Transport: newTransport()}
	return &openAIGo{
		http: h,
		client: openai.NewClient(option.WithBaseURL(c.BaseURL), option.WithAPIKey("none"), option.WithHTTPClient(h),
			option.WithMaxRetries(0), option.WithRequestTimeout(requestTimeout)),
		params: openai.ChatCompletionNewParams{
			Model:     scripted.Model,
			MaxTokens: openai.Int(scripted.MaxTokens),
			Messages: []openai.ChatCompletionMessageParamUnion{
				openai.SystemMessage(scripted.Instructions), openai.UserMessage(scripted.Question),
			},
			Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
				Name: scripted.ToolName, Description: openai.String(scripted.ToolText), Parameters: schema,
			})},
		},
		stream: c.Stream,
		tool:   scripted.Entries(c.Turns),
	}, nil
}

func (l *openAIGo) Run(ctx context.Context) (Result, error) {
	params := l.params
	calls := 0
	for {
		m, err := l.ask(ctx, params)
		if err != nil {
			return Result{}, err
		}
		if len(m.ToolCalls) == 0 {
			return Result{m.Content, calls}, nil
		}
		params.Messages = append(params.Messages, m.ToParam())
		for _, c := range m.ToolCalls {
			result := l.tool.answer(rawCall{ID: c.ID, Function: rawFunction{Name: c.Function.Name, Arguments: c.Function.Arguments}})
			params.Messages = append(params.Messages, openai.ToolMessage(*result.Content, c.ID))
			calls++
		}
	}
}

func (l *openAIGo) ask(ctx context.Context, params openai.ChatCompletionNewParams) (*openai.ChatCompletionMessage, error) {
	if !l.stream {
		reply, err := l.client.Chat.Completions.New(ctx, params)
		if err != nil {
			return nil, err
		}
		return &reply.Choices[0].Message, nil
	}
	events := l.client.Chat.Completions.NewStreaming(ctx, params)
	var whole openai.ChatCompletionAccumulator
	for events.Next() {
		if !whole.AddChunk(events.Current()) {
			return nil, errors.New("a chunk that does not fit")
		}
	}
	if err := errors.Join(events.Err(), events.Close()); err != nil {
		return nil, err
	}
	return &whole.Choices[0].Message, nil
}

func (l *openAIGo) Close() { l.http.CloseIdleConnections() }
