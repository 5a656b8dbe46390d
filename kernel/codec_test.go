package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// everyEvent is one value of each event type.
func everyEvent() []Event {
	return []Event{
		RunStarted{}, ContextPrepared{}, ContextFailed{}, ModelReplied{}, ModelFailed{}, CallDecided{},
		ApprovalDecided{}, CallStarted{}, CallReturned{}, Verified{}, TimerFired{},
		Resumed{}, ClaimRefused{}, Reconciled{}, EffectResolved{}, UserSaid{}, ContextOver{}, Summarized{}, Observed{}, Noticed{}, Cancelled{}, HostFailed{},
	}
}

// everyCommand is one value of each command type.
func everyCommand() []Command {
	return []Command{
		PrepareContext{}, CallModel{}, DecideCall{}, AskHuman{}, CloseApproval{}, RunTool{}, Settle{}, Reconcile{}, Summarize{}, Observe{},
		AwaitResolution{}, Verify{}, SetTimer{}, Abort{}, Commit{}, Finish{},
	}
}

func typeNames[T any](values []T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = reflect.TypeOf(v).Name()
	}
	slices.Sort(names)
	return names
}

func TestEveryKindIsListed(t *testing.T) {
	if got, want := typeNames(everyEvent()), receivers(t, "event"); !slices.Equal(got, want) {
		t.Errorf("everyEvent has %q, the package has %q", got, want)
	}
	if got, want := typeNames(everyCommand()), receivers(t, "command"); !slices.Equal(got, want) {
		t.Errorf("everyCommand has %q, the package has %q", got, want)
	}
}

// filler gives every field a value of its own, none of them zero: a field that
// the codec drops or mixes up then shows.
type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d <&> \u2028 \x00 汉😀", f.n))
	case reflect.Int, reflect.Int64:
		v.SetInt(math.MaxInt64 - f.n) // not exact as a float
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(f.n % 256))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.fill(field)
			}
		}
	default:
		panic("the filler does not know " + v.Kind().String())
	}
}

func filledEvent(e Event) Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	new(filler).fill(v)
	return v.Interface().(Event)
}

func TestEventRoundTrip(t *testing.T) {
	for _, zero := range everyEvent() {
		for _, e := range []Event{zero, filledEvent(zero)} {
			b, err := EncodeEvent(e)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeEvent(b)
			if err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			if !reflect.DeepEqual(got, e) {
				t.Errorf("%s\n got %#v\nwant %#v", b, got, e)
			}
			if got.Kind() != e.Kind() || got.When() != e.When() {
				t.Errorf("%s: kind or instant differs", b)
			}
		}
	}
}

// Each field of a state is kept, but for the indexes, which
// TestReplayIsIdentical fills.
func TestStateRoundTrip(t *testing.T) {
	var s State
	new(filler).fill(reflect.ValueOf(&s).Elem())
	s.Repeat.Recent[0].Count = 3
	if got := throughCodec(t, s); !reflect.DeepEqual(got, s) {
		t.Errorf("\n got %#v\nwant %#v", got, s)
	}
}

