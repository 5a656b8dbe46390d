package leash

import "context"

// follower is told once that a context has ended.
type follower interface{ ended(err error) }

func (l *Leash) ended(err error) { l.end(err, false) }

// callback is code of anybody. It may do what it wants for as long as it wants,
// and whoever ends a leash does not wait for it.
type callback func()

func (f callback) ended(error) { go f() }

// followers are who is told of the end of a leash. Most have one or two.
type followers struct {
	latest int
	near   [2]numbered
	rest   map[int]follower
}

type numbered struct {
	number int
	follower
}

func (fs *followers) add(f follower) int {
	fs.latest++
	for i := range fs.near {
		if fs.near[i].follower == nil {
			fs.near[i] = numbered{fs.latest, f}
			return fs.latest
		}
	}
	if fs.rest == nil {
		fs.rest = map[int]follower{}
	}
	fs.rest[fs.latest] = f
	return fs.latest
}

// drop reports whether there was one of that number.
func (fs *followers) drop(number int) bool {
	for i := range fs.near {
		if fs.near[i].number == number {
			fs.near[i] = numbered{}
			return true
		}
	}
	_, has := fs.rest[number]
	delete(fs.rest, number)
	return has
}

func (fs *followers) tell(err error) {
	for i := range fs.near {
		if f := fs.near[i].follower; f != nil {
			f.ended(err)
		}
	}
	for _, f := range fs.rest {
		f.ended(err)
	}
}

// follow makes f a follower of l. Where l has ended it is told on a goroutine of
// its own: its caller may hold what it needs.
func (l *Leash) follow(f follower) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		go f.ended(l.err)
		return place{}
	}
	return place{of: l, number: l.tied.add(f)}
}

// place is where a follower stands. The zero value is nowhere.
type place struct {
	of     *Leash
	number int
	stop   func() bool // of a context that is no leash
}

// follow is that of any context.
func follow(ctx context.Context, f follower) place {
	if l, ok := ctx.(*Leash); ok {
		return l.follow(f)
	}
	if ctx.Done() == nil {
		return place{} // it has no end
	}
	return place{stop: context.AfterFunc(ctx, func() { f.ended(ctx.Err()) })}
}

// leave reports whether the follower is not told any more because of it.
func (p place) leave() bool {
	switch {
	case p.stop != nil:
		return p.stop()
	case p.of == nil:
		return false
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.of.tied.drop(p.number)
}
