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
