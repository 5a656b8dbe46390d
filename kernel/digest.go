package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// key128 is the first half of a SHA-256 over length-delimited parts: enough to
// tell apart whatever a run can hold, and small enough to keep.
type key128 [16]byte

func digest128(parts ...string) key128 {
	sum := digestParts(parts...)
	return key128(sum[:16])
}

func digestParts(parts ...string) [sha256.Size]byte {
	var stack [256]byte
	buf := stack[:0]
	for _, p := range parts {
		buf = appendPart(buf, p)
	}
	return sha256.Sum256(buf)
}

// appendPart appends a part of a digest: its length, and itself.
func appendPart[T string | []byte](b []byte, part T) []byte {
	n := len(part)
	b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	return append(b, part...)
}

// actionDigest is the digest of a tool's name and of arguments in some form.
func actionDigest[T string | []byte](tool string, arguments T) [sha256.Size]byte {
	var stack [256]byte
	return sha256.Sum256(appendPart(appendPart(stack[:0], tool), arguments))
}

// CallDigest is what an approval is bound to: the SHA-256, in hex, of the
// tool's name and the exact argument bytes.
func CallDigest(c Call) string {
	sum := actionDigest(c.Name, c.Arguments)
	return hex.EncodeToString(sum[:])
}

// RequestDigest is what makes two requests equal, across runs and call ids: the
// SHA-256, in hex, of the tool's name and the canonical arguments, in which
// white space, the order of names and the spelling of strings do not count, and
// numbers count digit for digit. MeaningDigest is of more that may differ. Blank arguments are the empty object, as for
// admission; a text that is not one JSON object stands for itself.
func RequestDigest(tool, arguments string) string {
	sum, _ := canonicalDigest(tool, arguments)
	return hex.EncodeToString(sum[:])
}

// canonicalDigest is the digest of a tool's name and of the canonical arguments,
// or of the text as it is where it is not one JSON object, which the error says.
func canonicalDigest(tool, arguments string) ([sha256.Size]byte, error) {
	canonical, err := canonicalArguments(arguments)
	if err != nil {
		return actionDigest(tool, arguments), err
	}
	return actionDigest(tool, canonical), nil
}

// MarshalText writes the key in hex.
func (k key128) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, k[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *key128) UnmarshalText(b []byte) error {
	if hex.DecodedLen(len(b)) != len(k) {
		return fmt.Errorf("a key has %d hex digits, not %d", 2*len(k), len(b))
	}
	_, err := hex.Decode(k[:], b)
	return err
}
