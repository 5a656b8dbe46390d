package kernel

import (
	"bytes"
	"encoding/json"
	"slices"
)

// index is a persistent map: put returns a new one and leaves the old as it
// was, so that states can share it. It is a log-structured list of sorted
// levels, each shorter than the next older one; the newest entry of a key counts.
// A get costs O(log² n), a put O(log n) amortised. The zero value is empty.
type index[V any] struct {
	newest *level[V]
}

// level is a part of an index. It never changes.
type level[V any] struct {
	entries []indexEntry[V]  // by key
	older   *level[V]        // nil: none
	single  [1]indexEntry[V] // what entries is of a level with one
}

type indexEntry[V any] struct {
	Key key128 `json:"k"`
	Val V      `json:"v"`
}

func (x index[V]) get(k key128) (v V, ok bool) {
	for l := x.newest; l != nil; l = l.older {
		if e := findEntry(l.entries, &k); e != nil {
			return e.Val, true
		}
	}
	return v, false
}

// findEntry searches a sorted level. It is written out because most lookups of
// a long run end here, and slices.BinarySearchFunc copies each entry it visits.
func findEntry[V any](entries []indexEntry[V], k *key128) *indexEntry[V] {
	low, high := 0, len(entries)
	for low < high {
		mid := (low + high) / 2
		switch e := &entries[mid]; bytes.Compare(e.Key[:], k[:]) {
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
	l := &level[V]{older: x.newest, single: [1]indexEntry[V]{{k, v}}}
	l.entries = l.single[:]
	for l.older != nil && len(l.older.entries) <= len(l.entries) {
		l.entries = mergeEntries(l.older.entries, l.entries)
		l.older = l.older.older
	}
	return index[V]{l}
}

// mergeEntries merges what two levels hold; of equal keys the newer one's stays.
func mergeEntries[V any](older, newer []indexEntry[V]) []indexEntry[V] {
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
	for l := x.newest; l != nil; l = l.older {
		all = mergeEntries(l.entries, all)
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
	x.newest = nil
	if len(all) == 0 {
		return nil
	}
	sorted := func(a, b indexEntry[V]) int { return bytes.Compare(a.Key[:], b.Key[:]) }
	slices.SortFunc(all, sorted)
	x.newest = &level[V]{entries: slices.CompactFunc(all, func(a, b indexEntry[V]) bool { return a.Key == b.Key })}
	return nil
}
