package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// keyHeader is where the service looks for the key.
const keyHeader = "Idempotency-Key"

// client speaks to the service. It sends each request once: who may send it
// again, and when, is for the ledger to say.
type client struct {
	base *url.URL
	http *http.Client
}

func newClient(base string, timeout time.Duration) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the address of the ticket service is no http URL", Hint: "give one such as https://tickets.example.com"}
	}
	return &client{base: u, http: &http.Client{
		Timeout: timeout,
		// net/http sends a request with an idempotency key again by itself when a kept
		// connection breaks, and follows some redirects with the body: neither here.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// found is a ticket as the service tells of it.
type found struct {
	ID  string `json:"id"`
	Key string `json:"key"`
	// evidence is the SHA-256 of the answer, in hex.
	evidence string
}

// create asks for the ticket of a key. An error that does not say otherwise
// leaves open whether the service made it.
func (c *client) create(ctx context.Context, key string, content any) (found, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return found{}, unsent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath("tickets").String(), bytes.NewReader(body))
	if err != nil {
		return found{}, unsent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(keyHeader, key)
	status, text, err := c.send(req)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return found{}, unsent(err)
	case err != nil:
		return found{}, &tool.Error{Message: "the ticket service gave no answer", Transient: true, Err: err}
	case status == http.StatusCreated || status == http.StatusOK:
		return read(text)
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
		return found{}, &tool.Error{
			Disposition: kernel.DidNotHappen,
			Message:     fmt.Sprintf("the ticket service refused the ticket with status %d: %s", status, reason(text)),
		}
	}
	return found{}, &tool.Error{Message: fmt.Sprintf("the ticket service answered with status %d, which does not say whether it made the ticket", status), Transient: true}
}

// unsent is an error that proves that nothing reached the service.
func unsent(err error) error {
	return &tool.Error{Message: "the ticket service could not be reached; nothing was sent", Disposition: kernel.DidNotHappen, Transient: true, Err: err}
}

// byKey asks whether there is a ticket of that key. Only an answer that names the
// key counts: a proxy has its own 404.
func (c *client) byKey(ctx context.Context, key string) (kernel.Presence, found, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath("tickets", "by-key", url.PathEscape(key)).String(), http.NoBody)
	if err != nil {
		return kernel.PresenceUnknown, found{}, err
	}
	status, text, err := c.send(req)
	if err != nil {
		return kernel.PresenceUnknown, found{}, err
	}
	t := found{evidence: hashOf(text)}
	switch err := json.Unmarshal(text, &t); {
	case err == nil && status == http.StatusOK && t.Key == key && t.ID != "":
		return kernel.Present, t, nil
	case err == nil && status == http.StatusNotFound && t.Key == key:
		return kernel.Absent, t, nil
	}
	return kernel.PresenceUnknown, found{}, fmt.Errorf("the ticket service answered a question by key with status %d", status)
}

func (c *client) send(req *http.Request) (status int, text []byte, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, text, err
}

// read takes the ticket out of an answer. One that cannot be read proves nothing.
func read(text []byte) (t found, err error) {
	if err := json.Unmarshal(text, &t); err != nil || t.ID == "" {
		return found{}, &tool.Error{Message: "the answer of the ticket service cannot be read", Transient: true, Err: err}
	}
	return t, nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// reason is what the service says of a refusal.
func reason(text []byte) string {
	var body struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &body) != nil || body.Error == "" {
		return "no reason given"
	}
	return kernel.Clip(tool.Clean(body.Error), 300)
}
