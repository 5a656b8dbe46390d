package journal

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// SealedHead names a seal of the chain over all runs by its number and its
// hash. Kept where whoever can write the journal cannot, it holds the journal to
// everything up to it: see VerifyAll. The zero value is that of an empty
// journal.
type SealedHead struct {
	Seq  int64
	Hash Hash
}

// String returns it as SEQ:HASH.
func (h SealedHead) String() string { return strconv.FormatInt(h.Seq, 10) + ":" + h.Hash.String() }

// ParseHead reads what String writes: INVALID_ARGUMENT for anything else.
func ParseHead(text string) (SealedHead, error) {
	number, hash, _ := strings.Cut(text, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	sum, hexErr := hex.DecodeString(hash)
	var h SealedHead
	if err != nil || hexErr != nil || seq < 0 || len(sum) != len(h.Hash) {
		return h, &kernel.Error{
			Code: kernel.CodeInvalidArgument, Message: "a head is SEQ:HASH, as holdfast journal head prints it",
			Hint: "give the whole line that was kept: a number, a colon and 64 hexadecimal digits",
		}
	}
	h = SealedHead{Seq: seq, Hash: Hash(sum)}
	if h.Seq == 0 && h.Hash != (Hash{}) {
		return SealedHead{}, invalid("the head of an empty journal has no hash but zeros")
	}
	return h, nil
}

// LastSeal returns the head of the chain over all runs, in a number of reads
// that grows with the logarithm of its length.
func LastSeal(ctx context.Context, r ChainReader) (SealedHead, error) {
	at := func(after int64) (found bool, h SealedHead, err error) {
		seals, err := r.Seals(ctx, after, 1)
		if err != nil || len(seals) == 0 {
			return false, h, err
		}
		return true, SealedHead{seals[0].Seq, seals[0].Hash}, nil
	}
	var last SealedHead
	step := int64(1)
	for growing := true; step > 0; { // there is a seal last.Seq, or none at all
		found, h, err := at(last.Seq + step - 1)
		if err != nil {
			return SealedHead{}, err
		}
		if found {
			last = h
		} else {
			growing = false
		}
		if growing {
			step *= 2
		} else {
			step /= 2
		}
	}
	return last, nil
}
