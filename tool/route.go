package tool

import (
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// Ambiguous says that several tools fit a goal equally well: somebody has to
// choose.
type Ambiguous struct {
	Candidates []string // names, in order
}

// Error names the candidates.
func (e *Ambiguous) Error() string {
	return "ambiguous: several tools fit equally well: " + listNames(e.Candidates)
}

// Route selects the one tool that has every required capability and the fewest
// others, and returns a Set that holds it alone. Several such tools are
// *Ambiguous and none is NOT_FOUND. A blank goal, or no or a blank required
// capability, is INVALID_ARGUMENT.
func (s *Set) Route(goal string, required []string) (*Set, error) {
	switch {
	case blank(goal):
		return nil, invalidRoute("goal is required")
	case len(required) == 0 || slices.ContainsFunc(required, blank):
		return nil, invalidRoute("required capabilities must be named")
	}
	var best []string
	fewest := maxCapabilities + 1
	for _, name := range s.Names() {
		surplus, covers := surplusOf(s.tools[name].spec.Capabilities, required)
		switch {
		case !covers || surplus > fewest:
		case surplus == fewest:
			best = append(best, name)
		default:
			best, fewest = []string{name}, surplus
		}
	}
	switch len(best) {
	case 0:
		return nil, &kernel.Error{
			Code:    kernel.CodeNotFound,
			Message: "no tool has " + listNames(required),
			Hint:    "Require fewer capabilities, or add a tool that has them all.",
		}
	case 1:
		return freeze(map[string]*member{best[0]: s.tools[best[0]]}), nil
	}
	return nil, &Ambiguous{Candidates: best}
}

func invalidRoute(msg string) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: msg}
}

// surplusOf counts the distinct capabilities beyond the required ones, and
// reports whether those are all there.
func surplusOf(have, required []string) (surplus int, covers bool) {
	for _, r := range required {
		if !slices.Contains(have, r) {
			return 0, false
		}
	}
	for i, c := range have {
		if !slices.Contains(required, c) && !slices.Contains(have[:i], c) {
			surplus++
		}
	}
	return surplus, true
}
