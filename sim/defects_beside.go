package sim

import (
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

// besideDefects are about notices, observers and summaries.
func besideDefects() []defect {
	found := map[string]bool{} // runs in which an observer found fault
	return []defect{
		{
			Defect: named("notice let go before the reply", "a notice waits until the reply to its request is recorded", "notices"),
			appends: passEntry(func(_ *handle, e *journal.Entry) {
				for i := range e.Records {
					event, err := kernel.DecodeEvent(e.Records[i].Payload)
					if prepared, ok := event.(kernel.ContextPrepared); err == nil && ok {
						e.Seen = append(e.Seen[:len(e.Seen):len(e.Seen)], prepared.Attached...)
					}
				}
			}),
		},
		{
			Defect:  named("notice never let go", "a notice is let go of in the transaction of its reply", "notices"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Seen = nil }),
		},
		{
			Defect:  named("observer's word counts", "I11: observers change nothing", "results"),
			grumble: func(run string) { found[run] = true },
			runs: func(c tool.Call, run func(tool.Call) (tool.Result, error)) (tool.Result, error) {
				result, err := run(c)
				if found[c.Run] {
					result.Text = "an observer found fault"
				}
				return result, err
			},
		},
		{
			Defect: named("summary not charged", "I14: a summary counts as any reply", "I14"),
			sums:   func(r *model.Reply) { r.Usage = &kernel.Usage{} },
		},
	}
}
