package stub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// anthropicNames is the longest legal tool name.
const anthropicNames = 128

// readAnthropic checks the body of a Messages request and fills in req.
func (h *Handler) readAnthropic(body []byte, req *Request) error {
	if err := strictObject(body); err != nil {
		return refuse("the body is not acceptable: %v", err)
	}
	o, err := parseObject(body, "body")
	if err != nil {
		return err
	}
	if err := o.only("body", "model messages max_tokens system stream tools tool_choice temperature top_p top_k "+
		"stop_sequences metadata thinking service_tier"); err != nil {
		return err
	}
	if err := anthropicSettings(o, req); err != nil {
		return err
	}
	if req.Tools, err = anthropicTools(o); err != nil {
		return err
	}
	items, ok := o.list("messages")
	if !ok || len(items) == 0 {
		return refuse("messages: at least one message is required")
	}
	c := anthropicHistory{handler: h, req: req, ids: map[string]bool{}}
	for i, item := range items {
		if err := c.message(item, fmt.Sprintf("messages.%d", i)); err != nil {
			return err
		}
	}
	if len(c.open) > 0 {
		return refuse("messages: tool_use ids without tool_result blocks immediately after: %v", c.open)
	}
	return nil
}

// anthropicSettings reads what stands beside messages and tools.
func anthropicSettings(o object, req *Request) (err error) {
	if req.Model, _ = o.text("model"); req.Model == "" {
		return refuse("model: field required")
	}
	if req.MaxTokens, err = o.positive("max_tokens", "body"); err != nil {
		return err
	}
	if req.MaxTokens == 0 {
		return refuse("max_tokens: field required")
	}
	if req.Stream, err = o.flag("stream", "body"); err != nil {
		return err
	}
	if !o.has("system") {
		return nil
	}
	if text, ok := o.text("system"); ok {
		req.System = text
		return nil
	}
	blocks, ok := o.list("system")
	if !ok {
		return refuse("system: must be a string or an array of text blocks")
	}
	for i, raw := range blocks {
		at := fmt.Sprintf("system.%d", i)
		block, err := parseObject(raw, at)
		if err != nil {
			return err
		}
		text, err := anthropicTextOf(block, at)
		if err != nil {
			return err
		}
		req.System += text
	}
	return nil
}

