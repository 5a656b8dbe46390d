// Package openai makes vectors of texts at an endpoint that speaks OpenAI's
// /v1/embeddings. It sends each request once: who wants it tried again does so.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

var _ desk.Embedder = (*Embedder)(nil)

// Embedder makes vectors at one endpoint. It is safe for concurrent use. Close
// it after use.
type Embedder struct {
	config Config
	url    string
	client *http.Client
	own    *http.Transport // nil: the client was given
}

// New returns an embedder without asking the endpoint anything: CONFIGURATION.
func New(c Config) (*Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, wrong("the embedder's base URL is not an http or https URL")
	}
	e := &Embedder{config: c, url: u.JoinPath("embeddings").String(), client: &http.Client{}}
	if c.HTTPClient != nil {
		*e.client = *c.HTTPClient
	} else {
		e.own = &http.Transport{TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
		e.client.Transport = e.own
	}
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return e, nil
}

// Name is the model's.
func (e *Embedder) Name() string { return e.config.Model }

// Dimensions are those of the configuration.
func (e *Embedder) Dimensions() int { return e.config.Dimensions }

// Close closes the connections that wait for another request.
func (e *Embedder) Close() error {
	if e.own != nil {
		e.own.CloseIdleConnections()
	}
	return nil
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// Embed asks for all vectors in one request. Whatever the endpoint does wrong,
// and what it says with a refusal, is EMBEDDING_FAILED without its words; where
// ctx ends first, its error.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) < 1 || len(texts) > desk.MaxEmbedTexts {
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("an embedder is given 1 to %d texts", desk.MaxEmbedTexts)}
	}
	in := request{Model: e.config.Model, Input: texts, Format: "float"}
	if e.config.AskDimensions {
		in.Dimensions = e.config.Dimensions
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, failed("the request cannot be encoded", "", err)
	}
	within, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	answer, err := e.post(within, body)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("embedding: %w", ctx.Err())
		}
		return nil, err
	}
	return vectors(answer, len(texts))
}

func (e *Embedder) post(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, failed("the request cannot be made", "", nil)
	}
	req.Header.Set("Content-Type", "application/json")
	if e.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.config.Key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, unreached(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, failed(fmt.Sprintf("the embedder's endpoint answered with status %d", resp.StatusCode), "check the endpoint, the key and the model", nil)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, e.config.ResponseCap+1))
	switch {
	case err != nil:
		return nil, unreached(ctx, err)
	case int64(len(answer)) > e.config.ResponseCap:
		return nil, failed(fmt.Sprintf("the embedder's answer has over %d bytes", e.config.ResponseCap), "raise ResponseCap if the vectors are that long", nil)
	}
	return answer, nil
}

// unreached says what came in the way, without the URL that net/http puts in front.
func unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failed("the embedder's endpoint did not answer in time", "raise Timeout, or look at the endpoint", ctx.Err())
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return failed("the embedder's endpoint cannot be reached, or broke off", "check the base URL and the network", err)
}

func failed(message, hint string, err error) error {
	return &kernel.Error{Code: desk.CodeEmbeddingFailed, Message: message, Hint: hint, Err: err}
}
