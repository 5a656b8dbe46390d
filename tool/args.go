package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// Bounds of a number. One beyond them has no use as an argument and would cost
// the exact arithmetic of the validator dearly.
const (
	maxDigits   = 512 // bytes
	maxExponent = 400 // beyond the range of a double
)

var errNumber = errors.New("not usable: a number is out of range")

// parseObject decodes what kernel.CheckArguments accepts, every number a
// json.Number with its digits as they came. The errors complete "the arguments
// are …" and may be shown.
func parseObject(data []byte) (map[string]any, error) {
	if err := kernel.CheckArguments(string(data)); err != nil {
		return nil, noObject(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, noObject(err)
	}
	if !plausible(m) {
		return nil, errNumber
	}
	return m, nil
}

func noObject(err error) error { return fmt.Errorf("not one JSON object: %w", err) }

// plausible reports whether every number stays within maxDigits and
// maxExponent. The depth of v is bounded.
func plausible(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return plausibleNumber(string(v))
	case map[string]any:
		for _, member := range v {
			if !plausible(member) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !plausible(item) {
				return false
			}
		}
	}
	return true
}

func plausibleNumber(n string) bool {
	if len(n) > maxDigits {
		return false
	}
	i := strings.IndexAny(n, "eE")
	if i < 0 {
		return true
	}
	exp, err := strconv.Atoi(n[i+1:])
	return err == nil && -maxExponent <= exp && exp <= maxExponent
}
