package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// Hash is a link of a chain.
type Hash [sha256.Size]byte

// String returns it in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Origin is what the chain of a run begins with: SHA-256 over the run and whose
// it is, which never changes (see SameRun), each text behind its length.
func Origin(h *Head) Hash {
	b := []byte{'O'} // no origin gives the bytes of a record
	for _, text := range []string{h.Run, h.Session, h.Tenant, h.User} {
		b = append(number(b, int64(len(text))), text...)
	}
	return sha256.Sum256(number(b, h.StartedAt.UnixNano()))
}

// Link is the hash of a record of a run: SHA-256 over the hash of the record
// before it (Origin for the first), the run and every field of the record,
// each of them of a fixed length or behind its length, so that no two records
// give the same bytes.
func Link(prev Hash, run string, r *Record) Hash {
	const fixed = 1 + len(prev) + 5*8 + 1
	b := make([]byte, 0, fixed+len(run)+len(r.Kind))
	b = append(b, 'R') // no record gives the bytes of a seal or an origin
	b = append(b, prev[:]...)
	b = number(b, r.Seq)
	b = number(b, r.At.UnixNano())
	b = append(number(b, int64(len(run))), run...)
	b = append(number(b, int64(len(r.Kind))), r.Kind...)
	b = number(b, int64(len(r.Payload)))
	if r.Content == nil { // not the same as empty
		b = append(b, 0)
	} else {
		b = append(b, 1)
	}
	h := sha256.New()
	h.Write(b)
	h.Write(r.Payload)
	h.Write(r.Content) // the rest
	return Hash(h.Sum(b[:0]))
}

func number(b []byte, n int64) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(n))
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

// Chain is the hash of a seal: over the hash of the one before it (zero for
// the first) and its own fields.
func (s *Seal) Chain(prev Hash) Hash {
	b := make([]byte, 0, 1+len(prev)+4*8+len(s.Run)+len(s.Head))
	b = append(b, 'S')
	b = append(b, prev[:]...)
	b = number(b, s.Seq)
	b = number(b, s.Last)
	b = number(b, s.At.UnixNano())
	b = append(number(b, int64(len(s.Run))), s.Run...)
	b = append(b, s.Head[:]...)
	return sha256.Sum256(b)
}

// Sealed says whether an entry opens its run, and whether it stops it: each of
// them is sealed, at the first record and at the last one.
func (e *Entry) Sealed() (opened, stopped bool) {
	return e.Records[0].Seq == 1, e.Head.State == Stopped
}

// Sealing returns the seals that an entry adds, in order. What their place in
// the chain says is not set: Seq, the hash of the record that they name, and Hash.
func Sealing(e *Entry) []Seal {
	opened, stopped := e.Sealed()
	if !opened && !stopped {
		return nil
	}
	seals := make([]Seal, 0, 2)
	if opened {
		seals = append(seals, Seal{Run: e.Head.Run, Last: 1, At: e.Records[0].At})
	}
	if last := &e.Records[len(e.Records)-1]; stopped {
		seals = append(seals, Seal{Run: e.Head.Run, Last: last.Seq, At: last.At})
	}
	return seals
}
