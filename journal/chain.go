package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Hash is a link of a chain.
type Hash [sha256.Size]byte

// Link is the hash of a record of a run: SHA-256 over the hash of the record
// before it (zero for the first), the run and every field of the record,
// each behind its length, so that no two texts give the same bytes.
func Link(prev Hash, run string, r *Record) Hash {
	h := sha256.New()
	h.Write(prev[:])
	field := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	var n [16]byte
	binary.LittleEndian.PutUint64(n[:8], uint64(r.Seq))
	binary.LittleEndian.PutUint64(n[8:], uint64(r.At.UnixNano()))
	h.Write(n[:])
	field([]byte(run))
	field([]byte(r.Kind))
	field(r.Payload)
	if r.Content == nil { // not the same as empty
		h.Write([]byte{0})
	} else {
		h.Write([]byte{1})
		field(r.Content)
	}
	return Hash(h.Sum(nil))
}

// Seal is a link of the chain over all runs: a run was opened or, with its
// last record, stopped.
type Seal struct {
	Seq  int64 // from 1
	Run  string
	Last int64     // the run's last record then; 1 when it was opened, however many came with it
	Head Hash      // of that record
	At   time.Time // of that record
	Hash Hash      // over the seal before and the fields above
}

// Sealing returns the seals that an entry adds, whose records have these
// links. They come behind the last one, in order: Seq and Hash are not set.
func Sealing(e *Entry, links []Hash) []Seal {
	var seals []Seal
	if e.Records[0].Seq == 1 {
		seals = append(seals, Seal{Run: e.Head.Run, Last: 1, Head: links[0], At: e.Records[0].At})
	}
	if e.Head.State == Stopped {
		last := len(links) - 1
		seals = append(seals, Seal{Run: e.Head.Run, Last: e.Records[last].Seq, Head: links[last], At: e.Records[last].At})
	}
	return seals
}

// Chain is the hash of a seal: over the hash of the one before it (zero for
// the first) and its own fields.
func (s *Seal) Chain(prev Hash) Hash {
	h := sha256.New()
	h.Write(prev[:])
	var n [32]byte
	binary.LittleEndian.PutUint64(n[:8], uint64(s.Seq))
	binary.LittleEndian.PutUint64(n[8:16], uint64(s.Last))
	binary.LittleEndian.PutUint64(n[16:24], uint64(s.At.UnixNano()))
	binary.LittleEndian.PutUint64(n[24:], uint64(len(s.Run)))
	h.Write(n[:])
	h.Write([]byte(s.Run))
	h.Write(s.Head[:])
	return Hash(h.Sum(nil))
}
