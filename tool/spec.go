package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// Bounds of a description of a tool.
const (
	maxName         = 64      // characters
	maxDescription  = 8 << 10 // bytes
	maxSchema       = 64 << 10
	maxCapabilities = 32
	maxTimeout      = 24 * time.Hour
	minResult       = 256
	maxResult       = 4 << 20
	maxAttempts     = 10
	maxWindow       = 30 * 24 * time.Hour
)

// Defaults of Limits.
const (
	defaultTimeout   = 30 * time.Second
	defaultMaxResult = 16 << 10
)

// register judges a tool's description and returns it as it holds in a set:
// defaults filled in, schema compact, nothing shared with the tool.
func register(spec Spec) (Spec, *schema, error) {
	refuse := func(err error) (Spec, *schema, error) {
		return Spec{}, nil, &kernel.Error{
			Code:    kernel.CodeConfiguration,
			Message: fmt.Sprintf("tool %s: %s", showName(spec.Name), oneLine(err.Error())),
			Err:     err,
		}
	}
	if err := errors.Join(checkWords(spec), checkGuards(spec), checkLimits(spec.Limits)); err != nil {
		return refuse(err)
	}
	compiled, err := schemaOf(spec)
	if err != nil {
		return refuse(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, spec.Schema); err != nil {
		return refuse(err)
	}
	spec.Schema = compact.Bytes()
	spec.Capabilities = slices.Clone(spec.Capabilities)
	if spec.Effect == "" {
		spec.Effect = kernel.Once
	}
	if spec.Risk == "" {
		spec.Risk = kernel.RiskOf(spec.Effect)
	}
	spec.Limits = spec.Limits.withDefaults()
	return spec, compiled, nil
}

func schemaOf(s Spec) (*schema, error) {
	if s.Foreign != nil {
		return compileForeign(s.Schema, s.Foreign)
	}
	return compileSchema(s.Schema)
}

// checkWords judges everything but the schema and the limits.
func checkWords(s Spec) error {
	switch {
	case !legalName(s.Name):
		return errors.New("the name must be 1–64 of a–z, A–Z, 0–9, _ and -")
	case strings.TrimSpace(s.Description) == "" || !utf8.ValidString(s.Description):
		return errors.New("the description must be text")
	case len(s.Description) > maxDescription:
		return fmt.Errorf("the description is over %d bytes", maxDescription)
	case len(s.Schema) == 0:
		return errors.New("the schema is missing")
	case len(s.Schema) > maxSchema || len(s.Foreign) > maxSchema:
		return fmt.Errorf("the schema is over %d bytes", maxSchema)
	case s.Effect != "" && !knownEffect(s.Effect):
		return errors.New("the effect class must be read, idempotent, reconcilable or once")
	case s.Risk != "" && !knownRisk(s.Risk):
		return errors.New("the risk must be low, medium or high")
	case len(s.Capabilities) > maxCapabilities:
		return fmt.Errorf("there are over %d capabilities", maxCapabilities)
	case slices.ContainsFunc(s.Capabilities, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return errors.New("a capability is blank")
	}
	return nil
}

// checkGuards judges what keeps effects from being repeated.
func checkGuards(s Spec) error {
	switch {
	case s.RepeatWindow < 0 || s.RepeatWindow > maxWindow:
		return errors.New("the repeat window must be positive and at most 720h")
	case s.Effect == kernel.Read && (s.RepeatWindow > 0 || s.Exclusive):
		return errors.New("a tool of the class read has no effect, so it has no repeat window and is not exclusive")
	}
	return nil
}

func checkLimits(l Limits) error {
	switch {
	case l.Timeout < 0 || l.Timeout > maxTimeout:
		return errors.New("the timeout must be positive and at most 24h")
	case l.MaxResult != 0 && (l.MaxResult < minResult || l.MaxResult > maxResult):
		return fmt.Errorf("the result size must be from %d to %d bytes", minResult, maxResult)
	case l.Attempts < 0 || l.Attempts > maxAttempts:
		return fmt.Errorf("the attempts must be from 1 to %d", maxAttempts)
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	if l.Timeout == 0 {
		l.Timeout = defaultTimeout
	}
	if l.MaxResult == 0 {
		l.MaxResult = defaultMaxResult
	}
	if l.Attempts == 0 {
		l.Attempts = 1
	}
	return l
}

func legalName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		default:
			return false
		}
	}
	return true
}

func knownEffect(e kernel.EffectClass) bool {
	switch e {
	case kernel.Read, kernel.Idempotent, kernel.Reconcilable, kernel.Once:
		return true
	}
	return false
}

func knownRisk(r kernel.Risk) bool {
	return r == kernel.RiskLow || r == kernel.RiskMedium || r == kernel.RiskHigh
}

// oneLine joins the lines of an error that may have several.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
