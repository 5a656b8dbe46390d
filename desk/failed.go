package desk

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/verify"
)

// asked is one call of a run, and whether it came to anything.
type asked struct {
	seq       int64
	tool      string
	arguments json.RawMessage
	failed    bool
	code      kernel.Code
}

// leftFailed are the calls that failed and were not made good, whether they ran
// or were refused before that.
func leftFailed(f *verify.Facts) (left []asked) {
	for _, c := range inOrder(f) {
		left = slices.DeleteFunc(left, func(before asked) bool { return c.repeats(&before) || !c.failed && c.corrects(&before) })
		if c.failed {
			left = append(left, c)
		}
	}
	return left
}

func inOrder(f *verify.Facts) []asked {
	all := make([]asked, 0, len(f.Results)+len(f.NoResults))
	for i := range f.Results {
		r := &f.Results[i]
		all = append(all, asked{r.Seq, r.Tool, canonical(r.Arguments), r.IsError, r.Code})
	}
	for i := range f.NoResults {
		r := &f.NoResults[i]
		all = append(all, asked{r.Seq, r.Tool, canonical(r.Arguments), r.IsError, r.Code})
	}
	slices.SortStableFunc(all, func(a, b asked) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

// canonical writes arguments in one way.
func canonical(arguments json.RawMessage) json.RawMessage {
	var value any
	if json.Unmarshal(arguments, &value) != nil {
		return arguments
	}
	b, err := json.Marshal(value)
	if err != nil { // cannot happen: it was just read
		return arguments
	}
	return b
}

// repeats reports whether c asks for the same once more: what it comes to counts.
func (c *asked) repeats(before *asked) bool {
	return c.tool == before.tool && string(c.arguments) == string(before.arguments)
}

// corrects reports whether c, which went well, is what an earlier call meant
// that was refused for its arguments. A call about another ticket is not: the
// first one is still to be read.
func (c *asked) corrects(before *asked) bool {
	if c.tool != before.tool || before.code != kernel.CodeInvalidArgument {
		return false
	}
	was := before.ticket()
	return was == "" || was == c.ticket()
}

func (c *asked) ticket() string {
	var args getTicket
	_ = json.Unmarshal(c.arguments, &args) // what is no text names no ticket
	return args.ID
}
