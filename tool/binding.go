package tool

import "github.com/holdfast-run/holdfast/kernel"

// Binding is a tool as it stood when its Set was made, with the effect class
// that one call was decided with. What the tool says of itself later changes
// neither its limits nor what a failure means. Call Set.Bind to get one; the
// zero value is no tool, and its calls are not run.
type Binding struct {
	tool   Tool
	spec   *Spec // nil: of no tool
	effect kernel.EffectClass
	keyed  bool
}

// Bind returns the tool of that name for a call of that effect class: the one
// recorded with the call's decision or, where none was recorded, the answer of
// EffectOf. Whatever is no effect class counts as kernel.Once.
func (s *Set) Bind(name string, effect kernel.EffectClass) (Binding, bool) {
	m := s.member(name)
	if m == nil {
		return Binding{}, false
	}
	if !knownEffect(effect) {
		effect = kernel.Once
	}
	return Binding{tool: m.tool, spec: &m.spec, effect: effect, keyed: m.keyed}, true
}
