package transport

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/model"
)

// Whatever a head is made of tells it from another one.
func TestHeads(t *testing.T) {
	var h Heads
	made := 0
	encode := func(system string, tools []model.Tool) ([]byte, error) {
		made++
		return []byte(fmt.Sprint(system, tools)), nil
	}
	a := model.Tool{Name: "a", Description: "does a", Schema: []byte(`{}`)}
	b := model.Tool{Name: "b", Description: "does b", Schema: []byte(`{}`)}
	for i, tt := range []struct {
		system string
		tools  []model.Tool
	}{
		{"s", []model.Tool{a, b}},
		{"t", []model.Tool{a, b}},
		{"t", []model.Tool{b, a}},
		{"t", []model.Tool{a}},
		{"t", []model.Tool{{Name: "c", Description: a.Description, Schema: a.Schema}}},
		{"t", []model.Tool{{Name: a.Name, Description: "c", Schema: a.Schema}}},
		{"t", []model.Tool{{Name: a.Name, Description: a.Description, Schema: []byte(`{"c":1}`)}}},
		{"t", nil},
	} {
		for range 2 {
			got, err := h.Of(tt.system, tt.tools, encode)
			if want := fmt.Sprint(tt.system, tt.tools); err != nil || string(got) != want || made != i+1 {
				t.Errorf("%q, %v after %d, want %q after %d", got, err, made, want, i+1)
			}
		}
	}
}

// A schema that its owner changes in place is another one.
func TestHeadsOfAChangedSchema(t *testing.T) {
	var h Heads
	tools := []model.Tool{{Name: "a", Schema: []byte(`{"a":1}`)}}
	schema := func(_ string, tools []model.Tool) ([]byte, error) {
		return append([]byte(nil), tools[0].Schema...), nil
	}
	for _, digit := range "12" {
		tools[0].Schema[5] = byte(digit)
		if got, err := h.Of("", tools, schema); err != nil || string(got) != `{"a":`+string(digit)+`}` {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestHeadsKeepNoError(t *testing.T) {
	var h Heads
	for _, want := range []error{errors.New("no"), nil} {
		if _, err := h.Of("", nil, func(string, []model.Tool) ([]byte, error) { return nil, want }); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestHeadsConcurrently(t *testing.T) {
	var h Heads
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			want := fmt.Sprint(i)
			for range 200 {
				got, err := h.Of(want, nil, func(system string, _ []model.Tool) ([]byte, error) { return []byte(system), nil })
				if err != nil || string(got) != want {
					t.Errorf("%q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}
