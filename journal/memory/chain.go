package memory

import "github.com/holdfast-run/holdfast/journal"

// The chains are computed once somebody asks for them: what they are of never
// changes, and of most runs nobody asks. The functions here need the journal
// locked for reading, and keep what they compute under a lock of their own.

// linked returns the links of all records of a run.
func (j *Journal) linked(r *run) []journal.Hash {
	j.hashing.Lock()
	defer j.hashing.Unlock()
	return r.link()
}

// headOf returns a run's head, with the hash of its last record.
func (j *Journal) headOf(r *run) journal.Head {
	h := r.head
	if links := j.linked(r); len(links) > 0 {
		h.Hash = links[len(links)-1]
	}
	return h
}

func (r *run) link() []journal.Hash {
	var prev journal.Hash
	if n := len(r.links); n > 0 {
		prev = r.links[n-1]
	} else {
		prev = journal.Origin(&r.head)
	}
	for i := len(r.links); i < len(r.records); i++ {
		prev = journal.Link(prev, r.id, &r.records[i])
		r.links = append(r.links, prev)
	}
	return r.links
}

// sealed returns the chain over all runs.
func (j *Journal) sealed() []journal.Seal {
	j.hashing.Lock()
	defer j.hashing.Unlock()
	for ; j.chained < len(j.seals); j.chained++ {
		var last journal.Hash
		if j.chained > 0 {
			last = j.seals[j.chained-1].Hash
		}
		s := &j.seals[j.chained]
		s.Seq, s.At = int64(j.chained)+1, instant(s.At)
		s.Head = j.runs[s.Run].link()[s.Last-1]
		s.Hash = s.Chain(last)
	}
	return j.seals
}
