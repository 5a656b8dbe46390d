package desk

import "github.com/holdfast-run/holdfast/kernel"

// The codes that the desk adds to the kernel's.
const (
	CodeUnknownUser       kernel.Code = "UNKNOWN_USER"       // no such person among the fixtures
	CodeStaleConfirmation kernel.Code = "STALE_CONFIRMATION" // what was confirmed is not what the draft says now
	CodeDraftExpired      kernel.Code = "DRAFT_EXPIRED"      // its time to be confirmed is over
	CodeNotInitialized    kernel.Code = "NOT_INITIALIZED"    // there is no desk in the file yet
	CodeEmbeddingFailed   kernel.Code = "EMBEDDING_FAILED"   // an embedder failed, or returned no usable vectors
)

// NotFound is the answer to a request for what is not there, and for what
// somebody else owns. kind is ticket, draft or policy.
func NotFound(kind string) error {
	return &kernel.Error{
		Code: kernel.CodeNotFound, Message: "there is no such " + kind + ", or it is not yours",
		Hint: "check the id; somebody else's " + kind + " looks the same as none",
	}
}
