package modeltest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// testSecrets: no key, header or body is in the text of an error, of a fault or
// of a model.
func testSecrets(t *testing.T, f Factory) {
	const key, header, body = "sk-KEYSECRET", "HEADERSECRET", "BODYSECRET"
	planted := http.Header{"X-Request-Id": {header}, "Www-Authenticate": {header}, "Retry-After": {header}}
	fail := func(x stub.Fail) stub.Step {
		x.Message = body
		return stub.Step{Fail: &x, Header: planted}
	}
	event := stub.ErrorEvent(body, 500)
	event.Fail.Message = body
	for name, step := range map[string]stub.Step{
		"401":           fail(stub.Fail{Status: 401}),
		"429":           fail(stub.Fail{Status: 429}),
		"500":           fail(stub.Fail{Status: 500}),
		"quota":         fail(stub.Fail{Kind: kernel.FailQuota, Status: 429}),
		"error event":   event,
		"HTML":          {Raw: &stub.Raw{ContentType: "text/html; x=" + header, Body: body}, Header: planted},
		"broken JSON":   {Raw: &stub.Raw{Body: body}, Header: planted},
		"broken stream": {Raw: &stub.Raw{Body: "data: {" + body + "\n\n"}},
		"wrong shape":   stub.Bytes(`{"` + body + `":"` + body + `","choices":"` + body + `","content":"` + body + `","type":"` + body + `"}`),
		"wrong event":   stub.Bytes(`data: {"type":"` + body + `","choices":"` + body + `","delta":"` + body + `"}` + "\n\n"),
		"cut":           {Reply: &stub.Reply{Text: body}, Cut: &stub.Cut{At: stub.At{Bytes: 90}, Abrupt: true}},
		"bad header":    {Reply: &stub.Reply{Text: body}, Header: http.Header{"Content-Encoding": {"gzip"}, "X-Secret": {header}}},
		"redirect":      {Raw: &stub.Raw{Status: 302}, Header: http.Header{"Location": {"http://127.0.0.1:1/" + header}}},
	} {
		t.Run(name, func(t *testing.T) {
			f.both(t, func(t *testing.T, stream bool) {
				b := f.start(t, Config{Stream: stream, Key: key}, stub.Options{})
				b.srv.Play(step)
				r, _, err := call(t, b.model, user(body))
				if err != nil {
					tellsNothing(t, err, key, header, body)
					return
				}
				// The reply is the provider's; its fault is ours to show.
				for _, secret := range []string{key, header, body} {
					if strings.Contains(r.Fault, secret) {
						t.Errorf("the fault shows %s: %s", secret, r.Fault)
					}
				}
			})
		})
	}
	t.Run("no connection", func(t *testing.T) {
		l, err := stub.Listen(http.NotFoundHandler())
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		m := f.New(t, Config{URL: f.url(l), Key: key}.filled())
		_, _, err = call(t, m, user(body))
		tellsNothing(t, err, key, body)
	})
	t.Run("a request that cannot be sent", func(t *testing.T) {
		b := f.start(t, Config{Key: key}, stub.Options{})
		b.srv.Play(stub.Text("ok"))
		bad := request(userMessage("hi"), assistant("x", kernel.Call{ID: "c1", Name: "f", Arguments: `{"` + body}), resultMessage("c1", "r", false))
		_, _, err := call(t, b.model, bad)
		tellsNothing(t, err, key, body)
		if b.srv.Count() > 0 && b.refusals() == "" {
			t.Error("broken arguments were sent as if they were whole")
		}
	})
	t.Run("the model itself", func(t *testing.T) {
		b := f.start(t, Config{Key: key}, stub.Options{})
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, b.model); strings.Contains(text, key) {
				t.Errorf("%s of the model shows the key", verb)
			}
		}
	})
}

// tellsNothing looks for secrets in every rendering of an error and of what it
// wraps.
func tellsNothing(t *testing.T, err error, secrets ...string) {
	t.Helper()
	if e := (*model.Error)(nil); !errors.As(err, &e) {
		t.Fatalf("the error is no *model.Error: %T", err)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			text := fmt.Sprintf(verb, err)
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s of %T shows %s: %s", verb, err, secret, text)
				}
			}
		}
	}
}