// Report A08: digits stay digits, whatever their number.
func TestIntegersKeepTheirDigits(t *testing.T) {
	b, err := EncodeEvent(ContextPrepared{At: 9007199254740993, Cmd: math.MaxInt64, InputTokens: math.MinInt64})
	if err != nil {
		t.Fatal(err)
	}
	for _, digits := range []string{"9007199254740993", "9223372036854775807", "-9223372036854775808"} {
		if !bytes.Contains(b, []byte(digits)) {
			t.Errorf("%s lacks %s", b, digits)
		}
	}
	if _, err := DecodeEvent(bytes.Replace(b, []byte("9007199254740993"), []byte("9007199254740993.0"), 1)); err == nil {
		t.Error("a fraction was read as an integer")
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := EncodeEvent(TimerFired{At: 1, Cmd: 2})
	if err != nil {
		t.Fatal(err)
	}
	swap := func(from, to string) string { return strings.Replace(string(good), from, to, 1) }
	for _, c := range []struct {
		name, text string
		want       Code
	}{
		{"nothing", "", CodeInvalidEvent},
		{"null", "null", CodeInvalidEvent},
		{"an array", "[]", CodeInvalidEvent},
		{"no version", swap(`"v":1,`, ``), CodeInvalidEvent},
		{"version 0", swap(`"v":1`, `"v":0`), CodeInvalidEvent},
		{"a newer version", swap(`"v":1`, `"v":2`), CodeVersion},
		{"a newer version with a new field", swap(`"v":1`, `"v":2,"sealed":true`), CodeVersion},
		{"a newer version of a new shape", `{"v":2,"kind":["timer_fired"]}`, CodeVersion},
		{"an unknown field of the envelope", swap(`"v":1`, `"v":1,"sealed":true`), CodeInvalidEvent},
		{"an unknown field of the event", swap(`"cmd":2`, `"cmd":2,"why":"?"`), CodeInvalidEvent},
		{"an unknown kind", swap(`timer_fired`, `timer_exploded`), CodeInvalidEvent},
		{"no event", `{"v":1,"kind":"timer_fired"}`, CodeInvalidEvent},
		{"a null event", `{"v":1,"kind":"timer_fired","event":null}`, CodeInvalidEvent},
		{"a trailing brace", string(good) + "}", CodeInvalidEvent},
		{"a trailing bracket", string(good) + "]", CodeInvalidEvent},
		{"a second event", string(good) + string(good), CodeInvalidEvent},
		{"a cut text", string(good[:len(good)-1]), CodeInvalidEvent},
	} {
		if _, err := DecodeEvent([]byte(c.text)); CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if e, err := DecodeEvent([]byte(" " + string(good) + "\n")); err != nil || e != (TimerFired{At: 1, Cmd: 2}) {
		t.Errorf("white space around an event: %v, %v", e, err)
	}
	if _, err := EncodeEvent(nil); CodeOf(err) != CodeInvalidEvent {
		t.Errorf("no event: %v", err)
	}
}

func TestDecodeStateRefuses(t *testing.T) {
	good, err := EncodeState(State{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old, new string
		want           Code
	}{
		{"a newer version", `"v":1`, `"v":2`, CodeVersion},
		{"an unknown field", `"turn":0`, `"turn":0,"round":0`, CodeInvalidEvent},
		{"a key that is no hex", `"ids":[]`, `"ids":[{"k":"xx","v":{}}]`, CodeInvalidEvent},
		{"a key of another length", `"ids":[]`, `"ids":[{"k":"00","v":{}}]`, CodeInvalidEvent},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if text == string(good) {
			t.Fatalf("%s: %s does not hold %s", c.name, good, c.old)
		}
		if _, err := DecodeState([]byte(text)); CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := DecodeState([]byte(`{"v":1,"state":null}`)); CodeOf(err) != CodeInvalidEvent {
		t.Errorf("a null state: %v", err)
	}
}

// The kernel repairs what is only shown as the codec does, and refuses the rest
// (TestInvalidText): a live run and its replay then read the same.
func TestRepairIsWhatTheCodecDoes(t *testing.T) {
	for _, s := range []string{"", "ok", "\xff", "a\xff\xfeb", "\xe4\xb8", "\xed\xa0\xbd", "汉\xf0\x9f", "\u2028<&>"} {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		if got := repair(s); got != want {
			t.Errorf("repair(%q) = %q, the codec makes %q", s, got, want)
		}
	}
}

func TestTimeAdd(t *testing.T) {
	for _, c := range []struct {
		at   Time
		d    time.Duration
		want Time
	}{
		{0, 0, 0}, {1, 2, 3}, {-5, 2, -3}, {5, -2, 3},
		{math.MaxInt64 - 1, 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}, {2, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, math.MaxInt64, -1},
	} {
		if got := c.at.Add(c.d); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.at, c.d, got, c.want)
		}
	}
}
