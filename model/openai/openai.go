// Package openai is a model behind the OpenAI Chat Completions wire, at OpenAI
// or at a server compatible with it.
//
// encode.go writes requests; decode.go reads answers, streamed or plain, into
// one assembly (assembly.go, calls.go) that ends in one Reply; failure.go says
// what error answers mean.
package openai

import (
	"context"
	"sync"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// Model is a model behind Chat Completions. It is safe for concurrent use.
type Model struct {
	endpoint        *transport.Endpoint
	limitField      LimitField
	replayReasoning bool
	counter         *counter
	assemblies      *sync.Pool // of *assembly
}

var (
	_ model.Model   = (*Model)(nil)
	_ model.Encoder = (*Model)(nil)
	_ model.Counter = (*Model)(nil)
)

// New returns the model that cfg describes. It contacts nobody. The error is
// CONFIGURATION.
func New(cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := cfg.settings()
	m := &Model{endpoint: wire().Connect(&s), limitField: cfg.LimitField, replayReasoning: cfg.ReplayReasoning, counter: new(counter)}
	m.assemblies = &sync.Pool{New: func() any { return m.assembly() }}
	return m, nil
}

// Info describes the model.
func (m *Model) Info() model.Info { return m.endpoint.Info }

// Close drops the idle connections of the model's own HTTP client. The model
// can still be used. It returns nil.
func (m *Model) Close() error {
	m.endpoint.Close()
	return nil
}

// String hides the key from every form of printing.
func (m *Model) String() string { return "openai.Model{" + m.endpoint.Info.Name + "}" }

// GoString hides the key from %#v.
func (m *Model) GoString() string { return m.String() }

func (m *Model) assembly() *assembly {
	return &assembly{maker: m.endpoint.Maker, tolerant: m.endpoint.Info.Profile == kernel.Tolerant}
}

// Call sends one request, once.
func (m *Model) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	pieces, err := m.body(req)
	if err != nil {
		return nil, transport.Unfit(err)
	}
	a, _ := m.assemblies.Get().(*assembly)
	a.watch = watch
	reply, err := m.endpoint.Call(ctx, pieces, req.Timeout, a)
	a.forget() // the reply refers to nothing of it
	m.assemblies.Put(a)
	return reply, err
}
