package kernel

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// An index is a map that old copies do not see the changes of.
func TestIndexAgainstMap(t *testing.T) {
	type version struct {
		x    index[int]
		want map[int]int
	}
	rapid.Check(t, func(t *rapid.T) {
		versions := []version{{want: map[int]int{}}}
		for i := range rapid.IntRange(0, 80).Draw(t, "puts") {
			from := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "from")] // branches too
			k := rapid.IntRange(0, 30).Draw(t, "key")
			next := version{x: from.x.put(digest128(strconv.Itoa(k)), i), want: map[int]int{k: i}}
			for old, v := range from.want {
				if old != k {
					next.want[old] = v
				}
			}
			versions = append(versions, next)
		}
		for _, v := range versions {
			checkIndex(t, v.x, v.want)
			checkIndex(t, decodedIndex(t, v.x), v.want)
		}
	})
}

func checkIndex(t *rapid.T, x index[int], want map[int]int) {
	t.Helper()
	for k := range 31 {
		got, ok := x.get(digest128(strconv.Itoa(k)))
		w, has := want[k]
		if ok != has || got != w || x.has(digest128(strconv.Itoa(k))) != has {
			t.Fatalf("key %d: %d %t, want %d %t", k, got, ok, w, has)
		}
	}
	if n := len(x.flat()); n != len(want) {
		t.Fatalf("%d entries, want %d", n, len(want))
	}
}

// decodedIndex is x through JSON: one level, equal bytes.
func decodedIndex(t *rapid.T, x index[int]) (y index[int]) {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(y)
	if err != nil || !bytes.Equal(again, b) {
		t.Fatalf("%s becomes %s (%v)", b, again, err)
	}
	return y
}

// What is decoded may come in any order, and twice: the order of the levels is
// the index's own affair.
func TestIndexFromUnsorted(t *testing.T) {
	a, b := digest128("a"), digest128("b")
	entry := func(k key128, v int) string {
		h, _ := k.MarshalText()
		return `{"k":"` + string(h) + `","v":` + strconv.Itoa(v) + `}`
	}
	for _, text := range []string{
		"[" + entry(a, 1) + "," + entry(b, 2) + "]",
		"[" + entry(b, 2) + "," + entry(a, 1) + "]",
		"[" + entry(b, 2) + "," + entry(a, 1) + "," + entry(a, 1) + "]",
	} {
		var x index[int]
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		if got, _ := x.get(a); got != 1 {
			t.Errorf("%s: a = %d", text, got)
		}
		if got, _ := x.get(b); got != 2 {
			t.Errorf("%s: b = %d", text, got)
		}
		if x.has(digest128("c")) {
			t.Errorf("%s has c", text)
		}
	}
}

// Parts are delimited: what the parts are counts, not their bytes in a row.
func TestDigestKeepsPartsApart(t *testing.T) {
	for _, pair := range [][2][]string{
		{{"ab", "c"}, {"a", "bc"}},
		{{"a"}, {"a", ""}},
		{{"", "a"}, {"a", ""}},
		{nil, {""}},
	} {
		if digest128(pair[0]...) == digest128(pair[1]...) {
			t.Errorf("%q and %q have one digest", pair[0], pair[1])
		}
	}
	if CallDigest(Call{ID: "1", Name: "a", Arguments: "{}"}) != CallDigest(Call{ID: "2", Name: "a", Arguments: "{}"}) {
		t.Error("an approval is bound to the id")
	}
	if CallDigest(Call{Name: "a", Arguments: "{}"}) == CallDigest(Call{Name: "a", Arguments: "{ }"}) {
		t.Error("an approval is not bound to the exact bytes")
	}
}
