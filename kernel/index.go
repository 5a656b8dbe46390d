package kernel

import (
	"bytes"
	"encoding/json"
	"slices"
)

// index is a persistent map: put returns a new one and leaves the old as it
// was, so that states can share it. It is a log-structured list of sorted
// levels, each longer than the next; the newest entry of a key counts. A get
// costs O(log² n), a put O(log n) amortised. The zero value is empty.
type index[V any] struct {
	levels [][]indexEntry[V]
}

type indexEntry[V any] struct {
	Key key128 `json:"k"`
	Val V      `json:"v"`
}

func (x index[V]) get(k key128) (v V, ok bool) {
	for _, level := range slices.Backward(x.levels) {
		if e := findEntry(level, &k); e != nil {
			return e.Val, true
		}
	}
	return v, false
}

// findEntry searches a sorted level. It is written out because most lookups of
// a long run end here, and slices.BinarySearchFunc copies each entry it visits.
func findEntry[V any](level []indexEntry[V], k *key128) *indexEntry[V] {
	low, high := 0, len(level)
	for low < high {
		mid := (low + high) / 2
		switch e := &level[mid]; bytes.Compare(e.Key[:], k[:]) {
		case 0:
			return e
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return nil
}

func (x index[V]) has(k key128) bool {
	_, ok := x.get(k)
	return ok
}

func (x index[V]) put(k key128, v V) index[V] {
	level := []indexEntry[V]{{k, v}}
	keep := len(x.levels)
	for keep > 0 && len(x.levels[keep-1]) <= len(level) {
		keep--
		level = mergeLevels(x.levels[keep], level)
	}
	levels := make([][]indexEntry[V], keep, keep+1)
	copy(levels, x.levels)
	return index[V]{levels: append(levels, level)}
}

// mergeLevels merges two sorted levels; of equal keys the newer one's stays.
func mergeLevels[V any](older, newer []indexEntry[V]) []indexEntry[V] {
	out := make([]indexEntry[V], 0, len(older)+len(newer))
	for len(older) > 0 && len(newer) > 0 {
		switch c := bytes.Compare(older[0].Key[:], newer[0].Key[:]); {
		case c < 0:
			out, older = append(out, older[0]), older[1:]
		case c > 0:
			out, newer = append(out, newer[0]), newer[1:]
		default:
			older = older[1:]
		}
	}
	return append(append(out, older...), newer...)
}

func (x index[V]) flat() []indexEntry[V] {
	var all []indexEntry[V]
	for _, level := range x.levels {
		all = mergeLevels(all, level)
	}
	return all
}

// MarshalJSON writes the entries by key, whatever the levels are.
func (x index[V]) MarshalJSON() ([]byte, error) {
	all := x.flat()
	if all == nil {
		all = []indexEntry[V]{}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (x *index[V]) UnmarshalJSON(b []byte) error {
	var all []indexEntry[V]
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	x.levels = nil
	if len(all) == 0 {
		return nil
	}
	sorted := func(a, b indexEntry[V]) int { return bytes.Compare(a.Key[:], b.Key[:]) }
	slices.SortFunc(all, sorted)
	x.levels = [][]indexEntry[V]{slices.CompactFunc(all, func(a, b indexEntry[V]) bool { return a.Key == b.Key })}
	return nil
}
