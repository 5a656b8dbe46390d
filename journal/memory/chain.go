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

// sealing is what a seal is of: a run, and its last record then.
type sealing struct {
	run  *run
	last int64
}

// seal notes the seals that an entry adds.
func (j *Journal) seal(r *run, e *journal.Entry) {
	opened, stopped := e.Sealed()
	if opened {
		j.sealing = append(j.sealing, sealing{r, 1})
	}
	if stopped {
		j.sealing = append(j.sealing, sealing{r, int64(len(r.records))})
	}
}

// sealed returns the chain over all runs.
func (j *Journal) sealed() []journal.Seal {
	j.hashing.Lock()
	defer j.hashing.Unlock()
	var prev journal.Hash
	if n := len(j.seals); n > 0 {
		prev = j.seals[n-1].Hash
	}
	for _, of := range j.sealing[len(j.seals):] {
		s := journal.Seal{
			Seq: int64(len(j.seals)) + 1, Run: of.run.id, Last: of.last,
			Head: of.run.link()[of.last-1], At: of.run.records[of.last-1].At,
		}
		s.Hash = s.Chain(prev)
		prev = s.Hash
		j.seals = append(j.seals, s)
	}
	return j.seals
}
