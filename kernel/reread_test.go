package kernel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// What is read quickly is what is read strictly, and what is not in the exact
// form is left to the strict reading.
func TestReread(t *testing.T) {
	if want := fmt.Sprintf(`{"v":%d,"kind":"`, Version); header != want {
		t.Fatalf("the header is %s, want %s", header, want)
	}
	for _, e := range everyEvent() {
		e = filledEvent(e)
		b, err := EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		strict, err := DecodeEvent(append([]byte{' '}, b...))
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		quick, err := DecodeEvent(b)
		if err != nil || !reflect.DeepEqual(quick, strict) {
			t.Errorf("%s\nquickly  %+v (%v)\nstrictly %+v", b, quick, err, strict)
		}
	}
	call := Call{ID: "a", Name: "f", Arguments: `{"text":"a \"quoted\" \n line, ü\u2028"}`}
	for _, e := range []Event{
		ContextPrepared{At: -1, Cmd: 2, InputTokens: 3, Messages: 4, Tools: "d"},
		ModelReplied{At: 1, Cmd: 2, Turn: 3, Reply: ReplyFacts{Stop: StopCalls, Blocks: []BlockFact{{Kind: BlockText, Size: 1, Blank: true}, {Kind: BlockCall, Size: 2}}, Calls: []Call{call, call}, Usage: &Usage{Input: 1, Output: 2, CacheRead: 3}, Size: 4, Fault: "f"}},
		ModelReplied{Reply: ReplyFacts{Blocks: []BlockFact{}}},
		CallDecided{At: 1, Cmd: 2, Call: "a", Answer: Allow, Code: "c", Reason: "r", Rule: "u", Effect: Once, Attempts: 3, Keyed: true, Key: "k"},
		ContextPrepared{At: 1, Cmd: 2, Tools: "d", Attached: []string{"n1", "n\"2"}},
		CallDecided{At: 1, Cmd: 2, Call: "a", Answer: Deny, Rule: "u", Risk: RiskHigh, Policy: "p"},
		CallDecided{At: 1, Cmd: 2, Call: "a", Answer: Allow, Policy: "p", Changed: true},
		Observed{At: 1, Cmd: 2, Call: "a"},
		CallStarted{At: 1, Cmd: 2, Call: "a", Effect: "e"},
		CallReturned{At: 1, Cmd: 2, Call: "a", Result: ResultFacts{Status: StatusOK, Disposition: Landed, Code: "c", Digest: "d", Size: 5, Omitted: 6}, Jitter: 7},
	} {
		b, err := EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := reread(b); !reflect.DeepEqual(got, e) {
			t.Errorf("%s is read quickly as %+v", b, got)
		}
	}
	b, err := EncodeEvent(CallStarted{At: 1, Cmd: 2, Call: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if reread(b) == nil {
		t.Fatalf("%s is not read quickly", b)
	}
	for name, change := range map[string][2]string{
		"another version": {`{"v":1`, `{"v":2`},
		"a space":         {`"cmd":2`, `"cmd": 2`},
		"a field twice":   {`"cmd":2`, `"cmd":2,"cmd":2`},
		"an unknown one":  {`"cmd":2`, `"cmd":2,"more":1`},
		"another case":    {`"cmd"`, `"Cmd"`},
		"another order":   {`"at":1,"cmd":2`, `"cmd":2,"at":1`},
		"something after": {`"call":"a"}`, `"call":"a"},"x":{}`},
		"another kind":    {`call_started`, `run_started`},
	} {
		changed := strings.Replace(string(b), change[0], change[1], 1)
		if changed == string(b) {
			t.Fatalf("%s changes nothing", name)
		}
		if e := reread([]byte(changed)); e != nil {
			t.Errorf("%s is read quickly: %s gives %+v", name, changed, e)
		}
	}
}

// Whatever is read quickly, a strict reading reads as the same.
func FuzzReread(f *testing.F) {
	for _, e := range everyEvent() {
		for _, e := range []Event{e, filledEvent(e)} {
			b, err := EncodeEvent(e)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e := reread(b)
		if e == nil {
			return
		}
		strict, err := DecodeEvent(append([]byte{' '}, b...))
		if err != nil || !reflect.DeepEqual(e, strict) {
			t.Errorf("%q\nquickly  %+v\nstrictly %+v (%v)", b, e, strict, err)
		}
	})
}
