package desk_test

import (
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Row 91: a call is told of with the same code wherever a trace is read.
func TestCallCode(t *testing.T) {
	failed := kernel.CallReturned{Call: "c"}
	failed.Result.Status, failed.Result.Code = kernel.StatusError, kernel.CodeNotFound
	fatal := kernel.CallReturned{Call: "c"}
	fatal.Result.Status = kernel.StatusFatal
	worked := kernel.CallReturned{Call: "c"}
	worked.Result.Status = kernel.StatusOK
	for name, tt := range map[string]struct {
		event kernel.Event
		code  string // empty: it is of no call
	}{
		"worked":   {worked, desk.CodeOK},
		"failed":   {failed, "NOT_FOUND"},
		"no code":  {fatal, string(kernel.StatusFatal)},
		"refused":  {kernel.CallDecided{Call: "c", Answer: kernel.Invalid, Code: kernel.CodeUnknownTool}, "UNKNOWN_TOOL"},
		"denied":   {kernel.CallDecided{Call: "c", Answer: kernel.Deny}, "DENIED"},
		"allowed":  {kernel.CallDecided{Call: "c", Answer: kernel.Allow}, ""},
		"a reply":  {kernel.ModelReplied{}, ""},
		"no event": {nil, ""},
	} {
		call, code, ok := desk.CallCode(tt.event)
		if code != tt.code || ok != (tt.code != "") || ok != (call == "c") {
			t.Errorf("%s: %q, %q, %v", name, call, code, ok)
		}
	}
}
