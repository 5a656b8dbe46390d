package stub

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// Sign is the signature of a piece of thinking that was given none. Like the
// real endpoint's it proves by itself that the text is unchanged, after a
// restart too.
func Sign(text string) string {
	sum := sha256.Sum256([]byte("stub thinking\x00" + text))
	return "sig_" + hex.EncodeToString(sum[:12])
}

func (t Thinking) signature() string {
	if t.Signature != "" {
		return t.Signature
	}
	return Sign(t.Text)
}

// memory is what the stub issued and wants back unchanged. Calls are told
// apart by their ids alone: of two replies with one id the later one counts.
type memory struct {
	mu        sync.Mutex
	signed    map[string]string     // signature → text
	redacted  map[string]bool       // data
	thinking  map[string][]Thinking // call id → the blocks before it
	reasoning map[string]string     // call id → reasoning_content
}

func newMemory() *memory {
	return &memory{
		signed: map[string]string{}, redacted: map[string]bool{},
		thinking: map[string][]Thinking{}, reasoning: map[string]string{},
	}
}

// issue remembers a reply that is about to go out on wire w.
func (m *memory) issue(w Wire, r *Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	blocks := slices.Clone(r.Thinking)
	for i, t := range blocks {
		if t.Redacted != "" {
			m.redacted[t.Redacted] = true
			blocks[i] = Thinking{Redacted: t.Redacted}
			continue
		}
		blocks[i].Signature = t.signature()
		m.signed[blocks[i].Signature] = t.Text
	}
	for _, c := range r.Calls {
		if w == OpenAI {
			m.reasoning[c.ID] = r.reasoning()
			continue
		}
		m.thinking[c.ID] = blocks
	}
}

// authentic reports whether this stub made the block as it is.
func (m *memory) authentic(t Thinking) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Redacted != "" {
		return m.redacted[t.Redacted]
	}
	if text, ok := m.signed[t.Signature]; ok {
		return text == t.Text
	}
	return t.Signature == Sign(t.Text)
}

// before returns the thinking that must precede the call of that id; known is
// false when this stub did not issue the call.
func (m *memory) before(call string) (blocks []Thinking, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	blocks, known = m.thinking[call]
	return blocks, known
}

// reason returns the reasoning_content of the reply that held that call; known
// as in before.
func (m *memory) reason(call string) (text string, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, known = m.reasoning[call]
	return text, known
}
