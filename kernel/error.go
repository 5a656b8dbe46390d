package kernel

import "errors"

// Code names a kind of failure. Callers decide on codes, never on texts.
type Code string

// The codes that errors of this module carry. A stop is not an error: see Stop.
const (
	CodeConfiguration   Code = "CONFIGURATION"    // a setting is missing, unknown or out of range
	CodeInvalidArgument Code = "INVALID_ARGUMENT" // a caller's or a model's argument is not acceptable
	CodeUnknownTool     Code = "UNKNOWN_TOOL"     // no tool of that name in the request's snapshot
	CodeNotFound        Code = "NOT_FOUND"        // absent, or not visible to this identity
	CodeConflict        Code = "CONFLICT"         // someone else wrote first
	CodeUnexpectedEvent Code = "UNEXPECTED_EVENT" // the state does not allow the event
	CodeDuplicateReport Code = "DUPLICATE_REPORT" // the command was already reported, or superseded
	CodeInvalidEvent    Code = "INVALID_EVENT"    // the event contradicts itself
	CodeRunStopped      Code = "RUN_STOPPED"      // nothing follows a stop
	CodeVersion         Code = "VERSION"          // written by a newer version
	CodeLocalStorage    Code = "LOCAL_STORAGE"    // the journal cannot be read or written
	CodeLeaseLost       Code = "LEASE_LOST"       // another process drives the run now
	CodeEffectRefused   Code = "EFFECT_REFUSED"   // the ledger does not give the claim
	CodeForbidden       Code = "FORBIDDEN"        // this identity may not decide it
	CodeAlreadyDecided  Code = "ALREADY_DECIDED"  // someone decided first
	CodeStaleApproval   Code = "STALE_APPROVAL"   // the hash is not of what is to be approved
	CodeExpired         Code = "EXPIRED"          // the time to decide is over
	CodeCancelled       Code = "CANCELLED"        // interrupted by its caller
	CodeInternal        Code = "INTERNAL"         // a fault of this program
)

// Error is the module's one error type. Message is safe to show to a user: it
// holds no secret, no header and no body of a remote answer. Hint says what to
// do about it and may be empty. The zero value is not a useful error.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Err     error  `json:"-"` // cause, for operators' logs; may be nil
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first *Error in err's chain, and "" when
// there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
