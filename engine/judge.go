package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/verify"
)

// verifyTimeout bounds a verifier.
const verifyTimeout = 30 * time.Second

// verify asks the verifier. What goes wrong concludes nothing.
func (x *Execution) verify(c kernel.Verify) Task {
	facts := stored{x.facts()}
	unchecked := func(why string) kernel.Event {
		return kernel.Verified{At: x.at(), Cmd: c.Cmd, Verdict: kernel.Unchecked, Warning: why + ", so nothing was concluded"}
	}
	return TaskFunc(func(ctx context.Context, instead Report) (kernel.Event, Content) {
		ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
		defer cancel()
		var v verify.Verdict
		err := x.foreign(ctx, "the verifier", func() { instead(unchecked("the verifier did not return"), Content{}) }, func() (err error) {
			v, err = x.agent.Verifier.Verify(ctx, facts.Facts)
			return err
		})
		if err != nil {
			x.Log.Warn("verifier failed", "run", x.Run, "error", err)
			return unchecked("the verifier failed"), Content{}
		}
		if err := facts.supports(v); err != nil {
			return unchecked(err.Error()), Content{}
		}
		e := kernel.Verified{At: x.at(), Cmd: c.Cmd, Verdict: kernel.VerdictNot, Finding: kernel.Clip(v.Finding, maxWords), Evidence: slices.Clone(v.Evidence)}
		if v.Verified {
			e.Verdict = kernel.VerdictTrue
		}
		return e, Content{}
	})
}

// stored are the facts that a verifier may look at.
type stored struct{ verify.Facts }

// supports reports why a verdict does not count: every fact that it cites must
// be stored, and true must cite one.
func (f stored) supports(v verify.Verdict) error {
	switch {
	case v.Verified && len(v.Evidence) == 0:
		return errors.New("the verifier named no evidence")
	case len(v.Evidence) > len(f.Results)+len(f.NoResults)+1:
		return errors.New("the verifier named more evidence than is stored")
	}
	for _, id := range v.Evidence {
		known := id != "" && id == f.AnswerEvidence ||
			slices.ContainsFunc(f.Results, func(r verify.Result) bool { return r.Evidence == id }) ||
			slices.ContainsFunc(f.NoResults, func(r verify.NoResult) bool { return r.Evidence == id })
		if !known {
			return errors.New("the verifier named evidence that is not stored")
		}
	}
	return nil
}
