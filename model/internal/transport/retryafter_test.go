package transport

import (
	"math"
	"net/http"
	"testing"
	"time"
)

// Report A17 and case 19 (a date counts here, as the design says).
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 27, 50, 0, time.UTC)
	const none = time.Duration(-1)
	tests := []struct {
		after, ms string
		want      time.Duration
	}{
		{"3", "", 3 * time.Second},
		{" 3 ", "", 3 * time.Second},
		{"0", "", 0},
		{"1.5", "", 1500 * time.Millisecond},
		{"Wed, 21 Oct 2026 07:28:00 GMT", "", 10 * time.Second},
		{"Wednesday, 21-Oct-26 07:28:00 GMT", "", 10 * time.Second},
		{"Wed Oct 21 07:28:00 2026", "", 10 * time.Second},
		{"Wed, 21 Oct 2026 07:27:50 GMT", "", none},
		{"Wed, 21 Oct 2020 07:28:00 GMT", "", none},
		{"soon", "", none},
		{"-1", "", none},
		{"+1", "", none},
		{"", "", none},
		{"nan", "", none},
		{"Inf", "", none},
		{"1e3", "", none},
		{"0x10", "", none},
		{"1.", "", none},
		{".5", "", none},
		{"1.-5", "", none},
		{"99999999", "", 99999999 * time.Second},
		{"99999999999999999999999999", "", math.MaxInt64},
		{"", "1500", 1500 * time.Millisecond},
		{"", "0.5", 500 * time.Microsecond},
		{"9", "1500", 1500 * time.Millisecond},
		{"9", "soon", 9 * time.Second},
	}
	for _, tt := range tests {
		h := http.Header{}
		if tt.after != "" {
			h.Set("Retry-After", tt.after)
		}
		if tt.ms != "" {
			h.Set("retry-after-ms", tt.ms)
		}
		got := none
		if d := RetryAfter(h, now); d != nil {
			got = *d
		}
		if got != tt.want {
			t.Errorf("Retry-After %q, ms %q: %v, want %v", tt.after, tt.ms, got, tt.want)
		}
	}
}
