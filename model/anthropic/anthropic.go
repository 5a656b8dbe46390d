// Package anthropic is a model behind the Anthropic Messages wire.
//
// encode.go writes messages and turns.go joins them to requests; decode.go
// reads answers, streamed or plain, into one assembly (assembly.go, block.go)
// that ends in one Reply; failure.go says what error answers mean.
package anthropic

import (
	"context"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// Model is a model behind Messages. It is safe for concurrent use.
type Model struct {
	endpoint *transport.Endpoint
}

var (
	_ model.Model   = (*Model)(nil)
	_ model.Encoder = (*Model)(nil)
)

// New returns the model that cfg describes. It contacts nobody. The error is
// CONFIGURATION.
func New(cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := cfg.settings()
	return &Model{endpoint: wire().Connect(&s)}, nil
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
func (m *Model) String() string { return "anthropic.Model{" + m.endpoint.Info.Name + "}" }

// GoString hides the key from %#v.
func (m *Model) GoString() string { return m.String() }

// Call sends one request, once.
func (m *Model) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	pieces, err := m.body(req)
	if err != nil {
		return nil, transport.Unfit(err)
	}
	return m.endpoint.Call(ctx, transport.List(pieces), req.Timeout, m.assembly(watch))
}

func (m *Model) assembly(watch func(model.Delta)) *assembly {
	return &assembly{maker: m.endpoint.Maker, tolerant: m.endpoint.Info.Profile == kernel.Tolerant, watch: watch}
}