// anthropicTools returns the names of the tools.
func anthropicTools(o object) (names []string, err error) {
	if !o.has("tools") {
		return nil, nil
	}
	items, ok := o.list("tools")
	if !ok {
		return nil, refuse("tools: must be an array")
	}
	for i, item := range items {
		at := fmt.Sprintf("tools.%d", i)
		tool, err := parseObject(item, at)
		if err != nil {
			return nil, err
		}
		if err := tool.only(at, "type name description input_schema cache_control"); err != nil {
			return nil, err
		}
		name, _ := tool.text("name")
		if !legalName(name, anthropicNames) || slices.Contains(names, name) {
			return nil, refuse("%s.name: must be unique and match ^[a-zA-Z0-9_-]{1,%d}$", at, anthropicNames)
		}
		if _, err := toolSchema(tool["input_schema"], at+".input_schema", "oneOf allOf anyOf"); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// anthropicHistory walks the messages in order.
type anthropicHistory struct {
	handler *Handler
	req     *Request
	ids     map[string]bool // of every tool_use so far
	open    []string        // ids that the next message must answer
	last    Message
	blocks  int // of the message at hand, those that are no thinking
}

func (c *anthropicHistory) message(raw json.RawMessage, at string) error {
	o, err := parseObject(raw, at)
	if err != nil {
		return err
	}
	if err := o.only(at, "role content"); err != nil {
		return err
	}
	role, _ := o.text("role")
	want := "user"
	if c.last.Role == "user" {
		want = "assistant"
	}
	if role != want {
		return refuse("%s: roles must alternate, user first: want %s", at, want)
	}
	c.last = Message{Role: role}
	c.blocks = 0
	defer func() { c.req.Messages = append(c.req.Messages, c.last) }()
	if err := c.content(o, at); err != nil {
		return err
	}
	if role == "user" {
		if len(c.open) > 0 {
			return refuse("%s: tool_use ids were found without tool_result blocks immediately after: %v", at, c.open)
		}
		return nil
	}
	return c.issuedThinking(at)
}

func (c *anthropicHistory) content(o object, at string) error {
	if text, ok := o.text("content"); ok {
		c.last.Text = text
		if strings.TrimSpace(text) == "" {
			return refuse("%s: text content must not be blank", at)
		}
		return nil
	}
	blocks, ok := o.list("content")
	if !ok || len(blocks) == 0 {
		return refuse("%s.content: must be a string or an array with at least one block", at)
	}
	for i, raw := range blocks {
		at := fmt.Sprintf("%s.content.%d", at, i)
		block, err := parseObject(raw, at)
		if err != nil {
			return err
		}
		if err := c.block(block, at); err != nil {
			return err
		}
	}
	return nil
}

func (c *anthropicHistory) block(o object, at string) error {
	kind, _ := o.text("type")
	switch {
	case kind == "thinking" || kind == "redacted_thinking":
		return c.thinking(o, kind, at)
	case kind == "tool_result":
		return c.result(o, at)
	case kind != "text" && kind != "tool_use":
		return refuse("%s.type: unknown block type", at)
	}
	c.blocks++
	if kind == "tool_use" {
		return c.call(o, at)
	}
	if len(c.open) > 0 && c.last.Role == "user" {
		return refuse("%s: tool_result blocks come before text", at)
	}
	text, err := anthropicTextOf(o, at)
	c.last.Text += text
	return err
}

// anthropicTextOf returns the text of a text block.
func anthropicTextOf(o object, at string) (string, error) {
	if err := o.only(at, "type text cache_control"); err != nil {
		return "", err
	}
	kind, _ := o.text("type")
	text, ok := o.text("text")
	if kind != "text" || !ok {
		return "", refuse("%s: must be a text block", at)
	}
	if strings.TrimSpace(text) == "" {
		return "", refuse("%s: text content blocks must contain non-whitespace text", at)
	}
	return text, nil
}

func (c *anthropicHistory) thinking(o object, kind, at string) error {
	if c.last.Role != "assistant" || c.blocks > 0 {
		return refuse("%s: thinking blocks are an assistant's and precede its other blocks", at)
	}
	var t Thinking
	if kind == "redacted_thinking" {
		if err := o.only(at, "type data"); err != nil {
			return err
		}
		t.Redacted, _ = o.text("data")
	} else {
		if err := o.only(at, "type thinking signature"); err != nil {
			return err
		}
		text, ok := o.text("thinking")
		if !ok {
			return refuse("%s.thinking: field required", at)
		}
		t.Text = text
		t.Signature, _ = o.text("signature")
	}
	if t.Signature == "" && t.Redacted == "" || !c.handler.memory.authentic(t) {
		return refuse("%s: invalid signature or data in %s block", at, kind)
	}
	c.last.Thinking = append(c.last.Thinking, t)
	return nil
}

// issuedThinking compares a message's thinking with what was issued before its
// calls.
func (c *anthropicHistory) issuedThinking(at string) error {
	for _, call := range c.last.Calls {
		if want, known := c.handler.memory.before(call.ID); known && !slices.Equal(want, c.last.Thinking) {
			return refuse("%s: the thinking blocks that were issued before a tool_use cannot be left out or modified", at)
		}
	}
	return nil
}

func (c *anthropicHistory) call(o object, at string) error {
	if err := o.only(at, "type id name input cache_control"); err != nil {
		return err
	}
	if c.last.Role != "assistant" {
		return refuse("%s: tool_use blocks are an assistant's", at)
	}
	call := Call{Args: string(o["input"])}
	if call.ID, _ = o.text("id"); !legalName(call.ID, len(call.ID)) {
		return refuse("%s.id: must match ^[a-zA-Z0-9_-]+$", at)
	}
	if c.ids[call.ID] {
		return refuse("%s.id: tool_use ids must be unique: %q", at, call.ID)
	}
	if call.Name, _ = o.text("name"); !legalName(call.Name, anthropicNames) {
		return refuse("%s.name: must match ^[a-zA-Z0-9_-]{1,%d}$", at, anthropicNames)
	}
	if !isObject(o["input"]) {
		return refuse("%s.input: must be an object", at)
	}
	c.ids[call.ID] = true
	c.open = append(c.open, call.ID)
	c.last.Calls = append(c.last.Calls, call)
	return nil
}

func (c *anthropicHistory) result(o object, at string) error {
	if err := o.only(at, "type tool_use_id content is_error cache_control"); err != nil {
		return err
	}
	if c.last.Role != "user" || c.blocks > 0 {
		return refuse("%s: tool_result blocks are a user's and precede text", at)
	}
	r := Result{}
	if r.ID, _ = o.text("tool_use_id"); r.ID == "" {
		return refuse("%s.tool_use_id: field required", at)
	}
	i := slices.Index(c.open, r.ID)
	if i < 0 {
		return refuse("%s: unexpected tool_use_id in tool_result: %q has no open tool_use in the message before", at, r.ID)
	}
	c.open = slices.Delete(c.open, i, i+1)
	var err error
	if r.IsError, err = o.flag("is_error", at); err != nil {
		return err
	}
	r.Text, err = anthropicResultText(o, at)
	c.last.Results = append(c.last.Results, r)
	return err
}

// anthropicResultText returns the content of a result, which may be absent or
// an empty string.
func anthropicResultText(o object, at string) (string, error) {
	if text, ok := o.text("content"); ok || !o.has("content") {
		return text, nil
	}
	blocks, ok := o.list("content")
	if !ok {
		return "", refuse("%s.content: must be a string or an array of text blocks", at)
	}
	var all string
	for i, raw := range blocks {
		at := fmt.Sprintf("%s.content.%d", at, i)
		block, err := parseObject(raw, at)
		if err != nil {
			return "", err
		}
		text, err := anthropicTextOf(block, at)
		if err != nil {
			return "", err
		}
		all += text
	}
	return all, nil
}
