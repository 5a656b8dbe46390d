package transport

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/holdfast-run/holdfast/model"
)

// Heads keeps the latest head of requests: the runs of an agent have the same
// one. The zero value is empty, and a Heads is safe for concurrent use.
type Heads struct {
	latest atomic.Pointer[head]
}

type head struct {
	system string
	tools  []model.Tool
	text   []byte
}

// Of returns what encode makes of system and tools, without asking it for the
// same head twice running. An error is not kept.
func (h *Heads) Of(system string, tools []model.Tool, encode func(system string, tools []model.Tool) ([]byte, error)) ([]byte, error) {
	if k := h.latest.Load(); k != nil && k.system == system && slices.EqualFunc(k.tools, tools, sameTool) {
		return k.text, nil
	}
	text, err := encode(system, tools)
	if err != nil {
		return nil, err
	}
	text = slices.Clip(text) // whoever appends to it gets a copy
	h.latest.Store(&head{system, cloneTools(tools), text})
	return text, nil
}

func sameTool(a, b model.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

// cloneTools copies schemas too, so that whoever changes one of theirs gets
// another head.
func cloneTools(tools []model.Tool) []model.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Schema = bytes.Clone(tools[i].Schema)
	}
	return tools
}
