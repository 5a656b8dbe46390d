package kernel

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of admission.
const (
	maxBlocks   = 32
	maxIDChars  = 200
	maxNameSize = 64
)

// ruling is what admission makes of a whole reply.
type ruling struct {
	kind   rulingKind
	detail string
	batch  []CallState
	ids    index[struct{}]
}

type rulingKind int

const (
	rulingFault     rulingKind = iota // contradicts its wire or itself
	rulingTruncated                   // cut by the output limit
	rulingWindow                      // cut by the model's window
	rulingFiltered
	rulingRefused
	rulingAnswer
	rulingCalls
)

// admit judges a whole reply before anything of it takes effect. Faults of a
// single call do not reject the reply: the call is answered with what is wrong,
// so that the model can correct itself.
func admit(r *ReplyFacts, turn int, profile Profile, ids index[struct{}]) ruling {
	if r.Fault != "" {
		return ruling{detail: Clip(r.Fault, 200)}
	}
	switch r.Stop {
	case StopLength:
		return ruling{kind: rulingTruncated}
	case StopWindow:
		return ruling{kind: rulingWindow}
	case StopFilter:
		return ruling{kind: rulingFiltered}
	case StopRefusal:
		return ruling{kind: rulingRefused}
	}
	text, fault := admitBlocks(r)
	if fault == "" {
		fault = stopFault(r.Stop, profile, len(r.Calls) > 0, text)
	}
	if fault != "" {
		return ruling{detail: fault}
	}
	if len(r.Calls) == 0 {
		return ruling{kind: rulingAnswer}
	}
	return admitCalls(r.Calls, turn, profile, ids)
}

// validate refuses what could not be journaled as it is, and would then replay
// as something else.
func (r *ReplyFacts) validate() error {
	for i := range r.Calls {
		c := &r.Calls[i]
		if err := validText(c.ID, c.Name, c.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// admitBlocks checks the structure, and reports whether there is visible text.
func admitBlocks(r *ReplyFacts) (text bool, fault string) {
	if n := len(r.Blocks); n < 1 || n > maxBlocks {
		return false, fmt.Sprintf("%d blocks; from 1 to %d are allowed", n, maxBlocks)
	}
	calls := 0
	for _, b := range r.Blocks {
		switch b.Kind {
		case BlockText:
			text = text || !b.Blank
		case BlockCall:
			calls++
		case BlockThinking:
			if !b.Signed {
				return false, "thinking without a signature"
			}
		case BlockRedacted, BlockReason:
		default:
			return false, fmt.Sprintf("a block of kind %.40q", Clip(strings.TrimPrefix(string(b.Kind), "other:"), 200))
		}
	}
	if calls != len(r.Calls) {
		return false, fmt.Sprintf("%d call blocks but %d calls", calls, len(r.Calls))
	}
	return text, ""
}

// stopFault checks that the stop reason agrees with what was said. Length,
// filter and refusal were dealt with before.
func stopFault(stop StopReason, profile Profile, calls, text bool) string {
	tolerant := profile == Tolerant
	name := orElse(Clip(strings.TrimPrefix(string(stop), "other:"), 40), "absent")
	switch {
	case calls && (stop == StopCalls || tolerant):
		return ""
	case calls:
		return fmt.Sprintf("calls with stop reason %q", name)
	case stop == StopCalls:
		return "the stop reason announces calls, but there are none"
	case stop != StopEnd && (stop != StopAbsent || !tolerant):
		return "unsupported_response:" + name
	case !text:
		return "an answer without text"
	}
	return ""
}

// admitCalls makes the batch. Where arguments end too early, the whole reply
// was cut, whatever its stop reason says: nothing of it runs.
func admitCalls(calls []Call, turn int, profile Profile, ids index[struct{}]) ruling {
	batch := make([]CallState, len(calls))
	cut := 0 // which call's arguments end early, from 1; 0: none
	for i, c := range calls {
		id, key, fault := admitID(c.ID, turn, i, profile, ids)
		if fault != "" {
			return ruling{detail: fault}
		}
		ids = ids.put(key, struct{}{})
		var early bool
		if batch[i], early = admitCall(Call{ID: id, Name: c.Name, Arguments: c.Arguments}); early {
			cut = i + 1
		}
	}
	if cut > 0 {
		for i := range batch { // without the id: the same again has to read the same, to count as a repeat
			batch[i].Code = CodeInvalidArgument
			answer(&batch[i], LinkAdmission, fmt.Sprintf(
				"Not run: the reply was cut off (the arguments of call %d of %d end early), so none of its calls ran. Send the calls again, with less text in them.", cut, len(batch)))
		}
	}
	return ruling{kind: rulingCalls, batch: batch, ids: ids}
}

// admitID returns the id under which the run knows a call, and the id's key: the
// provider's own, or a minted one where a tolerant profile forgives what is
// wrong with it.
func admitID(id string, turn, i int, profile Profile, ids index[struct{}]) (admitted string, key key128, fault string) {
	key = digest128(id)
	switch {
	case strings.TrimSpace(id) == "":
		fault = "a tool call without an id"
	case utf8.RuneCountInString(id) > maxIDChars:
		fault = fmt.Sprintf("a tool call id of more than %d characters", maxIDChars)
	case !printable(id):
		fault = "a tool call id with unprintable characters"
	case ids.has(key):
		fault = fmt.Sprintf("tool call id %.40q was used before in this run", id)
	}
	if fault == "" || profile != Tolerant {
		return id, key, fault
	}
	for n := i + 1; ; n++ {
		id = fmt.Sprintf("call_%d_%d", turn, n)
		if key = digest128(id); !ids.has(key) {
			return id, key, ""
		}
	}
}

// admitCall checks one call; what is wrong with it becomes its answer. In the
// history its arguments are always one JSON object. It reports whether they
// end too early.
func admitCall(c Call) (s CallState, early bool) {
	action, err := canonicalDigest(c.Name, c.Arguments)
	s = CallState{Call: c, Stage: StageDeciding, Action: key128(action[:16])}
	switch {
	case err != nil:
		s.Call.Arguments, s.Code = "{}", CodeInvalidArgument
		answer(&s, LinkAdmission, fmt.Sprintf("Not run: the arguments are not one JSON object: %v.", err))
	case strings.TrimSpace(c.Arguments) == "":
		s.Call.Arguments = "{}"
	}
	if !legalName(c.Name) {
		s.Call.Name, s.Code = safeName(c.Name), CodeUnknownTool
		answer(&s, LinkAdmission, fmt.Sprintf("Not run: there is no tool %.80q.", c.Name))
	}
	return s, isTruncated(err)
}

func answer(s *CallState, bad Link, text string) {
	s.Stage = StageAnswered
	s.Bad = bad
	s.Text = text
}

func isTruncated(err error) bool {
	if err == nil {
		return false
	}
	var e *argumentError
	return errors.As(err, &e) && e.truncated
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// legalName reports whether every wire accepts the name in a history.
func legalName(s string) bool {
	return s != "" && len(s) <= maxNameSize && !strings.ContainsFunc(s, illegalInName)
}

func illegalInName(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && r != '_' && r != '-'
}

// safeName is what a history shows in place of an illegal name.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		if illegalInName(r) {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return "unnamed"
	}
	return s[:min(len(s), maxNameSize)]
}
