package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// maxData bounds the facts of a result, in bytes.
const maxData = 1 << 20

// noOutput is what a model is told of a result without text: several wires
// refuse an empty one.
const noOutput = "(no output)"

// Outcome is what came of a call, fit for a model and a journal.
type Outcome struct {
	// Text is clean (see Clean), not blank and within the tool's limit: it holds
	// no control character but \n and \t. A typed result (see Func) keeps what
	// it says to the character: where its strings hold others, the text has
	// their JSON escapes, such as \u001b. A failure reads
	// {"status":"error","code":…,"message":…} unless the tool gave a text of
	// its own.
	Text     string
	IsError  bool
	Data     json.RawMessage // valid JSON, or nil
	Facts    kernel.ResultFacts
	Warnings []string
}

// failure is an error that was understood.
type failure struct {
	code        kernel.Code
	message     string
	disposition kernel.Disposition
	status      kernel.Status // empty: StatusError
	result      Result        // what the tool gave beside it
}

// succeed is the outcome of a call that returned no error.
func (k traits) succeed(r Result) Outcome {
	facts := kernel.ResultFacts{Status: kernel.StatusOK, Disposition: k.settle(r.Disposition, kernel.Landed)}
	if r.IsError {
		facts.Status = kernel.StatusError
		if k.isRead() {
			facts.Disposition = k.settle(r.Disposition, kernel.DidNotHappen)
		}
	}
	return k.outcome(r.Text, r.IsError, r.Data, facts)
}

// complaint is what an error of a tool says.
type complaint struct {
	classified *Error      // nil: the tool did not classify it
	code       kernel.Code // otherwise, as the two below
	message    string
}

// hear asks an error of a tool all that there is to ask. nil: there is none.
func hear(err error) *complaint {
	if err == nil {
		return nil
	}
	if classified, ok := errors.AsType[*Error](err); ok {
		e := *classified // a copy: what is nil panics here
		return &complaint{classified: &e}
	}
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		return &complaint{code: e.Code, message: e.Message}
	}
	return &complaint{code: CodeFailed, message: err.Error()}
}

// judge is the outcome of a call that came back.
func (r *running) judge(back returned) Outcome {
	switch {
	case back.panicked:
		return r.fail(r.doubtful(kernel.CodeInternal, unexpected))
	case back.failed == nil:
		return r.succeed(back.result)
	case back.failed.classified != nil:
		return r.failAs(back.failed.classified, back.result)
	case r.own.Err() != nil:
		return r.fail(r.ended(r.reason()))
	}
	return r.fail(r.plain(back.failed))
}

// failAs is the outcome of a call whose failure the tool classified.
func (k traits) failAs(classified *Error, result Result) Outcome {
	f := failure{
		code:        classified.Code,
		message:     classified.Message,
		disposition: k.settle(classified.Disposition, k.unproven()),
		result:      result,
	}
	if f.code == "" {
		f.code = CodeFailed
	}
	if f.disposition == kernel.InDoubt {
		f.message += unknownOutcome
	}
	switch {
	case classified.Fatal:
		f.status = kernel.StatusFatal
	case classified.Transient && (f.disposition == kernel.DidNotHappen || k.isRead() || k.keyed):
		f.status = kernel.StatusRetryable
	}
	return k.fail(f)
}

// plain is the failure of an error that says nothing of its effect.
func (k traits) plain(c *complaint) failure {
	msg := c.message
	if blank(msg) {
		msg = "the tool failed"
	}
	return k.doubtful(c.code, msg)
}

// unproven is the disposition of a failure that says nothing of it.
func (k traits) unproven() kernel.Disposition {
	if k.isRead() {
		return kernel.DidNotHappen
	}
	return kernel.InDoubt
}

// settle takes a tool's word where it is one, else the default. A read has no
// effect that could be in doubt.
func (k traits) settle(given, otherwise kernel.Disposition) kernel.Disposition {
	switch given {
	case "":
		return otherwise
	case kernel.Landed, kernel.DidNotHappen:
		return given
	}
	return k.unproven()
}

func (k traits) fail(f failure) Outcome {
	text := f.result.Text
	if blank(text) {
		// Half of the room for the words leaves the other half for escapes.
		msg, _ := shorten(f.message, k.limits.MaxResult/2)
		text = errorText(f.code, msg)
	}
	if f.status == "" {
		f.status = kernel.StatusError
	}
	return k.outcome(text, true, f.result.Data, kernel.ResultFacts{
		Status: f.status, Disposition: f.disposition, Code: f.code,
	})
}

// shorten cleans text and bounds it to size bytes. Of a text that is far too
// long it looks at the two ends alone.
func shorten(text string, size int) (string, int64) {
	reach := 2 * size
	if len(text) <= 2*reach {
		return Bound(Clean(text), size)
	}
	head, tail := TrimCut([]byte(text[:reach]), []byte(text[len(text)-reach:]))
	omitted := int64(len(text) - len(head) - len(tail))
	return Excerpt(Clean(string(head)), Clean(string(tail)), omitted, size)
}

// outcome cleans and bounds what goes out, and counts it.
func (k traits) outcome(text string, isError bool, data json.RawMessage, facts kernel.ResultFacts) Outcome {
	o := Outcome{IsError: isError, Facts: facts}
	if o.Text, o.Facts.Omitted = shorten(text, k.limits.MaxResult); blank(o.Text) {
		o.Text = noOutput
	}
	o.Facts.Digest, o.Facts.Size = digestOf(o.Text), len(o.Text)
	switch {
	case data == nil:
	case len(data) > maxData:
		o.Warnings = append(o.Warnings, "the facts of a result were dropped: over 1 MiB")
	case !utf8.Valid(data) || !json.Valid(data):
		o.Warnings = append(o.Warnings, "the facts of a result were dropped: not JSON")
	default:
		o.Data = data
	}
	return o
}

// digestOf is the SHA-256 of a text, in hexadecimal, without a copy of it all.
func digestOf(text string) string {
	h := sha256.New()
	var piece [512]byte
	for text != "" {
		n := copy(piece[:], text)
		h.Write(piece[:n])
		text = text[n:]
	}
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], h.Sum(piece[:0]))
	return string(digits[:])
}
