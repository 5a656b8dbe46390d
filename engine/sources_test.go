package engine_test

import (
	"context"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

type sourceFunc func(context.Context) (*tool.Set, []string)

func (f sourceFunc) Snapshot(ctx context.Context) (*tool.Set, []string) { return f(ctx) }

// Whoever drives a run is not kept while a task of it waits for a source: also
// signals, a cancel among them, come through there.
func TestDriverIsNotKeptByASource(t *testing.T) {
	asked, release := make(chan context.Context, 1), make(chan struct{})
	a := agent(t, &fake{steps: []func(*model.Request) (*model.Reply, error){answers("done")}}, 10)
	a.Sources = []tool.Source{sourceFunc(func(ctx context.Context) (*tool.Set, []string) {
		asked <- ctx
		<-release
		return nil, nil
	})}
	d := begin(t, a, "run_1", "why", nil)
	var prepare kernel.PrepareContext
	for _, c := range d.take(d.x.Begin()) {
		if c, ok := c.(kernel.PrepareContext); ok {
			prepare = c
		}
	}
	type report struct {
		e kernel.Event
		c engine.Content
	}
	prepared := make(chan report, 1)
	task := d.x.Task(prepare)
	go func() {
		e, c := task.Do(context.Background(), nil)
		prepared <- report{e, c}
	}()
	ctx := <-asked
	if d.x.Pure(prepare) || d.x.Pure(kernel.DecideCall{Call: kernel.Call{Name: "look"}}) {
		t.Error("a run whose source was not heard yet has something that only computes")
	}
	if ctx.Err() != nil {
		t.Error("the driver was kept until the source had used up its time")
	}
	close(release)
	r := <-prepared
	d.goOn(d.take(r.e, r.c))
	if out := d.x.State.Outcome; out.Stop != kernel.StopAnswered {
		t.Errorf("%+v", out)
	}
}
