// Package anthropic is a model behind the Anthropic Messages wire.
//
// encode.go writes messages and turns.go joins them to requests; decode.go
// reads answers, streamed or plain, into one assembly (assembly.go, block.go)
// that ends in one Reply; failure.go says what error answers mean.
package anthropic

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// Model is a model behind Messages. It is safe for concurrent use.
type Model struct {
	cfg   Config // without the key and the URL
	maker string // of the private reasoning in its replies
	// What knows the key is behind functions, which no print looks into.
	post func(ctx context.Context, pieces transport.Pieces, timeout time.Duration) (*transport.Exchange, error)
	idle func() // drops idle connections; nil where the HTTP client is the caller's
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
	cfg = cfg.withDefaults()
	h := http.Header{
		"Content-Type":      {"application/json"},
		"Accept":            {"application/json"},
		"Accept-Encoding":   {"identity"},
		"Anthropic-Version": {version},
	}
	if cfg.Stream {
		h.Set("Accept", "text/event-stream")
	}
	if cfg.Key != "" {
		h.Set("X-Api-Key", cfg.Key)
	}
	client := &transport.Client{
		HTTP:     transport.NewHTTP(cfg.HTTPClient),
		URL:      transport.Endpoint(cfg.BaseURL, "v1/messages"),
		Header:   h,
		Cap:      int64(cfg.ResponseCap),
		Now:      cfg.Now,
		Classify: classify,
	}
	m := &Model{cfg: cfg, maker: transport.Maker(provider, cfg.BaseURL, officialHost), post: client.Post}
	if cfg.HTTPClient == nil {
		m.idle = client.HTTP.CloseIdleConnections
	}
	m.cfg.Key, m.cfg.BaseURL = "", ""
	return m, nil
}

// Info describes the model.
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: provider, Name: m.cfg.Name, Profile: m.cfg.Profile,
		MaxTokens: m.cfg.MaxTokens, MaxTokensCap: m.cfg.MaxTokensCap,
	}
}

// Close drops the idle connections of the model's own HTTP client. The model
// can still be used. It returns nil.
func (m *Model) Close() error {
	if m.idle != nil {
		m.idle()
	}
	return nil
}

// String hides the key from every form of printing.
func (m *Model) String() string { return "anthropic.Model{" + m.cfg.Name + "}" }

// GoString hides the key from %#v.
func (m *Model) GoString() string { return m.String() }

// Call sends one request, once.
func (m *Model) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	pieces, err := m.body(req)
	if err != nil {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: "the request does not fit the wire: " + err.Error()}
	}
	x, err := m.post(ctx, transport.List(pieces), req.Timeout)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	a := m.assembly(watch)
	if x.Format == transport.FormatEvents || x.Format == transport.FormatUnknown && m.cfg.Stream {
		err = a.readStream(x)
	} else {
		err = a.readPlain(x)
	}
	if err != nil {
		e := x.Failure(err)
		e.Usage = a.usage.neutral()
		return nil, e
	}
	x.Drain()
	reply := a.finish()
	reply.Size = x.Size()
	return reply, nil
}

func (m *Model) assembly(watch func(model.Delta)) *assembly {
	return &assembly{maker: m.maker, tolerant: m.cfg.Profile == kernel.Tolerant, watch: watch}
}
