//go:build linux || darwin

package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of a list.
const (
	maxPages = 100
	maxTools = 1000
	maxList  = 16 << 20 // bytes of all pages together, but for the last one
)

// list reads the tools and keeps those that are as they were, so that a list
// without news changes nothing.
func (s *server) list(ctx context.Context, l *link) error {
	s.changed.Store(false) // what comes from here on is news
	found, notes, err := s.pages(ctx, l.session)
	if err != nil {
		s.changed.Store(true)
		return err
	}
	s.mu.Lock()
	before := s.tools
	s.mu.Unlock()
	var tools []*remote
	for _, t := range found {
		r := newRemote(s, t)
		i := slices.IndexFunc(before, func(old *remote) bool { return old.original == r.original && old.hash == r.hash })
		if i >= 0 {
			r = before[i]
		}
		tools = append(tools, r)
	}
	slices.SortFunc(tools, func(a, b *remote) int { return strings.Compare(a.original, b.original) })
	for name := range s.config.Effects {
		if !slices.ContainsFunc(tools, func(r *remote) bool { return r.original == name }) {
			notes = append(notes, fmt.Sprintf("it has no tool %.80q, for which an effect class is configured", name))
		}
	}
	slices.Sort(notes)
	s.mu.Lock()
	s.tools, s.notes = tools, notes
	s.overdue.Store(false)
	s.mu.Unlock()
	s.source.publish()
	return nil
}

// pages reads all pages. Each tool is there once.
func (s *server) pages(ctx context.Context, session *sdk.ClientSession) (tools []*sdk.Tool, notes []string, err error) {
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, []string{"it offers no tools"}, nil
	}
	seen, cursors := map[string]bool{}, map[string]bool{}
	params := &sdk.ListToolsParams{}
	size := 0
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, nil, err
		}
		if raw, err := rawJSON(page.Tools); err == nil { // it came out of JSON
			size += len(raw)
		}
		for _, t := range page.Tools {
			if t == nil || seen[t.Name] {
				continue
			}
			if seen[t.Name] = true; len(tools) == maxTools {
				return tools, append(notes, fmt.Sprintf("it has over %d tools; the rest is left out", maxTools)), nil
			}
			tools = append(tools, t)
		}
		switch next := page.NextCursor; {
		case next == "":
			return tools, notes, nil
		case size > maxList:
			return tools, append(notes, fmt.Sprintf("its list of tools is over %d MiB; the rest is left out", maxList>>20)), nil
		case cursors[next]:
			return tools, append(notes, "its list of tools has no end: it repeats a cursor"), nil
		default:
			cursors[next] = true
			params = &sdk.ListToolsParams{Cursor: next}
		}
	}
	return tools, append(notes, fmt.Sprintf("its list of tools has over %d pages; the rest is left out", maxPages)), nil
}

// stale reports whether the tools may not be those that the server has now.
func (s *server) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link != nil && (s.listing != nil || s.changed.Load())
}

// relist lists again what has changed, and waits for that until ctx ends, unless
// somebody has waited in vain before. However many callers there are, one list is
// read; it goes on when nobody waits for it any more.
func (s *server) relist(ctx context.Context) {
	done := s.listAgain()
	if done == nil || s.overdue.Load() {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
		s.overdue.Store(true)
		s.source.publish() // that the list is being read
	}
}

// listAgain starts to list again, unless that is under way. nil: there is nothing
// to list.
func (s *server) listAgain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listing != nil || s.link == nil || !s.changed.Load() {
		return s.listing
	}
	l, done := s.link, make(chan struct{})
	started := s.source.spawn(func() {
		ctx, cancel := context.WithTimeout(s.source.ctx, s.config.StartTimeout)
		defer cancel()
		err := s.list(ctx, l)
		s.mu.Lock()
		s.listing = nil
		if err != nil {
			s.overdue.Store(true)
			s.notes = []string{"its tools have changed and could not be listed again, so that they are as they were: " + s.redact(err.Error())}
		}
		s.mu.Unlock()
		s.source.publish()
		close(done)
	})
	if !started {
		return nil
	}
	s.listing = done
	return done
}
