package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
)

// process is one life of a process that drives runs, from its start to its end.
type process struct {
	*simulation

	slot   int
	name   string // the owner of its leases
	engine *local.Engine
	tools  int                // which version of them it has
	leave  context.CancelFunc // ends its work, in peace

	dead   bool    // whatever it does has no effect any more
	asleep bool    // held up: none of its threads goes on
	inside *thread // that is in the middle of a journal operation meanwhile
	held   []*entry
	back   time.Duration // by how much its clock is behind (a defect)
}

// boot starts the process of a slot.
func (s *simulation) boot(slot int) {
	if s.slots[slot] != nil && !s.slots[slot].dead {
		return
	}
	s.lives++
	p := &process{simulation: s, slot: slot, name: fmt.Sprintf("p%d.%d", slot, s.lives)}
	if s.plan.relabels {
		p.tools = s.chance.IntN(2)
	}
	eng, err := local.New(local.Config{
		Journal: &handle{p, s.base}, Owner: p.name, Lease: s.plan.lease, Poll: s.plan.poll,
		Agents: func(_ context.Context, st *engine.Stored) (*engine.Agent, error) { return p.agent(st.Head.Run), nil },
		Grace:  100 * time.Hour, Clock: clock{p}, Spawn: p.spawn, Wait: p.wait,
		Jitter: func() int { return s.chance.IntN(10_001) },
	})
	if err != nil {
		panic(err) // the configuration is fixed
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.engine, p.leave = eng, cancel
	s.defect.boot(p)
	s.slots[slot] = p
	s.tracef(p, "starts")
	s.queue.add(p, 0, "work", func() {
		err := eng.Work(ctx, local.Workload{Once: s.plan.once[slot]})
		if !p.dead {
			s.tracef(p, "ends its work: %v", err)
			p.end()
		}
	})
}

// end is the end of the process, at this instant. The code that is running goes
// on, without any effect, until it returns.
func (p *process) end() {
	if p.dead {
		return
	}
	p.watch.disturbed(p)
	p.dead = true
	p.leave()
	p.graves = append(p.graves, p)
	p.world.lose(p)
	s, slot := p.simulation, p.slot
	s.queue.drop(s.boots[slot])
	s.boots[slot] = s.queue.minor(s.plan.restart(s.chance), "boot", func() { s.boot(slot) })
}

func (p *process) crash(where string) {
	if !p.dead {
		p.tracef(p, "CRASH %s", where)
		p.seen["crash "+where]++
		p.end()
	}
}

// bury lets every thread of a dead process run out. The one that was inside the
// journal goes first: it holds what the others wait for.
func (s *simulation) bury(p *process) {
	if p.inside != nil {
		s.queue.resume(p.inside)
	}
	for {
		t := s.queue.first(func(t *thread) bool { return t.proc == p })
		if t == nil {
			break
		}
		s.queue.resume(t)
	}
	p.held = nil
}

// spawn runs f as a goroutine of the process would.
func (p *process) spawn(f func()) {
	if !p.dead {
		p.queue.add(p, p.faults.lag(), "spawned", f)
	}
}

// wait parks until one of the channels gives something.
func (p *process) wait(a, b, c <-chan struct{}) {
	if !p.dead {
		p.queue.park(-1, a, b, c)
	}
}

// pause parks for d, or until ctx ends, where done is its Done. It reports
// whether the process is still alive.
func (p *process) pause(d time.Duration, done <-chan struct{}) (alive bool) {
	if !p.dead && d > 0 {
		p.queue.park(d, done)
	}
	return !p.dead
}

// sleep holds the whole process up, in the middle of a journal operation.
func (p *process) sleep(d time.Duration) {
	p.tracef(p, "falls asleep for %s", d)
	p.seen["asleep"]++
	p.watch.disturbed(p)
	p.asleep, p.inside = true, p.queue.running
	p.queue.park(d)
	p.asleep, p.inside = false, nil
	if p.dead {
		return
	}
	p.tracef(p, "wakes up")
	p.defect.sleep(p, d)
	for _, e := range p.held {
		p.queue.push(e)
	}
	p.held = nil
}

// clock is the time of a process.
type clock struct{ p *process }

// Now is the present instant, by the process's clock.
func (c clock) Now() time.Time { return c.p.wall().Add(-c.p.back) }

// AfterFunc lets f run on a thread of its own.
func (c clock) AfterFunc(d time.Duration, f func()) engine.Timer {
	t := &timer{queue: c.p.queue, due: c.p.queue.now + max(d, 0)}
	if !c.p.dead && !c.p.defect.forget(d) {
		t.entry = c.p.queue.minor(d+c.p.faults.lag(), "timer", f)
		t.entry.proc = c.p
	}
	return t
}

type timer struct {
	queue *queue
	due   time.Duration
	entry *entry
}

// Stop takes the call back, unless it was due before: then it is under way.
func (t *timer) Stop() bool {
	if t.entry == nil || t.due < t.queue.now {
		return false
	}
	return t.queue.drop(t.entry)
}
