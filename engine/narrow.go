package engine

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// narrowing is what one result left of what the run may call.
type narrowing struct {
	tool  string // whose result it was, which stays callable
	tools []string
}

// The bounds of a narrowing.
const (
	maxNarrowing = 256
	maxNarrow    = policy.MaxPattern
)

// narrows asks a tool whether a result of it narrows what the run may call. One
// that cannot tell has narrowed it to nothing: it takes rights away, and what
// was taken is not given back by a fault.
func (x *Execution) narrows(n tool.Narrower, out *tool.Outcome) *Narrowing {
	if n == nil || out.IsError {
		return nil
	}
	var tools []string
	narrowed := true
	err := func() (err error) {
		defer x.contain("the narrowing of a tool", &err)
		tools, narrowed = n.Narrows(slices.Clone(out.Data))
		return nil
	}()
	if err == nil && !narrowed {
		return nil
	}
	left := &Narrowing{Tools: []string{}}
	for _, pattern := range tools {
		if len(left.Tools) < maxNarrowing && pattern != "" && len(pattern) <= maxNarrow && utf8.ValidString(pattern) {
			left.Tools = append(left.Tools, pattern)
		}
	}
	return left
}

// narrowed returns what keeps the run from calling a tool; nil: nothing.
func narrowed(all []narrowing, name string) *narrowing {
	for i := range all {
		if !all[i].leaves(name) {
			return &all[i]
		}
	}
	return nil
}

func (n *narrowing) leaves(name string) bool {
	if n.tool == name {
		return true
	}
	for _, pattern := range n.tools {
		if (policy.Rule{Tool: pattern}).Matches(name) {
			return true
		}
	}
	return false
}

// words tell a model what it may still call.
func (n *narrowing) words() string {
	if len(n.tools) == 0 {
		return n.tool + " has narrowed what this run may call to itself"
	}
	return n.tool + " has narrowed what this run may call to " + n.tool + ", " + strings.Join(n.tools, ", ")
}
