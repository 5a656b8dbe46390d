package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// How long the sources of tools have to answer: while a run can wait for them,
// and once they have answered before and do not say that there is something to
// wait for. After twice that they are left out.
const (
	sourcesWait  = 5 * time.Second
	sourcesAgain = 100 * time.Millisecond
)

// The bounds of what a source says to people.
const (
	maxSourceWords = 16
	maxSourceWord  = 500 // bytes
)

// sources are an agent's sources of tools and what they gave last, for one run.
// It is safe for concurrent use: tasks take snapshots while the run is driven,
// and only other tasks wait for one that asks.
type sources struct {
	x    *Execution
	list []*source

	asking   sync.Mutex // held while they are asked, as long as that takes; guards these two
	sets     []*tool.Set
	warnings []string // of joining them

	mu       sync.Mutex // held for a moment, also by who drives the run
	answered bool       // each of them was heard, or given up
	snap     *snapshot  // of sets
	made     *snapshot  // for the preparation of that number
	madeCmd  kernel.Seq
}

// source is one of them. A call that does not return keeps it busy.
type source struct {
	from tool.Source
	name string
	busy chan struct{} // closed when its last call returned; nil: none was made
}

// heard is what a source answered.
type heard struct {
	set   *tool.Set
	words []string
	lost  string // why it is left out; empty: it is not
}

func newSources(x *Execution, list []tool.Source) *sources {
	if len(list) == 0 {
		return nil
	}
	s := &sources{x: x}
	for i, from := range list {
		s.list = append(s.list, &source{from: from, name: fmt.Sprintf("source %d of tools", i+1)})
	}
	return s
}

func (s *sources) madeFor(cmd kernel.Seq) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.madeCmd != cmd {
		return nil
	}
	return s.made
}

func (s *sources) latest() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snap
}

// prompt reports whether they answer at once, as far as is known.
func (s *sources) prompt() bool { return s.heardAll() && s.immediate() }

func (s *sources) heardAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// immediate reports whether none of them has something to wait for.
func (s *sources) immediate() bool {
	for _, one := range s.list {
		if from, ok := one.from.(tool.Immediate); ok && !one.immediate(from, s.x) {
			return false
		}
	}
	return true
}

// immediate asks the source. One that panics is asked for its tools all the same,
// which tells people of it.
func (s *source) immediate(from tool.Immediate, x *Execution) (is bool) {
	err := func() (err error) {
		defer x.contain(s.name, &err)
		is = from.Immediate()
		return nil
	}()
	return is || err != nil
}

// take takes a snapshot for a preparation (0: for the calls of a run that was
// taken over, unless there is one). It returns in bounded time.
func (s *sources) take(ctx context.Context, cmd kernel.Seq) (*snapshot, []string) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if snap := s.latest(); cmd == 0 && snap != nil {
		return snap, nil
	}
	wait := sourcesWait
	if s.prompt() {
		wait = sourcesAgain
	}
	sets, warnings := s.ask(ctx, wait)
	snap := s.latest()
	if snap == nil || !slices.Equal(sets, s.sets) {
		snap, s.warnings = s.x.join(sets)
		s.sets = sets
	}
	s.took(snap, cmd)
	return snap, append(warnings, s.warnings...)
}

// took publishes a snapshot, for a preparation.
func (s *sources) took(snap *snapshot, cmd kernel.Seq) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = true
	s.snap, s.made, s.madeCmd = snap, snap, cmd
}

// ask asks all of them at the same time. The agent's own tools come first.
func (s *sources) ask(ctx context.Context, wait time.Duration) (sets []*tool.Set, warnings []string) {
	asked, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answers := make([]<-chan heard, len(s.list))
	for i := range s.list {
		answers[i] = s.list[i].ask(asked, s.x)
	}
	late := time.NewTimer(2 * wait)
	defer late.Stop()
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // it was told to end
		time.AfterFunc(s.x.Grace, func() { close(over) })
	})
	defer stop()
	sets = append(sets, s.x.agent.Tools)
	expired := false
	for i, answer := range answers {
		h := heard{lost: "it does not answer"}
		if expired {
			select {
			case h = <-answer:
			default:
			}
		} else {
			select {
			case h = <-answer:
			case <-late.C:
				expired = true
			case <-over:
				expired = true
			}
		}
		sets = append(sets, h.set)
		warnings = append(warnings, s.list[i].words(&h)...)
	}
	return sets, warnings
}

// ask asks the source on a goroutine of its own, unless an earlier call has not
// returned yet.
func (s *source) ask(ctx context.Context, x *Execution) <-chan heard {
	answer := make(chan heard, 1)
	if s.busy != nil {
		select {
		case <-s.busy:
		default:
			answer <- heard{lost: "it does not answer"}
			return answer
		}
	}
	busy := make(chan struct{})
	s.busy = busy
	go func() {
		h := heard{lost: "it ended without an answer"} // runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				x.Log.Error("panic contained", "run", x.Run, "in", s.name, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				h = heard{lost: "it panicked"}
			}
			close(busy) // before anybody can ask it again
			answer <- h
		}()
		set, words := s.from.Snapshot(ctx)
		h = heard{set: set, words: words}
	}()
	return answer
}

// words are what people are told of an answer.
func (s *source) words(h *heard) []string {
	if h.lost != "" {
		return []string{"the tools of " + s.name + " are left out: " + h.lost}
	}
	words := make([]string, 0, min(len(h.words), maxSourceWords))
	for _, w := range h.words[:min(len(h.words), maxSourceWords)] {
		words = append(words, kernel.Clip(tool.Clean(w), maxSourceWord))
	}
	return words
}

// join makes one snapshot of the agent's own tools and those of its sources. A
// source whose tools the model cannot express is left out.
func (x *Execution) join(sets []*tool.Set) (*snapshot, []string) {
	all, warnings := tool.Join(sets...)
	if all == x.agent.Tools || len(all.Names()) == 0 {
		return x.base, warnings
	}
	s, err := x.tryFreeze(all)
	if err == nil {
		return s, warnings
	}
	usable := sets[:1:1]
	for i, set := range sets[1:] {
		if both, _ := tool.Join(sets[0], set); both != x.agent.Tools {
			if _, err := x.tryFreeze(both); err != nil {
				warnings = append(warnings, "the tools of "+x.sources.list[i].name+" are left out: "+describe(err))
				continue
			}
		}
		usable = append(usable, set)
	}
	all, more := tool.Join(usable...)
	if s, err = x.tryFreeze(all); err != nil { // each alone, and not together
		return x.base, append(warnings, "the tools of all sources are left out: "+describe(err))
	}
	return s, append(warnings, more...)
}

func (x *Execution) tryFreeze(tools *tool.Set) (s *snapshot, err error) {
	defer x.contain("the model's encoder", &err)
	return x.freeze(tools)
}

// news are the warnings that the run does not have yet, those being the ones it
// has. Their number is bounded, as it is there.
func news(warnings, those []string) (out []string) {
	for _, w := range warnings {
		if len(those)+len(out) < maxNews && !slices.Contains(those, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// maxNews is how many warnings a run has at most.
const maxNews = 32
