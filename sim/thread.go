package sim

import "iter"

// thread is a coroutine that runs closures, one after another. It hands over
// control by park and gets it back by resume: never do two threads run at once.
type thread struct {
	proc  *process // whose closure it runs; nil: nobody's
	job   func()   // nil: idle
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	until []<-chan struct{} // it goes on early when one of them gives something
	wake  *entry            // when it goes on at the latest; nil: only by until
}

func newThread() *thread {
	t := &thread{}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		for {
			t.job()
			t.job, t.proc = nil, nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return t
}

// ready reports whether what the thread waits for is there, and takes it.
func (t *thread) ready() bool {
	for _, c := range t.until {
		select {
		case <-c:
			return true
		default:
		}
	}
	return false
}
