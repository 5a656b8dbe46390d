package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRequestDigestOfEqualRequests(t *testing.T) {
	same := [][]string{
		{`{"a":1,"b":"x"}`, ` { "b" : "x", "a" : 1 } `, `{"b":"\u0078","\u0061":1}`},
		{``, ` `, `{}`, `{ }`},
		{`{"n":1.0}`, `{"n": 1.0}`},
		{`{"n":1}`},
		{`{"n":10}`},
		{`{"a":[1,2]}`, `{"a": [ 1, 2 ]}`},
		{`{"a":[2,1]}`},
		{`{"a":1,"a":1}`}, // no object: it stands for itself
		{`not an object`},
		{`not  an object`},
	}
	seen := map[string]int{}
	for i, group := range same {
		for _, arguments := range group {
			digest := RequestDigest("pay", arguments)
			if len(digest) != 64 {
				t.Fatalf("%q is no SHA-256 in hex", digest)
			}
			if other, known := seen[digest]; known && other != i {
				t.Errorf("%s has the digest of the group %v", arguments, same[other])
			} else if !known && arguments != group[0] {
				t.Errorf("%s and %s have different digests", group[0], arguments)
			}
			seen[digest] = i
		}
	}
	if RequestDigest("pay", `{}`) == RequestDigest("pay2", `{}`) || RequestDigest("a", "{}b") == RequestDigest("a{}", "b") {
		t.Error("the tool's name does not count, or runs into the arguments")
	}
}

// The ledger and the repeat watch agree on what is the same request.
func TestRequestDigestIsTheAction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call := Call{
			ID:   "c",
			Name: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "name"),
			Arguments: rapid.OneOf(
				rapid.Just(""), rapid.StringMatching(` ?\{"[ab]": ?[0-9]{1,3}(,"c":"[xy]{0,2}")?\}`), rapid.String(),
			).Draw(t, "arguments"),
		}
		admitted, _ := admitCall(call)
		action, err := admitted.Action.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if digest := RequestDigest(call.Name, call.Arguments); digest[:len(action)] != string(action) {
			t.Fatalf("the digest %s is not the action %s", digest, action)
		}
	})
}
