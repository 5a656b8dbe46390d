package local

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/leash"
	"github.com/holdfast-run/holdfast/kernel"
)

// order is a command that is out, and how to end it early.
type order struct {
	cmd   kernel.Seq
	leash *leash.Leash // nil: of a timer, which runs nothing
	timer engine.Timer // nil: of a command that runs, or not yet started
	asks  bool         // somebody about a call
}

func (o *order) stop() {
	if o.leash != nil {
		o.leash.End(context.Canceled)
	}
	if o.timer != nil {
		o.timer.Stop()
	}
}

// orders are what is out, in the order in which it began. It is little at a
// time.
type orders []order

// of returns the order of a command, until the next one is added or ended; nil:
// it is not out.
func (o orders) of(cmd kernel.Seq) *order {
	if i := o.index(cmd); i >= 0 {
		return &o[i]
	}
	return nil
}

func (o orders) index(cmd kernel.Seq) int {
	return slices.IndexFunc(o, func(o order) bool { return o.cmd == cmd })
}

// end stops a command that is not to be out any more.
func (o *orders) end(cmd kernel.Seq) {
	if i := o.index(cmd); i >= 0 {
		(*o)[i].stop()
		*o = slices.Delete(*o, i, i+1)
	}
}

// abort stops a command early. What runs is out until it reports; a timer is
// not, and one that has not started never does.
func (o *orders) abort(cmd kernel.Seq) {
	switch i := o.index(cmd); {
	case i < 0:
	case (*o)[i].leash == nil:
		o.end(cmd)
	default:
		(*o)[i].stop()
	}
}
