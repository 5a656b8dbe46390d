package desk

import (
	"cmp"

	"github.com/holdfast-run/holdfast/kernel"
)

// CodeOK is the code of a call that came to what it was made for.
const CodeOK = "OK"

// CallCode returns the id of the call that an event of a run decides or ends, and
// its code: CodeOK, DENIED, or why it was refused or failed. Any other event, and a
// decision after which the call may still run, is of no call: false.
func CallCode(e kernel.Event) (call, code string, ok bool) {
	switch e := e.(type) {
	case kernel.CallDecided:
		switch e.Answer {
		case kernel.Invalid:
			return e.Call, string(e.Code), true
		case kernel.Deny:
			return e.Call, "DENIED", true
		}
	case kernel.CallReturned:
		if e.Result.Status == kernel.StatusOK {
			return e.Call, CodeOK, true
		}
		return e.Call, cmp.Or(string(e.Result.Code), string(e.Result.Status)), true
	}
	return "", "", false
}
