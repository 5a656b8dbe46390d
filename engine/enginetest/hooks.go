package enginetest

import (
	"context"

	"github.com/holdfast-run/holdfast/policy"
)

// hooks are one of each kind, which leave a line for each call that they see.
func (p part) hooks() policy.Hooks {
	return policy.Hooks{
		Before: []policy.BeforeHook{{Name: "gate", Tool: "*", Hook: watcher{checked, p}}},
		After:  []policy.AfterHook{{Name: "note", Tool: "*", Hook: watcher{seen, p}}},
	}
}

// watcher is a hook of either kind.
type watcher struct {
	name string
	part part
}

// Before has no objection.
func (w watcher) Before(_ context.Context, r policy.Request) (string, error) {
	return "", w.look(r.Call)
}

// After looks.
func (w watcher) After(_ context.Context, r policy.Request, _ policy.Answered) error {
	return w.look(r.Call)
}

func (w watcher) look(call string) error {
	dies := w.part.Call == w.name && call == charge
	if dies && !w.part.After {
		die()
	}
	err := happen(w.part.Dir, w.name, call)
	if dies {
		die()
	}
	return err
}
