package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// refusedTools are lists of tools that an official endpoint refuses, and with
// them every request of a run.
func refusedTools(w stub.Wire) map[string][]model.Tool {
	tool := func(schema string) []model.Tool {
		return []model.Tool{
			{Name: "good", Description: "d", Schema: []byte(`{"type":"object"}`)},
			{Name: "offender", Description: "d", Schema: []byte(schema)},
		}
	}
	lists := map[string][]model.Tool{
		"oneOf on top": tool(`{"type":"object","oneOf":[{"required":["a"]}]}`),
		"anyOf on top": tool(`{"type":"object","anyOf":[{"required":["a"]}]}`),
		"allOf on top": tool(`{"type":"object","allOf":[{"required":["a"]}]}`),
	}
	if w != stub.OpenAI {
		return lists
	}
	lists["enum on top"] = tool(`{"type":"object","enum":[{}]}`)
	lists["not on top"] = tool(`{"type":"object","not":{"required":["a"]}}`)
	lists["an array without items"] = tool(`{"type":"object","properties":{"a":{"type":"array"}}}`)
	lists["an array among types"] = tool(`{"type":"object","properties":{"a":{"anyOf":[{"type":["array","null"]}]}}}`)
	lists["a long description"] = tool(`{"type":"object"}`)
	lists["a long description"][1].Description = strings.Repeat("é", 1025)
	for i := range 129 {
		lists["too many"] = append(lists["too many"], model.Tool{Name: fmt.Sprintf("offender_%d", i), Schema: []byte(`{"type":"object"}`)})
	}
	return lists
}

// testTools: with the strict profile, a tool that the official endpoint refuses
// is named before anything is sent; a compatible server may take it.
func testTools(t *testing.T, f Factory) {
	for name, tools := range refusedTools(f.Wire) {
		t.Run(name, func(t *testing.T) {
			b := f.start(t, Config{}, stub.Options{})
			req := user("hi")
			req.Tools = tools
			e := b.failure(req)
			if e.Kind != kernel.FailRequest || b.srv.Count() != 0 {
				t.Errorf("kind %s after %d requests, want %s and none", e.Kind, b.srv.Count(), kernel.FailRequest)
			}
			if name != "too many" && !strings.Contains(e.Message, "offender") {
				t.Errorf("the message does not name the tool: %s", e.Message)
			}
			if enc, ok := b.model.(model.Encoder); ok {
				if _, err := enc.EncodeHead("", tools); kernel.CodeOf(err) != kernel.CodeConfiguration {
					t.Errorf("EncodeHead: %v, want an error of code %s", err, kernel.CodeConfiguration)
				}
			}
			tolerant := f.start(t, Config{Profile: kernel.Tolerant}, stub.Options{})
			tolerant.srv.Always(stub.Text("ok"))
			if e := tolerant.failure(req); e.Status != 400 || tolerant.srv.Count() != 1 {
				t.Errorf("%v after %d requests: the stub is as strict as the endpoint", e, tolerant.srv.Count())
			}
		})
	}
	t.Run("at the limits", func(t *testing.T) {
		b := f.start(t, Config{}, stub.Options{})
		b.srv.Play(stub.Text("ok"))
		req := user("hi")
		for i := range 128 {
			req.Tools = append(req.Tools, model.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("é", 1024),
				Schema: []byte(`{"type":"object","properties":{"type":{"const":{"type":"array"}},"anyOf":{"type":"array","items":{"oneOf":[{"type":"string"}]}}}}`)})
		}
		b.reply(req)
		b.accepted()
	})
}
