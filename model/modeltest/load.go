package modeltest

import (
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// testConcurrent: one model serves many callers at once, each with its own
// reply and its own deltas.
func testConcurrent(t *testing.T, f Factory) {
	b := f.start(t, Config{Stream: true}, stub.Options{})
	b.srv.Respond(func(r *stub.Request) stub.Step { return stub.Text("echo of " + r.Messages[0].Text) })
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 4 {
				question := fmt.Sprintf("question %d.%d", i, j)
				var deltas string
				r, err := b.model.Call(t.Context(), user(question), func(d model.Delta) { deltas += d.Text })
				if err != nil {
					t.Errorf("%s: %v", question, err)
					return
				}
				if got := textOf(&r.Message); got != "echo of "+question || deltas != got {
					t.Errorf("%s: reply %q, deltas %q", question, got, deltas)
				}
			}
		})
	}
	wg.Wait()
	b.accepted()
}

// testLeaks: no goroutine outlives a call and its server, however it ended.
func testLeaks(t *testing.T, f Factory) {
	before := goleak.IgnoreCurrent()
	t.Run("calls", func(t *testing.T) {
		f.both(t, func(t *testing.T, stream bool) {
			b := f.start(t, Config{Stream: stream}, stub.Options{})
			b.srv.Play(
				stub.Text("whole"),
				stub.Status(500),
				stub.Step{Reply: &stub.Reply{Text: "cut"}, Cut: &stub.Cut{At: stub.At{Bytes: 60}, Abrupt: true}},
				stub.Step{Raw: &stub.Raw{Body: "data: "}, Flood: filler},
				stub.Step{Reply: &stub.Reply{Text: "held"}, Hold: &stub.Hold{At: stub.At{Bytes: 60}, Until: stub.Never()}},
			)
			b.reply(user("hi"))
			for range 3 {
				b.failure(user("hi"))
			}
			b.cancelled(4)
		})
	})
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
