package sim

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/tool"
)

// Options are how a seed is simulated. The zero value is how it is meant.
type Options struct {
	Timeline bool   // keep what happened, line by line
	Defect   string // the name of a deliberate one: see Defects
	// Journal is where runs are kept, empty and the simulation's own; nil: in
	// memory.
	Journal journal.Journal
}

// Result is what came of a simulation.
type Result struct {
	Seed     uint64
	Steps    int
	Trouble  string // the kind of faults
	Broken   error  // the first invariant that did not hold; nil: all did
	Timeline []string
	Digest   string // of all that was recorded: the same seed gives the same
	Runs     int
	Compared int // runs whose outcome was compared with the reference
	// Seen counts what happened, by kind: what never happens is not tested.
	Seen map[string]int
}

// Simulator simulates seeds, one after another. It is not safe for concurrent
// use. Make one with New.
type Simulator struct{ rig *rig }

// rig is what simulations share: making tools costs more than using them.
type rig struct {
	sim   *simulation
	tools [2]*tool.Set // as they are, and relabelled
	queue *queue
}

// New makes a simulator.
func New() (*Simulator, error) {
	r := &rig{queue: newQueue(nil)}
	for i, traitsOf := range []func(string) traits{traitsOf, relabelled} {
		var list []tool.Tool
		for _, name := range toolNames() {
			v := &visitor{rig: r, name: name, traits: traitsOf(name)}
			list = append(list, v.tool())
		}
		var err error
		if r.tools[i], err = tool.NewSet(list...); err != nil {
			return nil, err
		}
	}
	return &Simulator{rig: r}, nil
}

// Close lets go of what was kept.
func (s *Simulator) Close() { s.rig.queue.end() }

// simulation is one seed.
type simulation struct {
	rig    *rig
	seed   uint64
	opts   Options
	plan   *plan
	queue  *queue
	chance *rand.Rand // of the schedule
	faults *faults
	base   journal.Journal
	world  *world
	watch  *watch
	crowd  *crowd
	defect *defect
	seen   map[string]int

	slots  []*process
	boots  []*entry // that start the next process of a slot
	lives  int
	graves []*process
	offset time.Duration               // of the wall clock, from that of the queue
	agents [2]map[string]*engine.Agent // by the version of the tools, and by run

	over   bool
	broken error
	lines  []string
}

// epoch is when simulations begin.
func epoch() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (s *simulation) wall() time.Time { return epoch().Add(s.queue.now + s.offset) }

// Run simulates one seed.
func (s *Simulator) Run(seed uint64, o Options) Result {
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	q := s.rig.queue
	*q = queue{chance: stream(1), idle: q.idle}
	sim := &simulation{
		rig: s.rig, seed: seed, opts: o, queue: q, plan: compose(stream(2), stream(5)), chance: stream(3),
		base: o.Journal, agents: [2]map[string]*engine.Agent{{}, {}}, defect: defectOf(o.Defect), seen: map[string]int{},
	}
	if sim.base == nil {
		sim.base = memory.New()
	}
	s.rig.sim = sim
	sim.faults = newFaults(sim.plan.profile, stream(4))
	sim.world, sim.watch, sim.crowd = newWorld(sim), newWatch(sim), newCrowd(sim)
	sim.slots, sim.boots = make([]*process, sim.plan.slots), make([]*entry, sim.plan.slots)
	sim.run()
	return Result{
		Seed: seed, Steps: q.steps, Trouble: sim.plan.profile.name, Broken: sim.broken, Timeline: sim.lines,
		Digest: sim.digest(), Runs: len(sim.plan.runs), Compared: sim.watch.compared, Seen: sim.seen,
	}
}

// run lets everything happen.
func (s *simulation) run() {
	for slot := range s.slots {
		s.boot(slot)
	}
	s.crowd.gather()
	s.queue.minor(s.plan.faulty, "calm", s.calm)
	for on := true; on && s.broken == nil && !s.quiet(); {
		on = s.step()
	}
	if s.broken == nil {
		s.again()
	}
	if s.broken == nil {
		s.watch.end()
	}
	s.over = true
	for _, p := range s.slots {
		p.end()
		s.bury(p)
	}
	for s.step() { // nothing of it has any effect
	}
}

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant string
	What      string
	Seed      uint64
}

// Error says it in a line.
func (v *Violation) Error() string {
	return fmt.Sprintf("seed %d: %s: %s", v.Seed, v.Invariant, v.What)
}

// failf takes note of the first invariant that does not hold.
func (s *simulation) failf(invariant, format string, args ...any) {
	if s.broken == nil {
		s.broken = &Violation{invariant, fmt.Sprintf(format, args...), s.seed}
		s.tracef(nil, "BROKEN %v", s.broken)
	}
}

// guard looks that what is checked does not itself fail: a panic is a violation,
// which the engine would contain.
func (s *simulation) guard(check func()) {
	defer func() {
		if p := recover(); p != nil {
			s.failf("panic", "%v\n%s", p, debug.Stack())
		}
	}()
	check()
}

// tracef keeps a line of the timeline.
func (s *simulation) tracef(p *process, format string, args ...any) {
	if !s.opts.Timeline {
		return
	}
	name := "-"
	if p != nil {
		name = p.name
	}
	s.lines = append(s.lines, fmt.Sprintf("%10.3f  %-6s %s", s.queue.now.Seconds(), name, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")))
}
