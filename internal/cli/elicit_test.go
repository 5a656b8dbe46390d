package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a server's form says steers no terminal: names, titles and values are shown
// with what does not show spelled out, and an answer is the very value.
func TestFormsAreShownSafely(t *testing.T) {
	const evil = "a\x1b[2J\rb\u202ec\nd"
	schema, err := json.Marshal(map[string]any{"type": "object", "required": []string{evil}, "properties": map[string]any{
		evil: map[string]any{"type": "string", "title": evil, "enum": []string{evil, "plain"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	fields := formFields(schema)
	if len(fields) != 1 || fields[0].name != evil {
		t.Fatalf("%+v", fields)
	}
	prompt := fields[0].prompt()
	if strings.ContainsAny(prompt, "\x1b\r\u202e") || strings.Count(prompt, "\n") != 1 || strings.Count(prompt, `\u202e`) != 3 {
		t.Errorf("%q", prompt)
	}
	if value, ok := fields[0].read("plain"); !ok || value != "plain" {
		t.Errorf("%v", value)
	}
	if _, ok := fields[0].read("other"); ok {
		t.Error("what is not listed is taken")
	}
}
