//go:build linux || darwin

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Bounds of texts, in bytes.
const (
	maxDescription = 6 << 10 // a server's description of a tool
	maxAside       = 300     // why a tool is set aside
)

// remote is a tool of a server, as one definition describes it. It never
// changes.
type remote struct {
	server   *server
	original string // its name at the server
	hash     string
	spec     tool.Spec
	aside    string // why it cannot be offered; empty: it can
}

// newRemote judges a definition.
func newRemote(s *server, t *sdk.Tool) *remote {
	r := &remote{server: s, original: t.Name, hash: hashOf(t)}
	r.spec.Name = exposedName(s.name, t.Name)
	if err := r.define(t); err != nil {
		r.aside = err.Error()
	}
	return r
}

// hashOf is the hash of everything that a definition says.
func hashOf(t *sdk.Tool) string {
	var hints any
	if t.Annotations != nil {
		hints = t.Annotations
	}
	raw, err := rawJSON([]any{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, hints})
	if err != nil { // it came out of JSON
		raw = []byte(t.Name)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func (r *remote) define(t *sdk.Tool) error {
	c := r.server.config
	if strings.TrimSpace(t.Name) == "" || len(t.Name) > 200 {
		return plain("its name is empty or over 200 bytes")
	}
	if pin, pinned := c.Pin[t.Name]; pinned && !strings.EqualFold(strings.TrimPrefix(pin, "sha256:"), r.hash) {
		return plain("its definition is not the one that is pinned: it has the hash " + r.hash)
	}
	shown, checked, forms, err := schemas(t.InputSchema)
	if err != nil {
		return err
	}
	effect, risk := r.class(t.Annotations)
	limit := c.Timeout
	if r.server.source.config.Elicit != nil {
		limit += elicitWait
	}
	r.spec = tool.Spec{
		Name: r.spec.Name, Description: hide(describe(t, forms), r.server.secrets.keys), Schema: shown, Foreign: checked, Effect: effect, Risk: risk,
		// The call's own time comes first, and says more than the border would.
		Limits: tool.Limits{Timeout: limit + borderSlack, MaxResult: maxResult},
	}
	if _, err := tool.NewSet(r); err != nil {
		return plain(oneLine(reasonOf(err), maxAside))
	}
	return nil
}

// reasonOf is what an error says, without its code.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// class is the effect class and the tier of the tool's calls. What the server
// hints at makes them stricter, and never looser.
func (r *remote) class(hints *sdk.ToolAnnotations) (kernel.EffectClass, kernel.Risk) {
	effect, configured := r.server.config.Effects[r.original]
	if !configured {
		effect = kernel.Once
	}
	destructive := hints != nil && hints.DestructiveHint != nil && *hints.DestructiveHint && !hints.ReadOnlyHint
	if !destructive {
		return effect, kernel.RiskOf(effect)
	}
	if effect == kernel.Read {
		effect = kernel.Once
	}
	return effect, kernel.RiskHigh
}

// describe is what a model is told of the tool.
func describe(t *sdk.Tool, forms string) string {
	text := strings.TrimSpace(tool.Clean(t.Description))
	if text == "" {
		text = strings.TrimSpace(tool.Clean(t.Title))
	}
	if text == "" {
		text = "The tool " + strings.TrimSpace(tool.Clean(t.Name)) + ", which its server does not describe."
	}
	text, _ = tool.Bound(text, maxDescription)
	if forms != "" {
		forms, _ = tool.Bound(tool.Clean(forms), 1<<10)
		text += "\n\n" + forms
	}
	return text
}

// label names the tool for people.
func (r *remote) label() string {
	return fmt.Sprintf("mcp tool %s of %s", shortName(r.original), r.server.name)
}

func shortName(name string) string {
	name = strings.Join(strings.Fields(tool.Clean(name)), " ")
	name, _ = tool.Bound(name, 120)
	return name
}

// Spec describes the tool.
func (r *remote) Spec() tool.Spec { return r.spec }
