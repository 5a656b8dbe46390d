package multiply_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/multiply"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Row 25, cases 1–3: testdata/calls.json holds calls and what comes of them.
func TestCalls(t *testing.T) {
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var calls []struct {
		Args          json.RawMessage
		Text, Refused string
	}
	if err := json.Unmarshal(raw, &calls); err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(multiply.New())
	if err != nil {
		t.Fatal(err)
	}
	multiplier, _ := set.Bind(multiply.Name, kernel.Read)
	for _, call := range calls {
		err := set.Check(multiply.Name, call.Args)
		if call.Refused != "" {
			var e *kernel.Error
			if !errors.As(err, &e) || e.Code != kernel.CodeInvalidArgument || e.Message != call.Refused {
				t.Errorf("%s: %v, want %q", call.Args, err, call.Refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", call.Args, err)
			continue
		}
		o := tool.Border{}.Execute(t.Context(), multiplier, tool.Call{Arguments: call.Args})
		if o.Text != call.Text || o.IsError || o.Facts.Status != kernel.StatusOK {
			t.Errorf("%s: %+v, want %s", call.Args, o, call.Text)
		}
	}
}

func TestSpec(t *testing.T) {
	s := multiply.New().Spec()
	if s.Name != "multiply" || s.Effect != kernel.Read {
		t.Errorf("spec %+v", s)
	}
}
