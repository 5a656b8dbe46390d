// Package memory is the tool propose_memory, with which a model may propose a
// text to be remembered. It keeps nothing itself and can confirm nothing: what
// it is given to keep proposals with stands behind an interface of one method.
package memory

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Name is the tool's name.
const Name = "propose_memory"

// The scopes that a proposal may have.
const (
	Project = "project"
	User    = "user"
)

// MaxText bounds a text, in bytes.
const MaxText = 4 << 10

//go:embed description.txt
var description string

// Proposal is what a model proposes. Everything but Scope and Text comes from
// the host.
type Proposal struct {
	Scope, Text  string
	Tenant, User string
	Run, Call    string
}

// Receipt says where a proposal is kept, and what it is: proposed or, where it
// was proposed before, what has become of it.
type Receipt struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// Proposer keeps proposals. Implementations are safe for concurrent use.
type Proposer interface {
	// Propose keeps a proposal that counts for nothing yet. The same scope, text,
	// tenant and user twice is one. An error with INVALID_ARGUMENT refuses it, and
	// nothing was kept.
	Propose(ctx context.Context, p Proposal) (Receipt, error)
}

// New returns the tool propose_memory{scope,text} for some of the scopes
// Project and User. Two calls of one identity with the same arguments have one
// key, and so one effect. Without a proposer or a scope, and with another
// scope, it is CONFIGURATION.
func New(p Proposer, scopes ...string) (tool.Tool, error) {
	known := func(s string) bool { return s == Project || s == User }
	if p == nil || len(scopes) == 0 || slices.ContainsFunc(scopes, func(s string) bool { return !known(s) }) {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "tool " + Name + ": it needs somebody who keeps proposals, and the scopes project or user"}
	}
	t := &propose{keep: p}
	made, err := tool.Func(tool.Spec{
		Name: Name, Description: strings.TrimSpace(description), Schema: schema(scopes),
		Effect: kernel.Idempotent, Capabilities: []string{"propose_memory"},
	}, t.run)
	if err != nil {
		return nil, err
	}
	t.Tool = made
	return t, nil
}

// schema is that of the arguments. Its length counts characters, and the bytes
// are checked by who keeps the text.
func schema(scopes []string) json.RawMessage {
	list, _ := json.Marshal(scopes) // cannot fail: strings
	return fmt.Appendf(nil, `{"type":"object","additionalProperties":false,"required":["scope","text"],"properties":{`+
		`"scope":{"type":"string","enum":%s},"text":{"type":"string","minLength":1,"maxLength":%d}}}`, list, MaxText)
}

type arguments struct {
	Scope string `json:"scope"`
	Text  string `json:"text"`
}

// propose is the tool. Beside what tool.Func gives it has a business key.
type propose struct {
	tool.Tool
	keep Proposer
}

var _ tool.Keyer = (*propose)(nil)

// Key is the same for the same proposal of one identity.
func (t *propose) Key(c tool.Call) (string, error) {
	var in arguments
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return "", err
	}
	b, err := json.Marshal([]string{c.Tenant, c.User, in.Scope, in.Text})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return "memory-" + hex.EncodeToString(sum[:]), nil
}

// proposed is what the model is told.
type proposed struct {
	Receipt
	Note string `json:"note"`
}

func (t *propose) run(ctx context.Context, c tool.Call, in arguments) (proposed, error) {
	r, err := t.keep.Propose(ctx, Proposal{Scope: in.Scope, Text: in.Text, Tenant: c.Tenant, User: c.User, Run: c.Run, Call: c.ID})
	if err != nil {
		return proposed{}, refused(err)
	}
	note := "kept as a proposal: it counts for nothing until a person confirms it, and it changes no rule and no permission"
	switch r.State {
	case "confirmed":
		note = "a person has confirmed it already"
	case "forgotten":
		note = "a person has forgotten it: it counts for nothing, and was not proposed again"
	}
	return proposed{r, note}, nil
}

// refused tells a refusal as one: nothing was kept. Any other failure leaves the
// effect in doubt, which is no harm: the same proposal again is the same one.
func refused(err error) error {
	if kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		return err
	}
	return &tool.Error{Code: kernel.CodeInvalidArgument, Message: message(err), Disposition: kernel.DidNotHappen, Err: err}
}

func message(err error) string {
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
