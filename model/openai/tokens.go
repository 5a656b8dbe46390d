package openai

import (
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// counter counts tokens as the models of OpenAI do. It is made when it is first
// asked: its tables take time and memory.
type counter struct {
	once  sync.Once
	codec tokenizer.Codec // nil: the model's tokenizer is not known
}

// CountTokens counts text as the provider's tokenizer does. false: the tokenizer
// of a model of that name is not known. It takes about 0.1 s for a megabyte, and
// is safe for concurrent use.
func (m *Model) CountTokens(text string) (n int64, ok bool) {
	m.counter.once.Do(func() {
		if name := encodingOf(m.endpoint.Info.Name); name != "" {
			m.counter.codec, _ = tokenizer.Get(name) // nil: the next best is an estimate
		}
	})
	if m.counter.codec == nil {
		return 0, false
	}
	count, err := m.counter.codec.Count(text)
	return int64(count), err == nil
}

// encodingOf is the tokenizer of a model and of its dated versions, as OpenAI's
// tiktoken has them; empty: not known.
func encodingOf(model string) tokenizer.Encoding {
	for _, family := range []struct {
		name     string
		encoding tokenizer.Encoding
	}{
		{"gpt-5", tokenizer.O200kBase}, {"gpt-4.1", tokenizer.O200kBase}, {"gpt-4o", tokenizer.O200kBase}, {"chatgpt-4o", tokenizer.O200kBase},
		{"o1", tokenizer.O200kBase}, {"o3", tokenizer.O200kBase}, {"o4-mini", tokenizer.O200kBase},
		{"gpt-4", tokenizer.Cl100kBase}, {"gpt-3.5-turbo", tokenizer.Cl100kBase},
	} {
		if rest, ok := strings.CutPrefix(model, family.name); ok && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return family.encoding
		}
	}
	return ""
}
