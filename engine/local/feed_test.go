package local

import (
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

// Why a run was lost is told to whoever watches later, also where the last watcher
// breaks off at the moment of the loss; of other runs nothing stays behind.
func TestLossStaysTold(t *testing.T) {
	for _, lost := range []*kernel.Error{nil, {Code: kernel.CodeLocalStorage, Message: "full"}, {Code: kernel.CodeLeaseLost}} {
		e, err := New(Config{Journal: memory.New()})
		if err != nil {
			t.Fatal(err)
		}
		for _, watched := range []bool{false, true} {
			r := e.newRun(journal.Head{Run: "r", Session: "s"}, nil)
			if err := e.admit(r); err != nil {
				t.Fatal(err)
			}
			if len(e.feeds) > 0 {
				t.Errorf("lost %v: an earlier loss is still told of a run that goes on", lost)
			}
			if _, driven, _ := r.feed.state(); !driven {
				t.Error("it is driven, and its feed says otherwise")
			}
			r.lost = lost
			if watched {
				f := e.feedOf("r")
				e.forget(r)
				e.drop(f)
			} else {
				e.forget(r)
			}
			e.wg.Done()
			if _, driven, _ := r.feed.state(); driven {
				t.Errorf("lost %v: it is driven no more, and its feed says otherwise", lost)
			}
			later := e.feedOf("r")
			if told := later.why() != nil; told != (lost != nil && lost.Code == kernel.CodeLocalStorage) {
				t.Errorf("lost %v, watched %t: told %v", lost, watched, later.why())
			}
			e.drop(later)
			if later.why() == nil && len(e.feeds) > 0 {
				t.Errorf("lost %v: %d feeds stay behind", lost, len(e.feeds))
			}
		}
	}
}
