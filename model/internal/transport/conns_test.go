package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// conns counts the connections of a server: those that it was offered, and those
// that are open.
type conns struct {
	mu          sync.Mutex
	made, ended int
	changed     chan struct{}
}

func (c *conns) watch(srv *httptest.Server) {
	c.changed = make(chan struct{}, 1000)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch s {
		case http.StateNew:
			c.made++
		case http.StateClosed:
			c.ended++
		}
		c.changed <- struct{}{}
	}
}

func (c *conns) offered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// until waits for so many open connections.
func (c *conns) until(t *testing.T, open int) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		c.mu.Lock()
		now := c.made - c.ended
		c.mu.Unlock()
		if now == open {
			return
		}
		select {
		case <-c.changed:
		case <-late:
			t.Fatalf("%d connections are open, want %d", now, open)
		}
	}
}

// counted starts a server whose connections are counted, and a client of it.
func counted(t *testing.T, h http.HandlerFunc) (*Client, *conns, *httptest.Server) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	n := new(conns)
	n.watch(srv)
	srv.Start()
	t.Cleanup(srv.Close)
	c := client(t, srv.URL)
	c.once.Do(c.prepare)
	t.Cleanup(c.CloseIdle) // before the server, which waits for that
	return c, n, srv
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s", body)
}

// mustPost sends a request that has to be answered.
func mustPost(t *testing.T, c *Client) {
	t.Helper()
	if got, err := post(t.Context(), c, time.Minute); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}

// together has n requests under way at once, and ends them all.
func together(t *testing.T, c *Client, n int) {
	t.Helper()
	var all []*Exchange
	for range n {
		x, err := c.Post(t.Context(), List{[]byte("abc")}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	for _, x := range all {
		if got, err := x.ReadAll(nil); err != nil || string(got) != "abc" {
			t.Errorf("%q, %v", got, err)
		}
		x.Close()
	}
}

// A connection serves again, unless its server ends it: then the next request
// takes another, and nobody hears of it.
func TestConnectionServesAgain(t *testing.T) {
	c, n, srv := counted(t, echo)
	for range 3 {
		mustPost(t, c)
	}
	if made := n.offered(); made != 1 {
		t.Errorf("%d connections for requests one after another", made)
	}
	srv.CloseClientConnections()
	n.until(t, 0)
	over := make(chan struct{})
	ended := sync.OnceFunc(func() { close(over) })
	c.conns.free[0].conn.SetStateHook(func(conn *http.ClientConn) {
		if conn.Err() != nil { // net/http has heard of it
			ended()
		}
	})
	<-over
	mustPost(t, c)
	if made := n.offered(); made != 2 || len(c.conns.free) != 1 {
		t.Errorf("%d connections, of which %d are kept", made, len(c.conns.free))
	}
}

// An answer that says that it is the last one, or that is not read to its end,
// leaves no connection to take.
func TestConnectionThatServesNoMore(t *testing.T) {
	c, n, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	})
	for range 3 {
		mustPost(t, c)
	}
	n.until(t, 0)
	if made := n.offered(); made != 3 || len(c.conns.free) > 0 {
		t.Errorf("%d connections, of which %d are kept", made, len(c.conns.free))
	}

	c, n, _ = counted(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) })
	c.Cap = 2 << 20
	for range 3 {
		x, err := c.Post(t.Context(), List(nil), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	n.until(t, 0)
	if made := n.offered(); made != 3 || len(c.conns.free) > 0 {
		t.Errorf("answers that were not read: %d connections, of which %d are kept", made, len(c.conns.free))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	c, n, _ := counted(t, echo)
	const more = 3
	together(t, c, maxFree+more)
	n.until(t, maxFree)
	together(t, c, maxFree)
	if made := n.offered(); made != maxFree+more {
		t.Errorf("%d connections, where %d are kept", made, maxFree)
	}
}

// The connections that no request took for long enough are closed, and not those
// that one took.
func TestConnectionsThatNobodyTakes(t *testing.T) {
	c, n, _ := counted(t, echo)
	c.conns.every = time.Hour // the test looks itself
	together(t, c, 3)
	c.conns.look()
	n.until(t, 3)
	mustPost(t, c)
	c.conns.look()
	n.until(t, 1)
	if c.conns.looking == nil {
		t.Error("nobody will look again")
	}
	c.conns.look()
	n.until(t, 0)
	if len(c.conns.free) > 0 || c.conns.looking != nil {
		t.Errorf("%d are kept", len(c.conns.free))
	}
	c.conns.every = time.Millisecond // and it looks by itself, as often as there is something to look for
	for range 2 {
		mustPost(t, c)
		n.until(t, 0)
	}
}

// Closing leaves what is under way, whose connection is closed once that is over,
// and the client can be used again.
func TestCloseIdle(t *testing.T) {
	c, n, _ := counted(t, echo)
	mustPost(t, c)
	c.CloseIdle()
	n.until(t, 0)
	x, err := c.Post(t.Context(), List{[]byte("abc")}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.CloseIdle()
	if got, err := x.ReadAll(nil); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	x.Close()
	n.until(t, 0)
	mustPost(t, c)
	n.until(t, 1)
}

func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:8080/v1": "127.0.0.1:8080",
		"http://host/v1":           "host:",
		"http://[::1]:8080":        "[::1]:8080",
		"http://[fe80::1%25en0]":   "[fe80::1%en0]:",
		"http://bücher.example":    "",
		"https://host":             "",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := address(u); ok != (want != "") || ok && got != want {
			t.Errorf("%s leads to %q, %v", base, got, ok)
		}
	}
}

// A connection that cannot be made is nothing to keep.
func TestNoConnection(t *testing.T) {
	c := client(t, "http://127.0.0.1:1")
	if _, err := post(t.Context(), c, time.Minute); err == nil || len(c.conns.free) > 0 {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.conns.take(ended); err == nil {
		t.Error("a connection for nobody")
	}
}
