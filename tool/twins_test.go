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

// The same holds for what lies deeper, where a server's program would be as
// careless; maps of names that the schema leaves open stay open.
func TestCheckRefusesTwinsInside(t *testing.T) {
	set, err := tool.NewSet(other{`{"type":"object","properties":{
		"file":{"type":"object","properties":{"path":{"type":"string"}}},
		"moves":{"type":"array","items":{"$ref":"#/$defs/move"}},
		"labels":{"type":"object"}},
		"$defs":{"move":{"type":"object","properties":{"target":{"type":"string"},"Target":{"type":"string"},"unit":{"type":"object","properties":{"id":{"type":"string"}}}}}}}`})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"file":{"path":"ok","Path":"evil"}}`:                     "Path, which is path in another spelling",
		`{"moves":[{"target":"a"},{"unit":{"id":"1","ID":"2"}}]}`:  "ID, which is id in another spelling",
		`{"file":{"deep":[[{"path":"ok","PATH":"evil"}]]}}`:        "PATH, which is path in another spelling",
		`{"file":{"path":"ok","path":"evil"}}`:                     "duplicate name",
		`{"moves":[{"target":"a","Target":"b"}]}`:                  "", // both are named
		`{"labels":{"tier":"a","Tier":"b"},"file":{"Path":"one"}}`: "",
	} {
		if err := set.Check("pay", []byte(args)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
