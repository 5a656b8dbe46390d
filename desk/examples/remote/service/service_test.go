package service_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
)

const order = `{"tenant":"acme","user":"alice","subject":"s","body":"b"}`

// ask sends one request, and returns the status and the answer; 0: there was
// none.
func ask(t *testing.T, method, url, key, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set(service.KeyHeader, key)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func start(t *testing.T, s *service.Service) (url string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// Row 106: what the service promises of a key.
func TestKeys(t *testing.T) {
	s := &service.Service{}
	url := start(t, s)
	for i, c := range []struct {
		key, body string
		status    int
		tickets   int
	}{
		{"", order, 400, 0},
		{strings.Repeat("k", service.MaxKey+1), order, 400, 0},
		{"k1", `{"tenant":"acme"}`, 422, 0},
		{"k1", order + " trailing", 201, 1},
		{"k1", order, 200, 1},
		{"k1", strings.Replace(order, "alice", "bob", 1), 409, 1},
		{"k1", `{"user_id":1}`, 400, 1},
		{"k2", order, 201, 2},
	} {
		if status, answer := ask(t, "POST", url+"/tickets", c.key, c.body); status != c.status || len(s.Tickets()) != c.tickets {
			t.Errorf("request %d: %d and %d tickets, want %d and %d: %s", i, status, len(s.Tickets()), c.status, c.tickets, answer)
		} else if c.key != "" && !strings.Contains(answer, `"key":"`+c.key+`"`) {
			t.Errorf("request %d: the answer does not name its key: %s", i, answer)
		}
	}
	for key, want := range map[string]int{"k1": 200, "k3": 404} {
		if status, answer := ask(t, "GET", url+"/tickets/by-key/"+key, "", ""); status != want || !strings.Contains(answer, `"key":"`+key+`"`) {
			t.Errorf("%s: %d %s, want %d", key, status, answer, want)
		}
	}
}

// However many ask for a key at once, it is one ticket.
func TestOneTicketOfAKey(t *testing.T) {
	s := &service.Service{}
	url := start(t, s)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { ask(t, "POST", url+"/tickets", "k", order) })
	}
	all.Wait()
	if got := len(s.Tickets()); got != 1 || s.Posts() != 16 {
		t.Errorf("%d tickets of %d requests", got, s.Posts())
	}
}

// Each fault does what it says, for as many requests as it was set for.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		kind    service.FaultKind
		status  int
		tickets int
	}{
		{service.LoseRequest, 0, 0},
		{service.LoseResponse, 0, 1},
		{service.ErrorAfter, 500, 1},
		{service.Delay, 201, 1},
		{service.Duplicate, 200, 1},
		{service.Refuse, 422, 0},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			s := &service.Service{}
			url := start(t, s)
			if status, answer := ask(t, "PUT", url+"/fault", "", fmt.Sprintf(`{"fault":%q,"times":1,"for":"1ms"}`, c.kind)); status != 200 {
				t.Fatalf("the fault is not set: %d %s", status, answer)
			}
			if status, _ := ask(t, "POST", url+"/tickets", "k", order); status != c.status || len(s.Tickets()) != c.tickets {
				t.Errorf("%d and %d tickets, want %d and %d", status, len(s.Tickets()), c.status, c.tickets)
			}
			if status, _ := ask(t, "POST", url+"/tickets", "k", order); status != 201 && status != 200 || len(s.Tickets()) != 1 {
				t.Errorf("after the fault: %d and %d tickets", status, len(s.Tickets()))
			}
		})
	}
}

// A plain service makes a ticket of whatever arrives, and knows no keys.
func TestPlain(t *testing.T) {
	s := &service.Service{Plain: true}
	url := start(t, s)
	for range 2 {
		ask(t, "POST", url+"/tickets", "k", order)
	}
	if status, _ := ask(t, "GET", url+"/tickets/by-key/k", "", ""); status != http.StatusNotImplemented || len(s.Tickets()) != 2 {
		t.Errorf("%d and %d tickets", status, len(s.Tickets()))
	}
	for _, odd := range []string{`{"fault":"none of these"}`, `{"times":-1}`, `{"for":"-1s"}`, `{"for":"soon"}`, `{"else":1}`, ``} {
		if status, _ := ask(t, "PUT", url+"/fault", "", odd); status != http.StatusBadRequest {
			t.Errorf("the fault %s is set", odd)
		}
	}
}
