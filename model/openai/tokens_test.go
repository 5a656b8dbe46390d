package openai_test

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/model/openai"
)

// Models of OpenAI are counted by their tokenizer, others are not.
func TestCountTokens(t *testing.T) {
	for name, want := range map[string]int64{"gpt-4o": 3, "gpt-5-mini-2025-08-07": 3, "o3": 3, "gpt-4": 3, "gpt-4-turbo": 3, "gpt-4.1-mini": 3, "llama-3.1-70b": -1, "gpt-4official": -1, "o300": -1} {
		m, err := openai.New(openai.Config{Key: "k", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		n, ok := m.CountTokens("hello world!")
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d tokens, want %d", name, n, want)
		}
		if ok {
			if n, _ := m.CountTokens(strings.Repeat("报销制度", 100)); n < 100 || n > 800 {
				t.Errorf("%s: %d tokens of 400 characters", name, n)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
