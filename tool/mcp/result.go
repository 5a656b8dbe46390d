//go:build linux || darwin

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// result is what a model is told of an answer. The server's keys are hidden in it:
// whatever a model sees goes to its provider and into the journal.
func (s *server) result(answer *sdk.CallToolResult) (tool.Result, error) {
	structured, err := structuredOf(answer, s.secrets.keys)
	if err != nil {
		return tool.Result{}, err
	}
	if l := s.config.Limits; l != nil {
		if why := l.judge(answer, structured); why != "" {
			return unusable(why), nil
		}
	}
	parts := make([]string, 0, len(answer.Content)+1)
	for _, block := range answer.Content {
		parts = append(parts, hide(textOf(block), s.secrets.keys))
	}
	if structured != nil && !repeats(parts, structured) {
		parts = append(parts, string(structured))
	}
	return tool.Result{Text: strings.Join(parts, "\n"), IsError: answer.IsError, Data: structured}, nil
}

// structuredOf returns the structured content as one line of JSON.
func structuredOf(answer *sdk.CallToolResult, secrets []string) (json.RawMessage, error) {
	if answer.StructuredContent == nil {
		return nil, nil
	}
	return tool.Encode(hideIn(answer.StructuredContent, secrets))
}

// repeats reports whether the structured content is there as text already, as
// the protocol asks servers to do.
func repeats(parts []string, structured json.RawMessage) bool {
	for _, part := range parts {
		if !json.Valid([]byte(part)) {
			continue
		}
		var v any
		if json.Unmarshal([]byte(part), &v) != nil {
			continue
		}
		if again, err := tool.Encode(v); err == nil && string(again) == string(structured) {
			return true
		}
	}
	return false
}

// unusable is the result of a call whose effect has landed and whose answer is
// not what was agreed.
func unusable(why string) tool.Result {
	return tool.Result{
		Text: "the answer of the server is not usable: " + why, IsError: true, Disposition: kernel.Landed,
	}
}

// judge says what is wrong with an answer. Empty: nothing.
func (l *Limits) judge(answer *sdk.CallToolResult, structured json.RawMessage) string {
	if structured != nil && !l.Structured {
		return "it has structured content, which is not accepted"
	}
	if len(answer.Content) > l.Blocks {
		return fmt.Sprintf("it has %d blocks; at most %d are accepted", len(answer.Content), l.Blocks)
	}
	chars, blank := 0, structured == nil
	for _, block := range answer.Content {
		text, ok := block.(*sdk.TextContent)
		if !ok {
			return "it has a block that is not text"
		}
		chars += utf8.RuneCountInString(text.Text)
		blank = blank && strings.TrimSpace(text.Text) == ""
	}
	switch {
	case chars > l.Chars:
		return fmt.Sprintf("it has %d characters; at most %d are accepted", chars, l.Chars)
	case blank:
		return "it is blank"
	}
	return ""
}

// textOf is a block as text. What cannot be text is named in its place.
func textOf(block sdk.Content) string {
	switch b := block.(type) {
	case *sdk.TextContent:
		return b.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[an image of %d bytes, %s, which is not shown]", len(b.Data), kindOf(b.MIMEType))
	case *sdk.AudioContent:
		return fmt.Sprintf("[a sound of %d bytes, %s, which is not played]", len(b.Data), kindOf(b.MIMEType))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[a link to the resource %s, %s]", oneLine(b.URI, 500), kindOf(b.MIMEType))
	case *sdk.EmbeddedResource:
		return resourceText(b.Resource)
	}
	return "[a block of a kind that is not known]"
}

func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return "[an empty resource]"
	case r.Text != "":
		return fmt.Sprintf("[the resource %s]\n%s", oneLine(r.URI, 500), r.Text)
	}
	return fmt.Sprintf("[the resource %s of %d bytes, %s, which is not shown]", oneLine(r.URI, 500), len(r.Blob), kindOf(r.MIMEType))
}

func kindOf(mime string) string {
	if mime == "" {
		return "of an unnamed type"
	}
	return oneLine(mime, 100)
}

func oneLine(s string, size int) string {
	s, _ = tool.Bound(strings.Join(strings.Fields(tool.Clean(s)), " "), size)
	return s
}
