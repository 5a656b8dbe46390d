package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// elicitor answers what an MCP server wants to know of a person.
type elicitor = func(context.Context, mcp.Question) (mcp.Answer, error)

// elicitorOf is the person who answers questions about calls, if there is one.
// Nobody's yes answers for a person.
func elicitorOf(a policy.Approver) elicitor {
	p, ok := a.(*person)
	if !ok {
		return nil
	}
	return p.elicit
}

// elicit shows what a server asks and reads the answer: the line yes, and then a
// line a field. An empty line leaves a field out.
func (p *person) elicit(ctx context.Context, q mcp.Question) (mcp.Answer, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return mcp.Answer{}, ctx.Err()
	}
	p.timeline.hold()
	defer p.timeline.release()
	text := fmt.Sprintf("\nthe mcp server %s asks (these are its words, not ours): %s\n", safeLine(q.Server), safeLines(q.Message))
	what := "answer"
	if q.URL != "" {
		text += "it wants you to visit " + safeLine(q.URL) + "\n"
		what = "say that you have done so"
	}
	line, err := p.ask(ctx, text+"type yes to "+what+"; anything else declines: ")
	if err != nil || line != "yes" {
		return mcp.Answer{}, err
	}
	answer := mcp.Answer{Accept: true, Content: map[string]any{}}
	for _, f := range formFields(q.Schema) {
		line, err := p.ask(ctx, f.prompt())
		if err != nil {
			return mcp.Answer{}, err
		}
		value, ok := f.read(line)
		switch {
		case ok:
			answer.Content[f.name] = value
		case line != "" || f.required:
			return mcp.Answer{}, nil // what does not fit is no answer
		}
	}
	return answer, nil
}

// formField is a field of a form.
type formField struct {
	name     string
	required bool
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Enum     []string `json:"enum"`
}

func formFields(schema json.RawMessage) []formField {
	var form struct {
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required"`
	}
	if json.Unmarshal(schema, &form) != nil {
		return nil
	}
	fields := make([]formField, 0, len(form.Properties))
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		f := form.Properties[name]
		f.name, f.required = name, slices.Contains(form.Required, name)
		fields = append(fields, f)
	}
	return fields
}

func (f *formField) prompt() string {
	kind := f.Type
	if len(f.Enum) > 0 {
		kind = "one of " + strings.Join(f.Enum, ", ")
	}
	text := "  " + safeLine(f.name) + " (" + safeLine(kind) + pick(f.required, "", ", may be left out") + "): "
	if f.Title != "" {
		text = "  " + safeLine(f.Title) + "\n" + text
	}
	return text
}

// read makes a line the value of the field.
func (f *formField) read(line string) (value any, ok bool) {
	switch f.Type {
	case "boolean":
		b, err := strconv.ParseBool(line)
		return b, err == nil
	case "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(line, 64)
		return n, err == nil
	}
	return line, line != "" && (len(f.Enum) == 0 || slices.Contains(f.Enum, line))
}
