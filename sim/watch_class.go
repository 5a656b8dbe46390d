package sim

import (
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// tries is what has begun of a call, by its records alone.
type tries struct {
	begun bool // an attempt, ever
	open  bool // an attempt of which nothing came back
	doubt bool // an earlier one may have had an effect
	over  bool // it began as less than its tool was found to be later
}

func (t tries) started() tries {
	t.doubt = t.doubt || t.open
	t.begun, t.open = true, true
	return t
}

func (t tries) returned(d kernel.Disposition) tries {
	t.open = false
	t.doubt = t.doubt || d != kernel.DidNotHappen
	return t
}

// record keeps the class of a call. What was recorded first counts, but for a
// graver class: a call of which nothing can be there takes it, and another one
// must not begin again.
func (w *watch) record(r *shadow, e *kernel.CallDecided) {
	if want := r.plan.call(e.Call).traits().class; e.Effect != want && !w.plan.relabels {
		w.failf("I6", "call %s of %s is taken for %s, and is %s", e.Call, r.plan.id, e.Effect, want)
	}
	classes := []kernel.EffectClass{kernel.Read, kernel.Idempotent, kernel.Reconcilable, kernel.Once}
	was, t := r.classes[e.Call], r.tries[e.Call]
	switch graver := slices.Index(classes, e.Effect) > slices.Index(classes, was); {
	case was == "":
		r.classes[e.Call] = e.Effect
	case !graver:
	case t.open || t.doubt || t.begun && was == kernel.Read:
		t.over = true
		r.tries[e.Call] = t
		w.seen["graver since it began"]++
	default:
		r.classes[e.Call] = e.Effect
		w.seen["graver before it began"]++
	}
}
