package sim

import (
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

// toolDefects are about running tools.
func toolDefects() []defect {
	return []defect{
		{
			Defect: named("retry wraps tool", "I8: nothing re-enters a tool but the kernel's own retry", "I6"),
			runs: func(c tool.Call, run func(tool.Call) (tool.Result, error)) (tool.Result, error) {
				result, err := run(c)
				if err != nil {
					return run(c)
				}
				return result, err
			},
		},
		{
			Defect: named("new key at each attempt", "I6: an idempotent effect is run again under the same key", "I6"),
			runs: func(c tool.Call, run func(tool.Call) (tool.Result, error)) (tool.Result, error) {
				if c.Attempt > 1 {
					c.Key += " again"
				}
				return run(c)
			},
		},
	}
}

// lookupDefects are about asking tools for their effects.
func lookupDefects() []defect {
	instead := func(of, answer kernel.Presence) func(tool.Found) tool.Found {
		return func(f tool.Found) tool.Found {
			if f.Presence == of {
				f = tool.Found{Presence: answer, Result: tool.Result{Text: "made up"}}
			}
			return f
		}
	}
	return []defect{
		{
			Defect: named("absent taken for present", "a lookup's answer decides: present is adopted", "ledger"),
			looks:  instead(kernel.Absent, kernel.Present),
		},
		{
			Defect: named("present taken for absent", "a lookup's answer decides: absent is run", "ledger"),
			looks:  instead(kernel.Present, kernel.Absent),
		},
		{
			Defect: named("unknown taken for absent", "an effect of which nobody can tell is not run again", "I6"),
			looks:  instead(kernel.PresenceUnknown, kernel.Absent),
		},
	}
}

// modelDefects are about what a model says.
func modelDefects() []defect {
	return []defect{
		{
			Defect: named("usage counted twice", "I14: usage is what providers reported", "reference"),
			replies: func(r *model.Reply) {
				if r.Usage != nil {
					r.Usage = &kernel.Usage{Input: 2 * r.Usage.Input, Output: 2 * r.Usage.Output}
				}
			},
		},
		{
			Defect: named("cut reply admitted", "I1: nothing of a reply runs unless all of it was admitted", "I1"),
			replies: func(r *model.Reply) {
				if r.Stop == kernel.StopLength {
					r.Stop = kernel.StopCalls
				}
			},
		},
	}
}
