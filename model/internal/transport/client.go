// Package transport is what the HTTP adapters share: one bounded exchange with
// an endpoint, server-sent events, the classification of failures, and the
// JSON text of both wires.
//
// An exchange is one HTTP request. Nothing here sends a second one: no retry,
// no redirect. Nothing here puts a key, a header, a URL or a byte of a remote
// answer into an error.
package transport

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

const (
	// maxErrorBody is how much of an error answer is read to classify it.
	maxErrorBody = 64 << 10
	// errorBodyGrace bounds the wait for that body: the status is known, and
	// a server that stalls now must not use up the request's whole time.
	errorBodyGrace = 2 * time.Second
	// maxHeader bounds the header of an answer.
	maxHeader = 128 << 10
)

// Client sends requests to one URL. It is safe for concurrent use; do not
// change it after the first Post.
type Client struct {
	HTTP   *http.Client
	URL    string
	Header http.Header // of every request, with the key
	Cap    int64       // bytes of an answer's body, positive
	Now    func() time.Time
	// Classify says what an error answer means. body holds at most 64 KiB of
	// it, and none for a status that says everything itself.
	Classify func(status int, body []byte) *model.Error

	once     sync.Once
	blank    *http.Request // what every request begins as
	fault    error         // why there is none
	carriers sync.Pool     // of *carrier
	conns    *connections  // nil: they are left to HTTP
}

// own is the transport of a client that was made here. Nothing else takes part
// in its requests, and it changes nothing of them: they share URL and header.
type own struct{ *http.Transport }

// NewHTTP returns the client of an adapter that was given none, and given with
// its redirects refused otherwise.
//
// The client made here ignores the proxy variables of the environment, so that
// a key travels to the configured host and to nobody else; who needs a proxy
// gives a client of their own.
func NewHTTP(given *http.Client) *http.Client {
	var c http.Client
	if given != nil {
		c = *given
	} else {
		c.Transport = own{&http.Transport{
			DialContext:            newDialer().dial,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    maxFree,
			IdleConnTimeout:        freeFor,
			MaxResponseHeaderBytes: maxHeader,
			WriteBufferSize:        onePiece + maxRequestHeader, // a body in one piece then travels in one write with its header
			DisableCompression:     true,
			// A pooled HTTP/2 connection whose peer is gone would otherwise
			// time out one request after another.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		}}
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Post sends pieces, joined, as one request and returns the exchange when its
// answer has the status 200, 201 or 203. Any other end is an error of type *model.Error.
// The timeout bounds the exchange to the last byte of its answer; 0 is none.
// The pieces are read, never changed, possibly until after Post returns.
func (c *Client) Post(ctx context.Context, pieces Pieces, timeout time.Duration) (*Exchange, error) {
	if c.once.Do(c.prepare); c.fault != nil {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: "the request could not be built"}
	}
	if ctx.Err() != nil {
		return nil, aborted()
	}
	x := &Exchange{carrier: c.carrier(ctx), cap: c.Cap}
	x.carrier.load(pieces, timeout)
	resp, err := c.send(x.carrier)
	if err != nil {
		defer x.Close()
		if !x.carrier.body.begun.Load() {
			return nil, x.notSent(err)
		}
		return nil, x.Failure(err)
	}
	x.body, x.length = resp.Body, resp.ContentLength
	if resp.StatusCode/100 != 2 {
		defer x.Close()
		return nil, c.reject(x, resp)
	}
	if err := x.accept(resp); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

func (c *Client) prepare() {
	c.blank, c.fault = http.NewRequestWithContext(context.Background(), http.MethodPost, c.URL, http.NoBody)
	if c.fault != nil {
		return
	}
	c.blank.Header = c.Header
	at, here := address(c.blank.URL)
	if transport, ours := c.HTTP.Transport.(own); ours && here {
		c.conns = &connections{
			dial: func(ctx context.Context) (*http.ClientConn, error) { return transport.NewClientConn(ctx, "http", at) },
			now:  func() time.Time { return time.Now().Round(0) },
		}
	}
}

// send sends one request. Its GetBody is nil: net/http then never sends it a
// second time when a pooled connection turns out to be dead.
func (c *Client) send(k *carrier) (*http.Response, error) {
	transport, ours := c.HTTP.Transport.(own)
	switch {
	case !ours:
		return c.HTTP.Do(k.request)
	case k.conns == nil: // whoever looks on is told of connections by a Transport alone
		return transport.RoundTrip(k.request)
	}
	var err error
	if k.conn, err = k.conns.take(k.ctx); err != nil {
		return nil, err
	}
	return k.conn.RoundTrip(k.request)
}

// CloseIdle closes the connections that have no request under way.
func (c *Client) CloseIdle() {
	c.HTTP.CloseIdleConnections()
	if c.once.Do(c.prepare); c.conns != nil {
		c.conns.closeFree()
	}
}

// reject turns an answer with an error status into a failure.
func (c *Client) reject(x *Exchange, resp *http.Response) *model.Error {
	var body []byte
	if needsBody(resp.StatusCode) {
		body = x.head(maxErrorBody, errorBodyGrace)
	}
	e := c.Classify(resp.StatusCode, body)
	if e.Status == 0 {
		e.Status = resp.StatusCode
	}
	e.RetryAfter = RetryAfter(resp.Header, c.Now())
	if resp.StatusCode != http.StatusSwitchingProtocols { // what follows is of no end
		x.Drain()
	}
	if ended := x.ended(); ended != nil && ended.Kind == kernel.FailAborted {
		return ended // whoever aborts is told so, even if the status came first
	}
	return e
}

// needsBody tells the statuses whose meaning depends on the body: a quota, a
// request over the model's window.
func needsBody(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusForbidden,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return true
	}
	return false
}

// accept looks at the header of a 2xx answer before a byte of it is read.
func (x *Exchange) accept(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNonAuthoritativeInfo: // some gateways say one of the latter
	default: // 206 is a piece of an answer, 202 the promise of one
		e := Invalid("the answer's status says that it is not whole")
		e.Status = resp.StatusCode
		return e
	}
	if resp.ContentLength > x.cap {
		return tooLarge()
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return Invalid("the answer is compressed, which was not asked for")
	}
	kind := resp.Header.Get("Content-Type")
	if kind != "application/json" && kind != "text/event-stream" { // what most say, as it is
		kind, _, _ = mime.ParseMediaType(kind)
	}
	switch {
	case kind == "text/event-stream":
		x.Format = FormatEvents
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		x.Format = FormatJSON
	case kind == "text/html":
		return Invalid("the answer is a web page")
	}
	return nil
}
