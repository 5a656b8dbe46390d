package tool

import (
	"context"
	"encoding/json"

	"github.com/holdfast-run/holdfast/kernel"
)

// Lookuper is what a tool implements when it can say whether an effect is
// there: one of the class reconcilable, which is what a call becomes that was cut
// short between its start and its result. A tool of another class may have it, and is
// not asked.
type Lookuper interface {
	// Lookup looks for the effect of c, the call as Run was given it, and
	// changes nothing. It answers kernel.Absent where the effect is proved not to
	// be there, and running c then does no harm; kernel.Present, with the result
	// that Run would have returned, where it is; and kernel.PresenceUnknown where
	// it cannot tell. An error, a panic, an answer after the end of ctx and one
	// outside this set count as unknown.
	Lookup(ctx context.Context, c Call) (Found, error)
}

// Found is the answer of a Lookuper. The zero value says that nothing is
// known.
type Found struct {
	Presence kernel.Presence
	// Result is that of the call, where its effect is present. An effect that is
	// there has landed, so that a Disposition which says otherwise makes the
	// answer unknown.
	Result Result
}

// Lookup asks the tool of a call that was cut short whether its effect is
// there, within the tool's timeout and within ctx, and contained as Execute
// contains a run. It does not fail. The outcome is that of the call where its
// effect is present, and landed then. Otherwise it is zero, but for Warnings,
// which say why nothing is known; they are for operators.
//
// A tool that is no Lookuper, by now or in this process, leaves the effect
// unknown, and so does a ctx that has ended before.
func (b Border) Lookup(ctx context.Context, t Binding, c Call) (kernel.Presence, Outcome) {
	type answer struct {
		presence kernel.Presence
		outcome  Outcome
	}
	done := make(chan answer, 2) // neither sender waits; both send the same
	go func() {
		p, o := b.LookupInPlace(ctx, t, c, func(p kernel.Presence, o Outcome) { done <- answer{p, o} })
		done <- answer{p, o}
	}()
	a := <-done
	return a.presence, a.outcome
}

// LookupInPlace is Lookup for engines, as ExecuteInPlace is Execute: lost gets
// the answer of a lookup that is abandoned or that ends its goroutine.
func (b Border) LookupInPlace(ctx context.Context, t Binding, c Call, lost func(kernel.Presence, Outcome)) (kernel.Presence, Outcome) {
	l, ok := t.tool.(Lookuper)
	if !ok {
		return unknown("the tool cannot be asked for the effects of its calls")
	}
	q := &question{lookuper: l}
	// A question has no effect of its own: whatever becomes of it, it is a read.
	asked := Binding{tool: q, spec: t.spec, effect: kernel.Read}
	o := b.ExecuteInPlace(ctx, asked, c, func(o Outcome) { lost(unknown(complaintOf(o))) })
	switch {
	case o.Facts.Status != kernel.StatusOK:
		return unknown(complaintOf(o))
	case q.found.Presence == kernel.Absent:
		return kernel.Absent, Outcome{}
	}
	r := q.found.Result
	r.Disposition = kernel.Landed
	return kernel.Present, t.traits().succeed(r)
}

func unknown(why string) (kernel.Presence, Outcome) {
	return kernel.PresenceUnknown, Outcome{Warnings: []string{"lookup: " + why}}
}

// complaintOf is what the outcome of a failed question says.
func complaintOf(o Outcome) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(o.Text), &e) != nil || e.Message == "" {
		return o.Text
	}
	return e.Message
}

// question is a lookup in the form of a tool. It completes only when there is
// an answer that says something.
type question struct {
	lookuper Lookuper
	found    Found // once Run has returned without an error
}

// Spec is never asked: a binding has one.
func (q *question) Spec() Spec { return Spec{} }

func (q *question) Run(ctx context.Context, c Call) (Result, error) {
	found, err := q.lookuper.Lookup(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	contradicts := found.Result.Disposition != "" && found.Result.Disposition != kernel.Landed
	switch {
	case found.Presence == kernel.Absent, found.Presence == kernel.Present && !contradicts:
		q.found = found
		return Result{Text: string(found.Presence)}, nil
	case found.Presence == kernel.Present:
		return Result{}, &Error{Message: "the tool calls the effect present and not landed"}
	}
	return Result{}, &Error{Message: "the tool cannot tell"}
}

// Reconcilable is Func for a tool of the class reconcilable, whose effects
// lookup looks for: see Lookuper. What it finds present is told as what fn returns.
// The class need not be set in spec; any other there, and a missing lookup, are
// CONFIGURATION.
func Reconcilable[In, Out any](
	spec Spec,
	fn func(ctx context.Context, c Call, in In) (Out, error),
	lookup func(ctx context.Context, c Call, in In) (kernel.Presence, Out, error),
) (Tool, error) {
	switch {
	case spec.Effect != "" && spec.Effect != kernel.Reconcilable:
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "tool " + showName(spec.Name) + ": the effect class must be reconcilable"}
	case lookup == nil:
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "tool " + showName(spec.Name) + ": the lookup is missing"}
	}
	spec.Effect = kernel.Reconcilable
	t, err := Func(spec, fn)
	if err != nil {
		return nil, err
	}
	return &reconcilable[In, Out]{Tool: t, lookup: lookup}, nil
}

type reconcilable[In, Out any] struct {
	Tool
	lookup func(context.Context, Call, In) (kernel.Presence, Out, error)
}

func (t *reconcilable[In, Out]) Lookup(ctx context.Context, c Call) (Found, error) {
	var in In
	if err := decodeStrictly(c.Arguments, &in); err != nil {
		return Found{}, err // an older form of the tool may have run it
	}
	presence, out, err := t.lookup(ctx, c, in)
	if err != nil || presence != kernel.Present {
		return Found{Presence: presence}, err
	}
	if r, ok := any(out).(Result); ok {
		return Found{Presence: presence, Result: r}, nil
	}
	return Found{Presence: presence, Result: completed(out)}, nil
}
