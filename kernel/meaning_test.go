package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

// No other spelling of a request slips past an unknown one or the repeat
// window: each group is one meaning, and no two groups are.
func TestMeaningDigest(t *testing.T) {
	same := [][]string{
		{`{}`, ``, ` `, `{"args":[]}`, `{"args":null}`, `{"a":false,"b":0,"c":"","d":{},"e":-0.00e7}`, `{"a":{"b":[],"c":{"d":""}}}`},
		{`{"program":"pay"}`, `{"program":"pay","args":[]}`, `{"args":[],"program":"p\u0061y"}`},
		{`{"program":"pay","args":["1"]}`, ` { "args" : ["\u0031"] , "program":"pay" } `},
		{`{"program":"pay","args":[1]}`, `{"program":"pay","args":[1.0]}`},
		{`{"n":100}`, `{"n":100.00}`, `{"n":1e2}`, `{"n":1E+2}`, `{"n":10.0e1}`, `{"n":1000e-1}`},
		{`{"n":-1.5}`, `{"n":-1.50}`, `{"n":-15e-1}`, `{"n":-0.15E1}`},
		{`{"n":1.5}`},
		{`{"n":10}`},
		{`{"n":9007199254740993}`, `{"n":9007199254740993.0}`},
		{`{"n":9007199254740992}`},
		{`{"n":1e99999999999999999999}`},
		{`{"n":1e99999999999999999998}`},
		{`{"n":"1.0"}`},
		{`{"n":"1"}`},
		{`{"n":true}`},
		{`{"n":"false"}`},
		{`{"n":[0]}`, `{"n":[0.0]}`},
		{`{"n":[[]]}`},
		{`{"n":[null]}`},
		{`{"n":[{}]}`, `{"n":[{"a":null}]}`},
		{`{"a":null,"a":1}`}, // no object: it stands for itself
		{`{"a":1}`},
		{`not an object`},
	}
	seen := map[string]int{}
	for i, group := range same {
		for _, arguments := range group {
			digest := MeaningDigest("pay", arguments)
			if other, known := seen[digest]; known && other != i {
				t.Errorf("%s means the same as %v", arguments, same[other])
			} else if !known && arguments != group[0] {
				t.Errorf("%s and %s do not mean the same", group[0], arguments)
			}
			seen[digest] = i
		}
	}
	if MeaningDigest("pay", `{}`) == MeaningDigest("pay2", `{}`) {
		t.Error("the tool's name does not count")
	}
}

// Equal requests mean the same.
func TestMeaningDigestOfEqualRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.StringMatching(`\{("[ab]": ?(-?[1-9][0-9]{0,2}(\.[0-9]{1,2})?|\[\]|null|"x"),"[cd]":[12])?\}`)
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		if RequestDigest("pay", a) == RequestDigest("pay", b) && MeaningDigest("pay", a) != MeaningDigest("pay", b) {
			t.Fatalf("%s and %s are equal and mean something else", a, b)
		}
	})
}
