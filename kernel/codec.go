package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Version is the version of what the codec writes. It grows when an older
// reader would misunderstand.
const Version = 1

type eventEnvelope struct {
	V     int             `json:"v"`
	Kind  EventKind       `json:"kind"`
	Event json.RawMessage `json:"event"`
}

type stateEnvelope struct {
	V     int             `json:"v"`
	State json.RawMessage `json:"state"`
}

// EncodeEvent writes an event as one JSON object. Integers keep all their
// digits.
func EncodeEvent(e Event) ([]byte, error) {
	return AppendEvent(make([]byte, 0, eventSize), e)
}

// AppendEvent appends what EncodeEvent writes to b.
func AppendEvent(b []byte, e Event) ([]byte, error) {
	if e == nil {
		return nil, invalid("no event")
	}
	b = appendNumber(b, `{"v":`, Version)
	b = appendText(b, `,"kind":`, e.Kind())
	b, err := appendEvent(append(b, `,"event":`...), e)
	return append(b, '}'), err
}

// eventSize is room enough for most events.
const eventSize = 256

// DecodeEvent reads what EncodeEvent wrote. A newer version is VERSION; a text
// that is no event, or has fields that are not known, is INVALID_EVENT.
func DecodeEvent(b []byte) (Event, error) {
	if e := reread(b); e != nil {
		return e, nil
	}
	var env eventEnvelope
	if err := openEnvelope(b, &env, &env.V); err != nil {
		return nil, err
	}
	return decodeKind(env.Kind, env.Event)
}

func decodeKind(kind EventKind, b []byte) (Event, error) {
	switch kind {
	case KindRunStarted:
		return decodeAs[RunStarted](b)
	case KindContextPrepared, KindContextFailed, KindContextOver, KindSummarized:
		return decodePreparation(kind, b)
	case KindModelReplied:
		return decodeAs[ModelReplied](b)
	case KindModelFailed:
		return decodeAs[ModelFailed](b)
	case KindCallDecided:
		return decodeAs[CallDecided](b)
	case KindApprovalDecided:
		return decodeAs[ApprovalDecided](b)
	case KindCallStarted:
		return decodeAs[CallStarted](b)
	case KindCallReturned:
		return decodeAs[CallReturned](b)
	case KindVerified:
		return decodeAs[Verified](b)
	case KindTimerFired:
		return decodeAs[TimerFired](b)
	case KindResumed:
		return decodeAs[Resumed](b)
	case KindClaimRefused:
		return decodeAs[ClaimRefused](b)
	case KindReconciled:
		return decodeAs[Reconciled](b)
	case KindEffectResolved:
		return decodeAs[EffectResolved](b)
	case KindUserSaid:
		return decodeAs[UserSaid](b)
	case KindObserved:
		return decodeAs[Observed](b)
	case KindNoticed:
		return decodeAs[Noticed](b)
	case KindCancelled:
		return decodeAs[Cancelled](b)
	case KindHostFailed:
		return decodeAs[HostFailed](b)
	}
	return nil, invalid(fmt.Sprintf("event kind %.40q", kind))
}

func decodePreparation(kind EventKind, b []byte) (Event, error) {
	switch kind {
	case KindContextPrepared:
		return decodeAs[ContextPrepared](b)
	case KindContextFailed:
		return decodeAs[ContextFailed](b)
	case KindContextOver:
		return decodeAs[ContextOver](b)
	}
	return decodeAs[Summarized](b)
}

func decodeAs[E Event](b []byte) (Event, error) {
	var e E
	if err := strictJSON(b, &e); err != nil {
		return nil, err
	}
	return e, nil
}

// EncodeState writes a state as one JSON object: equal states give equal
// bytes.
func EncodeState(s State) ([]byte, error) {
	return json.Marshal(struct {
		V     int   `json:"v"`
		State State `json:"state"`
	}{Version, s})
}

// DecodeState reads what EncodeState wrote, with the errors of DecodeEvent.
func DecodeState(b []byte) (State, error) {
	var env stateEnvelope
	var s State
	if err := openEnvelope(b, &env, &env.V); err != nil {
		return s, err
	}
	if err := strictJSON(env.State, &s); err != nil {
		return State{}, err
	}
	return s, nil
}

// openEnvelope reads env, whose version is at v. A newer envelope may have
// fields that are not known here: what counts then is its version.
func openEnvelope(b []byte, env any, v *int) error {
	err := strictJSON(b, env)
	if err != nil {
		var newer struct {
			V int `json:"v"`
		}
		if json.Unmarshal(b, &newer) != nil || newer.V <= Version {
			return err
		}
		*v = newer.V
	}
	return checkVersion(*v)
}

func checkVersion(v int) error {
	switch {
	case v > Version:
		return &Error{Code: CodeVersion, Message: fmt.Sprintf("written in version %d; this program reads up to %d", v, Version), Hint: "use the newer program"}
	case v < 1:
		return invalid("no version")
	}
	return nil
}

// strictJSON reads exactly one JSON object whose fields v all has.
func strictJSON(b []byte, v any) error {
	const space = " \t\r\n"
	if !bytes.HasPrefix(bytes.TrimLeft(b, space), []byte("{")) {
		return invalid("not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return &Error{Code: CodeInvalidEvent, Message: "not what the codec writes", Err: err}
	}
	if rest := bytes.TrimLeft(b[d.InputOffset():], space); len(rest) > 0 {
		return invalid("something follows the JSON object")
	}
	return nil
}
