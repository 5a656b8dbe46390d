// Package service is a ticket service behind HTTP, small enough to read and
// with faults to switch on: it stands for the system of another company, which
// the desk reaches over a network that loses things.
//
//	POST /tickets                with Idempotency-Key: 201 and the ticket
//	GET  /tickets/by-key/KEY     200 and the ticket; 404 and the key: there is none
//	GET  /tickets                200 and all tickets, oldest first
//	PUT  /fault                  {"fault":"lose_response","times":1}
//
// A key stands for one ticket, which is made and found under the same lock:
// however often, however late and however many at once they ask for it. The same key
// with other content is 409. What the service refuses with 4xx it has not done.
// Each of its answers names the key, so that it is known from a proxy's.
//
// A Plain service is an older one: a key is a note on a ticket to it, so that each
// request makes one, and it cannot be asked by key.
package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// KeyHeader is the header that carries the key of a ticket.
const KeyHeader = "Idempotency-Key"

// MaxKey bounds a key, in bytes.
const MaxKey = 200

// maxBody bounds a request, in bytes.
const maxBody = 64 << 10

// Content is what a ticket is asked for with.
type Content struct {
	Tenant  string `json:"tenant"`
	User    string `json:"user"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

// Ticket is a ticket of the service.
type Ticket struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty"`
	Content
	Created time.Time `json:"created_at"`
}

// Service is the service, in memory. The zero value is one that keeps keys. It is an
// http.Handler, and safe for concurrent use.
type Service struct {
	// Plain makes a ticket of each request, whatever its key. Set it before the first request.
	Plain bool

	mu      sync.Mutex
	tickets []Ticket
	posts   int
	posting trouble // with requests for a ticket
	asking  trouble // with questions by key
}

// Tickets returns all tickets, oldest first.
func (s *Service) Tickets() []Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tickets)
}

// Posts returns how many requests for a ticket have arrived, lost ones included.
func (s *Service) Posts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts
}

// ServeHTTP answers a request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tickets", s.post)
	mux.HandleFunc("GET /tickets/by-key/{key}", s.byKey)
	mux.HandleFunc("GET /tickets", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.Tickets()) })
	mux.HandleFunc("PUT /fault", s.putFault)
	mux.ServeHTTP(w, r)
}

func (s *Service) post(w http.ResponseWriter, r *http.Request) {
	fault := s.arrived()
	switch fault.Kind {
	case LoseRequest:
		panic(http.ErrAbortHandler)
	case Refuse:
		refuse(w, r, http.StatusUnprocessableEntity, "the service does not take this ticket")
		return
	case Delay:
		fault.wait()
	}
	content, key, ok := s.read(w, r)
	if !ok {
		return
	}
	t, made, ok := s.create(key, content)
	if fault.Kind == Duplicate {
		t, made, ok = s.create(key, content)
	}
	switch {
	case !ok:
		refuse(w, r, http.StatusConflict, "the key belongs to another ticket")
	case fault.Kind == LoseResponse:
		fault.wait()
		panic(http.ErrAbortHandler)
	case fault.Kind == ErrorAfter:
		refuse(w, r, http.StatusInternalServerError, "something went wrong")
	case made:
		answer(w, http.StatusCreated, t)
	default:
		answer(w, http.StatusOK, t)
	}
}

// arrived counts a request for a ticket, and returns what goes wrong with it.
func (s *Service) arrived() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	return s.posting.meets()
}

// read takes a request apart, or refuses it.
func (s *Service) read(w http.ResponseWriter, r *http.Request) (c Content, key string, ok bool) {
	key = r.Header.Get(KeyHeader)
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&c); {
	case err != nil:
		refuse(w, r, http.StatusBadRequest, "the body is no ticket")
	case c.Tenant == "" || c.User == "" || c.Subject == "" || c.Body == "":
		refuse(w, r, http.StatusUnprocessableEntity, "a ticket needs tenant, user, subject and body")
	case !s.Plain && (key == "" || len(key) > MaxKey):
		refuse(w, r, http.StatusBadRequest, fmt.Sprintf("a ticket needs an %s of at most %d bytes", KeyHeader, MaxKey))
	default:
		return c, key, true
	}
	return c, key, false
}

// create makes the ticket of a key, or finds it. ok is false where the key
// belongs to something else.
func (s *Service) create(key string, c Content) (t Ticket, made, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.indexOf(key); i >= 0 && !s.Plain {
		return s.tickets[i], false, s.tickets[i].Content == c
	}
	t = Ticket{ID: fmt.Sprintf("S-%d", len(s.tickets)+1), Key: key, Content: c, Created: time.Now().UTC()}
	s.tickets = append(s.tickets, t)
	return t, true, true
}

func (s *Service) indexOf(key string) int {
	return slices.IndexFunc(s.tickets, func(t Ticket) bool { return t.Key == key })
}

func (s *Service) byKey(w http.ResponseWriter, r *http.Request) {
	if s.Plain {
		refuse(w, r, http.StatusNotImplemented, "tickets cannot be asked for by key here")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking.meets().Kind == NoLookup {
		refuse(w, r, http.StatusServiceUnavailable, "the service does not answer at present")
		return
	}
	key := r.PathValue("key")
	i := s.indexOf(key)
	if i < 0 {
		answer(w, http.StatusNotFound, map[string]string{"error": "there is no ticket of that key", "key": key})
		return
	}
	answer(w, http.StatusOK, s.tickets[i])
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone learns nothing
}

// refuse answers with an error, and with the key that the request came with.
func refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	said := map[string]string{"error": message}
	if key := r.Header.Get(KeyHeader); key != "" {
		said["key"] = key
	}
	answer(w, status, said)
}
