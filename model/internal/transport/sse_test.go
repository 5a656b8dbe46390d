package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// collect returns the events of a stream as "type|data".
func collect(r io.Reader) (events []string, err error) {
	var s Stream
	s.Open(r)
	for ev, err := range s.Events {
		if err != nil {
			return events, err
		}
		events = append(events, string(ev.Type)+"|"+string(ev.Data))
	}
	return events, nil
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"one", "data: a\n\n", []string{"|a"}},
		{"typed", "event: ping\ndata: {}\n\ndata: b\n\n", []string{"ping|{}", "|b"}},
		{"lines of data", "data: a\ndata:\ndata: b\n\n", []string{"|a\n\nb"}},
		{"one space is dropped", "data:a\n\ndata:  b\n\n", []string{"|a", "| b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", []string{"|a", "|b", "|c"}},
		{"byte order mark", "\uFEFFdata: a\n\n", []string{"|a"}},
		{"unknown fields", "foo: 1\ndata: a\nretry: 7\nbar\n\n", []string{"|a"}},
		{"cut event", "data: a\n\ndata: b\n", []string{"|a"}},
		{"cut line", "data: a\n\ndata: b", []string{"|a"}},
		{"empty", "", nil},
		{"blank lines", "\n\n\r\n\n", nil},
		// Report A03.
		{"noise", ": OPENROUTER PROCESSING\n\n:\n\ndata:\n\ndata: : keepalive\n\nid: 7\n\ndata: a\n\n", []string{"|a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			readers := map[string]io.Reader{
				"whole":  strings.NewReader(tt.in),
				"bytes":  iotest.OneByteReader(strings.NewReader(tt.in)),
				"halves": iotest.HalfReader(strings.NewReader(tt.in)),
				"eof":    iotest.DataErrReader(strings.NewReader(tt.in)),
			}
			for how, r := range readers {
				got, err := collect(r)
				if err != nil || !cmp.Equal(got, tt.want) {
					t.Errorf("%s: %q, %v; want %q", how, got, err, tt.want)
				}
			}
		})
	}
}

func TestEventsReportsTheReadersError(t *testing.T) {
	broken := errors.New("broken")
	got, err := collect(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !cmp.Equal(got, []string{"|a"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// Every byte is looked at a bounded number of times, however small the pieces:
// a line of a megabyte in pieces of one byte would otherwise take minutes.
func TestEventsLongLineInSmallPieces(t *testing.T) {
	want := strings.Repeat("x", 1_000_000)
	got, err := collect(iotest.OneByteReader(strings.NewReader("data: " + want + "\n\n")))
	if err != nil || len(got) != 1 || got[0] != "|"+want {
		t.Fatalf("%d events, %v", len(got), err)
	}
}

// A stream that was broken off, in the middle of a line behind a CR, leaves
// nothing to the next one, nor does one that was read to its end.
func TestStreamAfterAnother(t *testing.T) {
	for _, whole := range []bool{false, true} {
		var s Stream
		s.Open(strings.NewReader("event: x\ndata: a\n\ndata: b\n\ndata: c\rda"))
		for range s.Events {
			if !whole {
				break
			}
		}
		s.Open(strings.NewReader("\uFEFFdata: d\n\n"))
		var got []string
		for ev, err := range s.Events {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(ev.Type)+"|"+string(ev.Data))
		}
		if want := []string{"|d"}; !cmp.Equal(got, want) {
			t.Errorf("after a whole one %t: %q, want %q", whole, got, want)
		}
	}
}

// The memory of a stream serves again, but not that of one far longer than most.
func TestStreamKeepsLittle(t *testing.T) {
	for _, long := range []int{100, 2 * maxKept} {
		var s Stream
		s.Open(strings.NewReader("event: " + strings.Repeat("x", long) + "\ndata: " + strings.Repeat("y", long) + "\n\n"))
		for range s.Events {
		}
		s.Open(nil)
		for name, kept := range map[string][]byte{"lines": s.in.buf, "type": s.event.Type, "data": s.event.Data} {
			if has := cap(kept); has > maxKept || has == 0 == (long < maxKept) {
				t.Errorf("%s: of %d bytes %d are kept", name, long, has)
			}
		}
	}
}

func TestLineEnd(t *testing.T) {
	for _, at := range []int{0, 1, 255, 256, 257, 600} {
		for _, end := range []string{"", "\n", "\r", "\r\n", "\rx\n", "\nx\r"} {
			if got := lineEnd([]byte(strings.Repeat("x", at) + end + strings.Repeat("y", 300))); end != "" && got != at || end == "" && got != at+300 {
				t.Errorf("%q behind %d bytes: %d", end, at, got)
			}
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: b\rdata:c\n\n: d\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := collect(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := collect(iotest.OneByteReader(bytes.NewReader(in)))
		if err != nil || !cmp.Equal(whole, pieces) {
			t.Fatalf("whole %q, in pieces %q, %v", whole, pieces, err)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	in := strings.Repeat("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"twenty bytes of text\"}}]}\n\n", 100)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	var s Stream
	for b.Loop() {
		s.Open(strings.NewReader(in))
		for _, err := range s.Events {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
