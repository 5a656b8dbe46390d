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

// found is what the service says of a ticket.
type found struct {
	ID      string `json:"id"`
	Key     string `json:"key"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
	// evidence is the SHA-256 of the answer, in hex.
	evidence string
}

// is reports whether it is the ticket of an order: a JSON object with an id may be
// anything, such as the login page of a proxy.
func (f *found) is(o Order) bool {
	return f.ID != "" && f.Key == o.Ticket && f.Subject == o.Subject && f.Body == o.Body
}

// create asks for the ticket of an order. An error that does not say otherwise
// leaves open whether the service made it. Of a refusal, too, the evidence is returned.
func (c *client) create(ctx context.Context, tenant, user string, o Order) (found, error) {
	body, err := json.Marshal(content{tenant, user, o.Subject, o.Body})
	if err != nil {
		return found{}, unsent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath("tickets").String(), bytes.NewReader(body))
	if err != nil {
		return found{}, unsent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(keyHeader, o.Ticket)
	status, text, err := c.send(req)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return found{}, unsent(err)
	case err != nil:
		return found{}, &tool.Error{Message: "the ticket service gave no answer", Transient: true, Err: err}
	}
	t := found{evidence: hashOf(text)}
	switch err := json.Unmarshal(text, &t); {
	case err == nil && (status == http.StatusCreated || status == http.StatusOK) && t.is(o):
		return t, nil
	case err == nil && refuses(status) && t.Key == o.Ticket:
		return found{evidence: t.evidence}, &tool.Error{
			Disposition: kernel.DidNotHappen,
			Message:     fmt.Sprintf("the ticket service refused the ticket with status %d: %s", status, reason(text)),
		}
	}
	return found{}, &tool.Error{Message: fmt.Sprintf("the ticket service answered with status %d and something that does not say whether it made the ticket", status), Transient: true}
}

// refuses reports whether a status says that a request made nothing, where it is
// the service that says so. A request that came too early, too slowly or too
// often, or beside another one of its key, is for a later one to settle.
func refuses(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// unsent is an error that proves that nothing reached the service.
func unsent(err error) error {
	return &tool.Error{Message: "the ticket service could not be reached; nothing was sent", Disposition: kernel.DidNotHappen, Transient: true, Err: err}
}

// byKey asks whether there is the ticket of an order. Only an answer that names
// the key counts: a proxy has its own 404.
func (c *client) byKey(ctx context.Context, o Order) (kernel.Presence, found, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath("tickets", "by-key", url.PathEscape(o.Ticket)).String(), http.NoBody)
	if err != nil {
		return kernel.PresenceUnknown, found{}, err
	}
	status, text, err := c.send(req)
	if err != nil {
		return kernel.PresenceUnknown, found{}, err
	}
	t := found{evidence: hashOf(text)}
	switch err := json.Unmarshal(text, &t); {
	case err == nil && status == http.StatusOK && t.is(o):
		return kernel.Present, t, nil
	case err == nil && status == http.StatusNotFound && t.Key == o.Ticket:
		return kernel.Absent, t, nil
	}
	return kernel.PresenceUnknown, found{}, fmt.Errorf("the ticket service answered a question by key with status %d and something that does not say whether it has the ticket", status)
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
