package engine

import "strings"

// A person who is asked about a call is told where its tool is described in another
// way than it was at first, and by which definition. What they are told is kept
// with the call, so that their yes counts for that definition and no other, also
// in another process.

const describedAnew = "the tool is described in another way than it was when the run first offered it (definition "

// anew says which definition stands there now.
func (e *entry) anew() string {
	return describedAnew + e.snap.tools.Definition(e.call.Call.Name)[:16] + ")"
}

// approvedAs is what a person was told whose yes to a call is not used yet. Empty:
// there is none.
func (x *Execution) approvedAs(call string) string {
	if c := x.callState(call); c.Approved {
		return c.Reason + " " // a question without a reason was one all the same
	}
	return ""
}

// outdated refuses a call that a person approved when its tool was described in
// another way.
func (e *entry) outdated() bool {
	told := strings.HasPrefix(e.asked, describedAnew)
	asShown := told == e.changed && (!told || strings.HasPrefix(e.asked, e.anew()))
	if e.asked == "" || asShown {
		return false
	}
	e.d = e.denied("another definition", "the tool is described in another way than when a person approved this call; ask for it again if it is still right")
	return true
}
