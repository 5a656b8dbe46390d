package engine_test

import (
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// counting is a model that knows how many bytes make a token.
type counting struct {
	encoder
	bytes int64 // 0: it does not know
	asked int
	all   int // bytes that were counted, since the run began
}

func (c *counting) CountTokens(text string) (int64, bool) {
	c.asked++
	if c.bytes < 0 {
		panic("a tokenizer that fails")
	}
	if c.bytes == 0 {
		return 0, false
	}
	c.all += len(text)
	return int64(len(text)) / c.bytes, true
}

// Near the window the model's own tokenizer counts, where it has one: both ways.
// Elsewhere, and where it is not known, the stated estimate does.
func TestTokenizerNearTheWindow(t *testing.T) {
	for name, tt := range map[string]struct {
		bytes  int64
		window int64 // in 1/1,000 of the estimate
		want   kernel.Stop
		asked  bool
	}{
		"it counts less":       {8, 900, kernel.StopAnswered, true},
		"it counts more":       {2, 1500, kernel.StopContext, true},
		"it does not know":     {0, 900, kernel.StopContext, true},
		"it fails":             {-1, 900, kernel.StopContext, true},
		"far below the window": {1, 3000, kernel.StopAnswered, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(window int64) (*kernel.Outcome, int64, *counting) {
				c := &counting{encoder: encoder{&fake{steps: []func(*model.Request) (*model.Reply, error){answers("done")}, encoded: map[string]int{}}}, bytes: tt.bytes}
				a := agent(t, c, 2000)
				a.Context = engine.Context{Window: window}
				d := begin(t, a, "run_1", "why is the door blue, and who painted it in that colour, when and with what", nil)
				out := d.run()
				for _, e := range d.events {
					if p, ok := e.(kernel.ContextPrepared); ok {
						return out, p.InputTokens, c
					}
				}
				return out, 0, c
			}
			_, estimate, _ := run(0)
			out, _, c := run(100 + estimate*tt.window/1000)
			if out.Stop != tt.want || (c.asked > 0) != tt.asked {
				t.Errorf("stop %s (%s), asked %d times", out.Stop, out.Detail, c.asked)
			}
		})
	}
}

// What is counted is the whole of a request, with the long results that it refers
// to.
func TestTokenizerSeesLongResults(t *testing.T) {
	run := func(window int64) (last int64, c *counting) {
		c = &counting{encoder: encoder{&fake{steps: steps{asks("c1"), answers("done")}}}, bytes: 8}
		a := agent(t, c, 5000)
		a.Context = engine.Context{Window: window}
		d := begin(t, a, "run_1", "why", nil)
		if out := d.run(); out.Stop != kernel.StopAnswered {
			t.Fatalf("%s (%s)", out.Stop, out.Detail)
		}
		for _, e := range d.events {
			if p, ok := e.(kernel.ContextPrepared); ok {
				last = p.InputTokens
			}
		}
		return last, c
	}
	estimate, _ := run(0)
	_, c := run(100 + estimate*95/100)
	sent := len(c.seen[1].Head)
	for i := range c.seen[1].Messages {
		sent += len(c.seen[1].Messages[i].Encoded.Append(nil))
	}
	if c.all != sent || sent < 5000 {
		t.Errorf("%d bytes were counted of a request of %d", c.all, sent)
	}
}
