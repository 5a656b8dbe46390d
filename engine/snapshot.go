package engine

import (
	"slices"
	"sync/atomic"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
)

// snapshot is what a request offers and its calls run on, with what is made of
// it for the model once. It never changes.
type snapshot struct {
	tools        *tool.Set
	instructions string
	system       string // made of both
	defs         []model.Tool
	head         []byte // nil: the model keeps no bytes
	tokens       int64  // of what is before the messages, estimated

	ambiguous string        // which tools fit the question equally well; empty: it is clear
	missing   *kernel.Error // why no tool does
}

// Snapshots keeps what was made of an agent's own tools last: its runs have that
// in common. The zero value is empty, and a Snapshots is safe for concurrent use.
type Snapshots struct {
	latest atomic.Pointer[snapshot]
}

// own is the snapshot of the agent's own tools.
func (x *Execution) own() (*snapshot, error) {
	if x.Snapshots == nil || len(x.start.Requires) > 0 {
		return x.freeze(x.agent.Tools)
	}
	common := x.Snapshots.latest.Load()
	known := common != nil && common.tools == x.agent.Tools && common.instructions == x.agent.Instructions
	if !known {
		common = x.offer(x.agent.Tools)
	}
	s := *common
	s.defs = slices.Clone(common.defs) // a model that changes them changes them for its own run
	head, err := x.head(&s)
	if err != nil {
		return nil, err
	}
	if !known || !same(head, common.head) {
		s.head = head
		s.tokens = s.estimate()
		kept := s
		kept.defs = common.defs
		x.Snapshots.latest.Store(&kept)
	}
	return &s, nil
}

// same reports whether two heads are one.
func same(a, b []byte) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

// freeze makes the snapshot of tools: CONFIGURATION when the model cannot
// express them.
func (x *Execution) freeze(tools *tool.Set) (_ *snapshot, err error) {
	s := x.offer(tools)
	if s.head, err = x.head(s); err != nil {
		return nil, err
	}
	s.tokens = s.estimate()
	return s, nil
}

// offer is a snapshot of tools, before the model is asked to express it.
func (x *Execution) offer(tools *tool.Set) *snapshot {
	s := &snapshot{tools: tools, instructions: x.agent.Instructions}
	if len(x.start.Requires) > 0 {
		s.route(x.start.Question, x.start.Requires)
	}
	s.defs = make([]model.Tool, 0, len(s.tools.Names()))
	for _, name := range s.tools.Names() {
		spec, _ := s.tools.Spec(name)
		s.defs = append(s.defs, model.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	s.system = prompt.System(s.instructions, s.tools.Names())
	return s
}

// head is what the model makes of a snapshot; nil: it keeps no bytes.
func (x *Execution) head(s *snapshot) ([]byte, error) {
	if x.encode == nil {
		return nil, nil
	}
	head, err := x.encode.EncodeHead(s.system, s.defs)
	if err == nil || kernel.CodeOf(err) == kernel.CodeConfiguration { // that says what and where
		return head, err
	}
	return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the model cannot express its instructions or tools: " + err.Error()}
}

// route narrows the tools to the one that covers what the question requires.
func (s *snapshot) route(question string, requires []string) {
	set, err := s.tools.Route(question, requires)
	if a, tie := asAmbiguous(err); tie {
		s.ambiguous = a.Error()
		return
	}
	if err != nil {
		s.missing = &kernel.Error{Code: kernel.CodeOf(err), Message: describe(err), Err: err}
		return
	}
	s.tools = set
}

func (s *snapshot) estimate() int64 {
	if s.head != nil {
		return prompt.EstimateTokens(s.head)
	}
	n := prompt.EstimateTokens(s.system)
	for i := range s.defs {
		n += prompt.EstimateTokens(s.defs[i].Name) + prompt.EstimateTokens(s.defs[i].Description) + prompt.EstimateTokens(s.defs[i].Schema)
	}
	return n
}

// present is the snapshot that calls run on: nil before the sources of a run
// that was taken over were asked.
func (x *Execution) present() *snapshot {
	if x.snap != nil || x.sources == nil {
		return x.snap
	}
	return x.sources.latest()
}

// installed makes the snapshot of a preparation that of the run.
func (x *Execution) installed(cmd kernel.Seq) {
	if x.sources == nil {
		return
	}
	if s := x.sources.madeFor(cmd); s != nil {
		x.snap = s
	}
}

// headTokens is what is before the messages of the request that was prepared
// last, as far as this process knows it.
func (x *Execution) headTokens() int64 {
	if s := x.present(); s != nil {
		return s.tokens
	}
	return x.base.tokens
}

// tools are those that calls run on.
func (x *Execution) tools() *tool.Set {
	if s := x.present(); s != nil {
		return s.tools
	}
	return x.base.tools
}

// Definition is how a tool was described when the run first offered it.
type Definition struct {
	Tool   string `json:"tool"`
	Digest string `json:"digest"` // see tool.Set.Definition
}

// definition is how a tool of a source was described at first; empty: it was
// never offered, or is the agent's own.
func (r *Replay) definition(name string) string {
	for i := range r.defined {
		if r.defined[i].Tool == name {
			return r.defined[i].Digest
		}
	}
	return ""
}

// defines are the tools that a snapshot offers for the first time, but for the
// agent's own.
func (s *snapshot) defines(own *snapshot, before []Definition) (out []Definition) {
	if s == own {
		return nil
	}
	known := make(map[string]bool, len(before))
	for i := range before {
		known[before[i].Tool] = true
	}
	for _, name := range s.tools.Names() {
		if _, has := own.tools.Lookup(name); !has && !known[name] {
			out = append(out, Definition{Tool: name, Digest: s.tools.Definition(name)})
		}
	}
	return out
}
