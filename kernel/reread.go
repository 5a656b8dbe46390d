package kernel

import (
	"bytes"
	"encoding/json"
)

// reread reads the events that every turn has in the exact form that
// EncodeEvent gives them, and nil for everything else, which DecodeEvent then
// reads field by field. It is what makes a long run quick to take over: that
// the bytes are the ones which the event is written as says all that a strict
// reading would have to look for.
func reread(b []byte) Event {
	rest, ok := bytes.CutPrefix(b, []byte(header))
	if !ok {
		return nil
	}
	kind, body, ok := bytes.Cut(rest, []byte(`","event":`))
	if !ok || len(body) < 2 || body[len(body)-1] != '}' {
		return nil
	}
	body = body[:len(body)-1]
	switch EventKind(kind) {
	case KindContextPrepared:
		return rereadAs(b, body, new(ContextPrepared))
	case KindModelReplied:
		return rereadAs(b, body, new(ModelReplied))
	case KindCallDecided:
		return rereadAs(b, body, new(CallDecided))
	case KindCallStarted:
		return rereadAs(b, body, new(CallStarted))
	case KindCallReturned:
		return rereadAs(b, body, new(CallReturned))
	}
	return nil
}

// header is what an event of this Version begins with.
const header = `{"v":1,"kind":"`

func rereadAs[E Event](whole, body []byte, e *E) Event {
	if json.Unmarshal(body, e) != nil {
		return nil
	}
	if again, err := EncodeEvent(*e); err != nil || !bytes.Equal(again, whole) {
		return nil
	}
	return *e
}
