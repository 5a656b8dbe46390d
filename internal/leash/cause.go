package leash

import "context"

// causeKey is what package context asks a context for that knows why it ended.
// It tells it to nobody, but asks everybody.
func causeKey() any {
	over := asked{Context: context.Background()}
	_ = context.Cause(&over)
	return over.key
}

// asked is a context that has ended, and knows what it was asked for.
type asked struct {
	context.Context
	key any
}

func (*asked) Err() error { return context.Canceled }

func (a *asked) Value(key any) any {
	a.key = key
	return nil
}
