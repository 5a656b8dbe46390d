package tool

import (
	"context"
	"encoding/json"
)

// Source gives tools that may come, change and go while a run is under way,
// such as those of a server. Implementations are safe for concurrent use.
type Source interface {
	// Snapshot returns the tools as they are now, and in words for people what is
	// missing. It is asked for each request: the same *Set says that nothing has
	// changed, and costs nothing. It may wait for tools that are about to be
	// there, a bounded time once, and obeys ctx.
	Snapshot(ctx context.Context) (*Set, []string)
}

// Immediate is what a Source implements that knows whether Snapshot has to wait
// for something that is worth it, such as a list that has changed.
type Immediate interface {
	// Immediate reports whether Snapshot would answer at once. It does so itself.
	Immediate() bool
}

// Narrower is what a tool implements when a result of it narrows what the rest
// of the run may call. It can take rights away, and never give one.
type Narrower interface {
	// Narrows reads the facts of a result (Result.Data) and returns names and
	// patterns, in which * stands for any characters: from then on the run may
	// call what they match, and this tool itself, and nothing else. What is to
	// stay beside it is among them. It is asked once, when the result is there,
	// and its answer is kept with that; what several results say holds at the
	// same time. At most 256, of at most 64 bytes each; others match nothing.
	// false: it narrows nothing.
	Narrows(data json.RawMessage) (tools []string, narrows bool)
}

// Narrower returns the tool of that name, if it is one that narrows.
func (s *Set) Narrower(name string) Narrower {
	m := s.member(name)
	if m == nil {
		return nil
	}
	n, _ := m.tool.(Narrower)
	return n
}
