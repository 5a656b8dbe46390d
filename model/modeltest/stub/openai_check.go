package stub

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The longest function name and id of a call, in characters.
const (
	openAINames = 64
	openAIIDs   = 40
)

// readOpenAI checks the body of a Chat Completions request and fills in req.
func (h *Handler) readOpenAI(body []byte, req *Request) error {
	if err := strictObject(body); err != nil {
		return refuse("the body is not acceptable: %v", err)
	}
	o, err := parseObject(body, "body")
	if err != nil {
		return err
	}
	if err := o.only("body", "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens "+
		"max_completion_tokens temperature top_p n stop seed user metadata store response_format reasoning_effort "+
		"frequency_penalty presence_penalty logprobs top_logprobs logit_bias service_tier prompt_cache_key safety_identifier"); err != nil {
		return err
	}
	if err := openAISettings(o, req); err != nil {
		return err
	}
	if req.Tools, err = openAITools(o); err != nil {
		return err
	}
	items, ok := o.list("messages")
	if !ok || len(items) == 0 {
		return refuse("messages: must be an array with at least one message")
	}
	c := openAIHistory{handler: h, req: req}
	for i, item := range items {
		if err := c.message(item, fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	return c.end()
}

// openAISettings reads what stands beside messages and tools.
func openAISettings(o object, req *Request) (err error) {
	if req.Model, _ = o.text("model"); req.Model == "" {
		return refuse("model: must be given")
	}
	if req.Stream, err = o.flag("stream", "body"); err != nil {
		return err
	}
	if o.has("stream_options") {
		options, err := parseObject(o["stream_options"], "stream_options")
		if err != nil {
			return err
		}
		if !req.Stream {
			return refuse("stream_options: only allowed when stream is true")
		}
		if req.IncludeUsage, err = options.flag("include_usage", "stream_options"); err != nil {
			return err
		}
	}
	legacy, err := o.positive("max_tokens", "body")
	if err != nil {
		return err
	}
	if req.MaxTokens, err = o.positive("max_completion_tokens", "body"); err != nil {
		return err
	}
	if legacy > 0 && req.MaxTokens > 0 {
		return refuse("max_tokens: not together with max_completion_tokens")
	}
	req.MaxTokens = max(req.MaxTokens, legacy)
	return nil
}

// openAIHistory walks the messages in order.
type openAIHistory struct {
	handler *Handler
	req     *Request
	open    []string // ids that the next messages must answer
	last    Message
}

func (c *openAIHistory) message(raw json.RawMessage, at string) error {
	o, err := parseObject(raw, at)
	if err != nil {
		return err
	}
	role, _ := o.text("role")
	if len(c.open) > 0 && role != "tool" {
		return refuse("%s: an assistant message with tool_calls must be followed by tool messages responding to each tool_call_id; missing: %v", at, c.open)
	}
	c.last = Message{Role: role}
	switch role {
	case "system", "developer":
		c.last.Text, err = openAIContent(o, at, false)
		c.req.System += c.last.Text
		return firstOf(err, o.only(at, "role content name"))
	case "user":
		c.last.Text, err = openAIContent(o, at, false)
		err = firstOf(err, o.only(at, "role content name"))
	case "assistant":
		err = c.assistant(o, at)
	case "tool":
		err = c.result(o, at)
	default:
		return refuse("%s.role: unknown role", at)
	}
	c.req.Messages = append(c.req.Messages, c.last)
	return err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *openAIHistory) assistant(o object, at string) error {
	allowed := "role content name refusal tool_calls"
	if c.handler.options.Reasoning != RefuseReasoning {
		allowed += " reasoning_content"
	}
	if err := o.only(at, allowed); err != nil {
		return err
	}
	if o.has("tool_calls") {
		if err := c.calls(o, at); err != nil {
			return err
		}
	}
	var err error
	if c.last.Text, err = openAIContent(o, at, len(c.last.Calls) > 0 || o.has("refusal")); err != nil {
		return err
	}
	c.last.Reasoning, _ = o.text("reasoning_content")
	if c.handler.options.Reasoning != DemandReasoning {
		return nil
	}
	for _, call := range c.last.Calls {
		want, known := c.handler.memory.reason(call.ID)
		if known && c.last.Reasoning != want || !known && c.last.Reasoning == "" {
			return refuse("%s.reasoning_content: must be passed back as it was issued with the tool calls", at)
		}
	}
	return nil
}

func (c *openAIHistory) calls(o object, at string) error {
	items, ok := o.list("tool_calls")
	if !ok || len(items) == 0 {
		return refuse("%s.tool_calls: must be an array with at least one call, or absent", at)
	}
	for i, item := range items {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		call, err := openAICallOf(item, at)
		if err != nil {
			return err
		}
		if slices.Contains(c.open, call.ID) {
			return refuse("%s.id: duplicate id %q", at, call.ID)
		}
		c.open = append(c.open, call.ID)
		c.last.Calls = append(c.last.Calls, call)
	}
	return nil
}

func openAICallOf(raw json.RawMessage, at string) (Call, error) {
	o, err := parseObject(raw, at)
	if err != nil {
		return Call{}, err
	}
	if err := o.only(at, "id type function"); err != nil {
		return Call{}, err
	}
	if kind, _ := o.text("type"); kind != "function" {
		return Call{}, refuse("%s.type: must be function", at)
	}
	f, err := parseObject(o["function"], at+".function")
	if err != nil {
		return Call{}, err
	}
	if err := f.only(at+".function", "name arguments"); err != nil {
		return Call{}, err
	}
	var call Call
	if call.ID, _ = o.text("id"); call.ID == "" {
		return Call{}, refuse("%s.id: must be given", at)
	}
	if n := utf8.RuneCountInString(call.ID); n > openAIIDs {
		return Call{}, refuse("%s.id: string too long: %d characters, at most %d", at, n, openAIIDs)
	}
	if call.Name, _ = f.text("name"); !legalName(call.Name, openAINames) {
		return Call{}, refuse("%s.function.name: must match ^[a-zA-Z0-9_-]{1,%d}$", at, openAINames)
	}
	args, ok := f.text("arguments")
	if !ok {
		return Call{}, refuse("%s.function.arguments: must be a string", at)
	}
	if err := strictObject([]byte(args)); err != nil {
		return Call{}, refuse("%s.function.arguments: must be one JSON object: %v", at, err)
	}
	call.Args = args
	return call, nil
}

func (c *openAIHistory) result(o object, at string) error {
	if err := o.only(at, "role content tool_call_id"); err != nil {
		return err
	}
	id, _ := o.text("tool_call_id")
	if id == "" {
		return refuse("%s.tool_call_id: must be given", at)
	}
	i := slices.Index(c.open, id)
	if i < 0 {
		return refuse("%s: a tool message must answer an open tool_call of the assistant message right before it; %q is none", at, id)
	}
	c.open = slices.Delete(c.open, i, i+1)
	text, err := openAIContent(o, at, false)
	c.last.Results = []Result{{ID: id, Text: text}}
	return err
}

// end checks what only the end of the history shows.
func (c *openAIHistory) end() error {
	if len(c.open) > 0 {
		return refuse("messages: the last tool_calls have no results: %v", c.open)
	}
	if c.last.Role == "assistant" && c.last.Text == "" {
		return refuse("messages: the final assistant message is empty")
	}
	return nil
}

// openAIContent returns a message's text. Null and absent are for assistants
// that say something else.
func openAIContent(o object, at string, nullable bool) (string, error) {
	if !o.has("content") {
		if nullable {
			return "", nil
		}
		return "", refuse("%s.content: must be a string or an array of parts", at)
	}
	if text, ok := o.text("content"); ok {
		return text, nil
	}
	parts, ok := o.list("content")
	if !ok || len(parts) == 0 {
		return "", refuse("%s.content: must be a string or an array of parts", at)
	}
	var all string
	for i, raw := range parts {
		at := fmt.Sprintf("%s.content[%d]", at, i)
		part, err := parseObject(raw, at)
		if err != nil {
			return "", err
		}
		kind, _ := part.text("type")
		text, ok := part.text("text")
		if kind != "text" || !ok {
			return "", refuse("%s: must be a text part", at)
		}
		if err := part.only(at, "type text"); err != nil {
			return "", err
		}
		all += text
	}
	return all, nil
}
