package transport

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns how long an answer asks to wait before the next request,
// and nil when it asks for nothing that can be understood. It reads
// retry-after-ms and both forms of Retry-After (RFC 9110, 10.2.3), seconds
// with a fraction included. A date that is not in the future is no wish. What
// exceeds a Duration is the largest one: too long, as the caller will find.
func RetryAfter(h http.Header, now time.Time) *time.Duration {
	if d := decimal(h.Get("Retry-After-Ms"), time.Millisecond); d != nil {
		return d
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d := decimal(v, time.Second); d != nil {
		return d
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return nil
	}
	d := at.Sub(now)
	if d <= 0 {
		return nil
	}
	return &d
}

// decimal parses digits with an optional fraction. Signs, exponents, hex and
// names of numbers are no wish.
func decimal(v string, unit time.Duration) *time.Duration {
	v = strings.TrimSpace(v)
	whole, frac, dot := strings.Cut(v, ".")
	if !digits(whole) || dot && !digits(frac) {
		return nil
	}
	// A Duration has 19 digits at most: a float64 is exact for every wait that
	// will be obeyed, and what it rounds lies beyond all limits.
	f, err := strconv.ParseFloat(v, 64)
	d := time.Duration(math.MaxInt64)
	if err == nil && f*float64(unit) < float64(math.MaxInt64) {
		d = time.Duration(math.Ceil(f * float64(unit)))
	}
	return &d
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
