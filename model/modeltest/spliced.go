package modeltest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// testSpliced: a reply that is not one answer of the assistant, or a call whose
// arguments are not text, contradicts its wire: nothing of it may run.
func testSpliced(t *testing.T, f Factory) {
	one, other := f.calling(t, true, "msg_1"), f.calling(t, true, "msg_2")
	events, others := events(one), events(other)
	last := len(events) - 1
	joined := func(parts ...[]string) string { return strings.Join(slices.Concat(parts...), "") }
	bodies := map[string]string{
		"an answer, then another": joined(events[:last], others),
		"one within another":      joined(events[:1], others[:last], events[1:]),
		"of somebody else":        strings.Replace(one, `"role":"assistant"`, `"role":"user"`, 1),
		"no text":                 strings.Replace(one, "~", "\xff", 1),
	}
	if f.Wire == stub.OpenAI { // each of its events names its answer
		bodies["half and half"] = joined(events[:last/2], others[last/2:])
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) { f.contradicts(t, true, body) })
	}
	plain := f.calling(t, false, "msg_1")
	for name, body := range map[string]string{
		"plain, of somebody else": strings.Replace(plain, `"role":"assistant"`, `"role":"user"`, 1),
		"plain, no text":          strings.Replace(plain, "~", "\xff", 1),
	} {
		t.Run(name, func(t *testing.T) { f.contradicts(t, false, body) })
	}
}

// events are those of a stream, each with the blank line that ends it.
func events(stream string) []string {
	all := strings.SplitAfter(stream, "\n\n")
	return all[:len(all)-1]
}

// contradicts has a whole answer read that contradicts its wire: the reply has a
// fault, or it is the failure that says so.
func (f Factory) contradicts(t *testing.T, stream bool, body string) {
	t.Helper()
	b := f.start(t, Config{Stream: stream}, stub.Options{})
	b.srv.Play(stub.Bytes(body))
	r, _, err := call(t, b.model, user("hi"))
	var failed *model.Error
	switch {
	case err == nil && r.Fault == "":
		t.Errorf("no fault in the reply to\n%s", body)
	case err != nil && (!errors.As(err, &failed) || failed.Kind != kernel.FailInvalid):
		t.Errorf("%v, want a fault or a failure of kind %s for\n%s", err, kernel.FailInvalid, body)
	}
}

// calling is an answer with a call, on the wire.
func (f Factory) calling(t *testing.T, stream bool, id string) string {
	t.Helper()
	form := stub.Form{Wire: f.Wire, Stream: stream, Model: "m", ID: id}
	body, err := stub.Encode(form, stub.Reply{Calls: []stub.Call{{ID: "c1", Name: "f", Args: `{"s":"~"}`}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
