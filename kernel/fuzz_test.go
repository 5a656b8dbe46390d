package kernel

import (
	"bytes"
	"testing"
)

// FuzzStep reads a walk from bytes: a run's settings, then the orders, reports
// and garbage that its driver delivers. No order may panic, break an invariant
// or disagree with the second implementation; and a run is its events.
func FuzzStep(f *testing.F) {
	f.Add([]byte{})
	met := map[string]bool{}
	for seed := range uint64(700) { // one walk for each thing that walks meet
		r := &recorder{chooser: seeded(seed)}
		fresh := false
		for _, what := range takeWalk(r, true, 100).met() {
			fresh = fresh || !met[what]
			met[what] = true
		}
		if fresh {
			f.Add(r.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := takeWalk(&bytesChooser{data}, true, 100)
		w.failWith(t)
		var s State
		for _, e := range w.events {
			s, _ = mustStep(t, throughCodec(t, s), eventThroughCodec(t, e))
		}
		sameState(t, s, w.last())
	})
}

// FuzzDecodeEvent reads anything: an event that is read is written again as the
// same one, and nothing panics.
func FuzzDecodeEvent(f *testing.F) {
	for _, e := range everyEvent() {
		for _, e := range []Event{e, filledEvent(e)} {
			b, err := EncodeEvent(e)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEvent(data)
		if err != nil {
			if c := CodeOf(err); c != CodeInvalidEvent && c != CodeVersion {
				t.Fatalf("%v", err)
			}
			return
		}
		if s := DescribeEvent(e); !oneLine(s) {
			t.Fatalf("%q", s)
		}
		first, err := EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		second, err := EncodeEvent(eventThroughCodec(t, e))
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s becomes %s (%v)", first, second, err)
		}
	})
}
