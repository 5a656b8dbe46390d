package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// The form of an id that stands for one that a wire refuses.
const (
	hashedPrefix = "hf_"
	hashedBytes  = 16
	hashedLen    = len(hashedPrefix) + 2*hashedBytes
)

// WireID returns what stands for the id of a call on a wire that takes at most
// limit characters, at least 35, all of them legal: the id itself, or, where
// another provider or a compatible server minted one that this wire refuses, a
// name that is always the same for it.
//
// Two ids never share a name: an id that looks like such a name gets one of its
// own, and names differ as SHA-256 does in 128 bits. A name goes only out: what
// a provider sends is kept as it came.
func WireID(id string, limit int, legal func(rune) bool) string {
	illegal := func(r rune) bool { return !legal(r) }
	if utf8.RuneCountInString(id) <= limit && !strings.ContainsFunc(id, illegal) && !isHashed(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hashedPrefix + hex.EncodeToString(sum[:hashedBytes])
}

func isHashed(id string) bool {
	return len(id) == hashedLen && strings.HasPrefix(id, hashedPrefix)
}
