// Package multiply is a tool that multiplies two integers: the smallest whole
// example of a tool.
package multiply

import (
	"context"
	_ "embed"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Name is the tool's name.
const Name = "multiply"

//go:embed description.txt
var description string

//go:embed schema.json
var schema []byte

type factors struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

// New returns the tool multiply{a,b}: both integers from -1,000,000 to
// 1,000,000, nothing coerced, no other arguments.
func New() tool.Tool {
	t, err := tool.Func(tool.Spec{
		Name:         Name,
		Description:  description,
		Schema:       schema,
		Effect:       kernel.Read,
		Capabilities: []string{"calculate"},
		Limits:       tool.Limits{Timeout: time.Second},
	}, product)
	if err != nil {
		panic("multiply: " + err.Error()) // the specification is a constant
	}
	return t
}

// product cannot overflow: the schema keeps both factors within 10^6.
func product(_ context.Context, _ tool.Call, in factors) (int64, error) {
	return in.A * in.B, nil
}
