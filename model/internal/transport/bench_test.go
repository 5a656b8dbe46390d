package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// canned answers each request whose body has size bytes with answer, and
// allocates nothing of note: what is left is the cost of the client.
func canned(b *testing.B, size int, answer string) *Client {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { recite(conn, size, answer) })
		}
	})
	c := &Client{HTTP: NewHTTP(nil), URL: "http://" + l.Addr().String(), Header: http.Header{}, Cap: 1000, Now: time.Now}
	b.Cleanup(func() {
		c.CloseIdle()
		l.Close()
		wg.Wait()
	})
	return c
}

func recite(conn net.Conn, size int, answer string) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		if _, err := in.Discard(size); err != nil {
			return
		}
		io.WriteString(conn, answer)
	}
}

func BenchmarkPost(b *testing.B) {
	const size, body = 4096, `{"choices":[]}`
	c := canned(b, size, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	pieces := List{make([]byte, size)}
	var in []byte
	b.ReportAllocs()
	for b.Loop() {
		x, err := c.Post(b.Context(), pieces, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if in, err = x.ReadAll(in); err != nil {
			b.Fatal(err)
		}
		x.Drain()
		x.Close()
	}
}
