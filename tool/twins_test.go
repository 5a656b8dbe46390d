package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// other is a tool of another program, whose schema is open.
type other struct{ foreign string }

func (o other) Spec() tool.Spec {
	return tool.Spec{
		Name: "pay", Description: "Pays.", Effect: kernel.Once, Foreign: json.RawMessage(o.foreign),
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"Size":{"type":"integer"},"size":{"type":"integer"}}}`),
	}
}

func (other) Run(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }

// A rule that lets {"path":"ok"} through sees nothing of "Path", which a program
// that does not tell them apart would act on.
func TestCheckRefusesTwins(t *testing.T) {
	open := `{"type":"object","properties":{"path":{"type":"string"},"Size":{"type":"integer"},"size":{"type":"integer"}}}`
	set, err := tool.NewSet(other{open})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"path":"ok"}`:                 "",
		`{"Path":"evil"}`:               "", // no rule takes it for path
		`{"path":"ok","Path":"evil"}`:   "Path, which is path in another spelling",
		`{"PATH":"evil","path":"ok"}`:   "PATH, which is path in another spelling",
		`{"path":"ok","\u0050ath":"e"}`: "Path, which is path in another spelling",
	} {
		if err := set.Check("pay", []byte(args)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for args, want := range map[string]bool{
		`{"Size":1,"size":2}`:          true, // both are named
		`{"ſize":1,"size":2}`:          false,
		`{"other":1,"Other":2}`:        true, // nobody names either
		`{"path":"ok","paths":"many"}`: true,
	} {
		if err := set.Check("pay", []byte(args)); (err == nil) != want {
			t.Errorf("%s: %v", args, err)
		}
	}
}
