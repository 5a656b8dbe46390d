package kernel

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// MeaningDigest is what makes two requests mean the same, however a model
// spells them: the SHA-256, in hex, of the tool's name and of its arguments as
// RequestDigest takes them, but that numbers count by their value (1.50 is
// 15e-1), and that a member which is null, false, 0 or empty counts as left out.
// A tool that tells such a member from a missing one has two requests taken for
// one: that refuses one too many where RequestDigest would run one too many.
func MeaningDigest(tool, arguments string) string {
	meaning, err := canonicalArguments(arguments)
	if err == nil {
		p := argumentParser{text: string(meaning), meaning: true}
		meaning, err = p.value(make([]byte, 0, 2*len(meaning)), 0)
	}
	if err != nil {
		meaning = []byte(arguments)
	}
	sum := actionDigest(tool, meaning)
	return hex.EncodeToString(sum[:])
}

// saysNothing reports whether a member of that canonical value says no more than
// one that is left out.
func saysNothing(value []byte) bool {
	switch string(value) {
	case "null", "false", "0", `""`, "[]", "{}":
		return true
	}
	return false
}

// sameNumber returns one spelling for all those of a number's value: 0, or its
// digits without outer zeros and the power of ten of the last of them. One with
// an exponent beyond all use keeps its own.
func sameNumber(text string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent > 1<<30 || exponent < -1<<30 {
			return text
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	exponent -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}
