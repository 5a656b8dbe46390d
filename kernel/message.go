package kernel

// Role says who a message of the canonical history comes from.
type Role string

// The roles. Instructions are no message: they belong to the request.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // exactly one result block
)

// BlockKind says what a block of a message is.
type BlockKind string

// The kinds of block. A decoder that meets anything else reports it as
// "other:NAME", which admission refuses.
const (
	BlockText     BlockKind = "text"
	BlockCall     BlockKind = "call"
	BlockResult   BlockKind = "result"
	BlockThinking BlockKind = "thinking"          // signed reasoning, replayed verbatim
	BlockRedacted BlockKind = "redacted_thinking" // encrypted reasoning, replayed verbatim
	BlockReason   BlockKind = "reasoning"         // unsigned reasoning (reasoning_content)
)

// Message is one entry of the canonical history in neutral form. It belongs to
// no wire. A Message that was committed is never changed; share it freely.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// Block is one part of a message. Which fields count depends on Kind.
type Block struct {
	Kind    BlockKind `json:"kind"`
	Text    string    `json:"text,omitempty"`     // text; result: what the model is told
	Call    *Call     `json:"call,omitempty"`     // call
	CallID  string    `json:"call_id,omitempty"`  // result: the call it answers
	IsError bool      `json:"is_error,omitempty"` // result
	Private *Private  `json:"private,omitempty"`  // thinking, redacted_thinking, reasoning
}

// Private is a provider's own reasoning, kept verbatim for that provider
// alone. It is never shown, logged, traced or sent to another provider.
type Private struct {
	Provider string `json:"provider"`
	Data     []byte `json:"data"` // the wire's bytes
	// Signed says that the provider signed it: thinking without a signature is
	// not admitted.
	Signed bool `json:"signed,omitempty"`
}

// String hides the content, so that no %v prints it.
func (Private) String() string { return "[private]" }

// GoString hides the content from %#v.
func (Private) GoString() string { return "kernel.Private{…}" }

// Call is a tool call that a model asked for. Arguments is the text as it
// arrived: nothing is trusted before admission.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Usage counts tokens. Input includes the cached ones: Input = plain +
// CacheRead + CacheWrite. The zero value means that nothing was used.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}
