package stub

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// Form says how an answer is encoded.
type Form struct {
	Wire   Wire
	Stream bool
	Model  string
	// Usage asks an OpenAI stream to report usage, as include_usage does.
	Usage bool
	// ID is the answer's own id, such as chatcmpl_1.
	ID string
}

// Encode encodes a reply: a plain body, or the whole stream.
func Encode(f Form, r Reply) ([]byte, error) {
	e, err := encode(f, r)
	if err != nil {
		return nil, err
	}
	return bytes.Join(e.events(), nil), nil
}

// encoded is an answer as the events of a stream. A plain body is one event.
// The end are the events that say that the content is whole.
type encoded struct {
	content, end [][]byte
}

func (e encoded) events() [][]byte { return slices.Concat(e.content, e.end) }

func encode(f Form, r Reply) (encoded, error) {
	r = r.withStop()
	switch {
	case f.Wire == OpenAI && f.Stream:
		return openAIStream(f, r), nil
	case f.Wire == OpenAI:
		return encoded{content: [][]byte{openAIPlain(f, r)}}, nil
	case f.Wire == Anthropic && f.Stream:
		return anthropicStream(f, r), nil
	case f.Wire == Anthropic:
		body, err := anthropicPlain(f, r)
		return encoded{content: [][]byte{body}}, err
	}
	return encoded{}, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("unknown wire %q", f.Wire)}
}

// withStop fills in the stop reason that follows from the content.
func (r Reply) withStop() Reply {
	switch {
	case r.NoStop:
		r.Stop = kernel.StopAbsent
	case r.Stop != kernel.StopAbsent:
	case len(r.Calls) > 0:
		r.Stop = kernel.StopCalls
	case r.Refusal != "":
		r.Stop = kernel.StopRefusal
	default:
		r.Stop = kernel.StopEnd
	}
	return r
}

// wireStop is a stop reason as a wire spells it, or nil for null.
func wireStop(stop kernel.StopReason, names map[kernel.StopReason]string) any {
	if stop == kernel.StopAbsent {
		return nil
	}
	if name, ok := names[stop]; ok {
		return name
	}
	return strings.TrimPrefix(string(stop), "other:")
}

// words cuts text after its spaces, as a model's tokens roughly do.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// fragments cuts text into pieces of at most n runes, whatever they part.
func fragments(text string, n int) []string {
	var pieces []string
	for text != "" {
		end := 0
		for range n {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

// argumentRunes is the length of a fragment of streamed arguments: short, so
// that fragments part numbers, escapes and keys.
const argumentRunes = 7
