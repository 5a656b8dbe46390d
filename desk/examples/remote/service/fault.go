package service

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// FaultKind says what goes wrong.
type FaultKind string

// The kinds. NoLookup meets questions by key, the others requests for a ticket.
const (
	None         FaultKind = ""
	LoseRequest  FaultKind = "lose_request"  // the connection breaks, and nothing was made
	LoseResponse FaultKind = "lose_response" // the ticket is made, and the connection breaks
	ErrorAfter   FaultKind = "error_after"   // the ticket is made, and the answer is 500
	Delay        FaultKind = "delay"         // the ticket is made late, whether the client still waits or not
	Duplicate    FaultKind = "duplicate"     // the request is delivered twice
	Refuse       FaultKind = "refuse"        // 422, and nothing was made
	NoLookup     FaultKind = "no_lookup"     // questions by key are answered with 503
)

// FaultKinds are all of them that go wrong.
func FaultKinds() []FaultKind {
	return []FaultKind{LoseRequest, LoseResponse, ErrorAfter, Delay, Duplicate, Refuse, NoLookup}
}

// Fault is what goes wrong with the next requests.
type Fault struct {
	Kind  FaultKind
	Times int           // 0: until the next fault is set
	For   time.Duration // how long delay waits
	// Reached, where it is set, gets a value when a request is at the place where
	// it waits, and Until ends a wait besides For: of delay before the ticket is
	// made, of lose_response after that.
	Reached chan<- struct{}
	Until   <-chan struct{}
}

// Fail sets what goes wrong from now on with requests for a ticket, or with
// questions by key. The zero Fault is that all goes well.
func (s *Service) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := trouble{Fault: f, left: f.Times}
	switch f.Kind {
	case None:
		s.posting, s.asking = trouble{}, trouble{}
	case NoLookup:
		s.asking = t
	case LoseRequest, LoseResponse, ErrorAfter, Delay, Duplicate, Refuse:
		s.posting = t
	}
}

// trouble is a fault and how many requests it still meets, where they are
// counted.
type trouble struct {
	Fault
	left int
}

// meets returns the fault that meets one more request, which is under s.mu.
func (t *trouble) meets() Fault {
	if t.Times > 0 && t.left == 0 {
		return Fault{}
	}
	t.left--
	return t.Fault
}

// wait waits as the fault says. A client that goes away meanwhile changes
// nothing: its request is here.
func (f *Fault) wait() {
	if f.Reached != nil {
		select {
		case f.Reached <- struct{}{}:
		case <-f.Until:
		}
	}
	var over <-chan time.Time
	if f.For > 0 {
		timer := time.NewTimer(f.For)
		defer timer.Stop()
		over = timer.C
	}
	if over == nil && f.Until == nil {
		return
	}
	select {
	case <-f.Until:
	case <-over:
	}
}

func (s *Service) putFault(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Kind  FaultKind `json:"fault"`
		Times int       `json:"times"`
		For   string    `json:"for"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	f := Fault{Kind: in.Kind, Times: in.Times}
	if err == nil && in.For != "" {
		f.For, err = time.ParseDuration(in.For)
	}
	if err != nil || f.Times < 0 || f.For < 0 || f.Kind != None && !slices.Contains(FaultKinds(), f.Kind) {
		refuse(w, r, http.StatusBadRequest, "there is no such fault")
		return
	}
	s.Fail(f)
	answer(w, http.StatusOK, in)
}
