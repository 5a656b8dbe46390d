//go:build linux || darwin

package memory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Proposal is a text that somebody would have remembered.
type Proposal struct {
	Scope  Scope
	Owner  Owner  // on whose behalf, from the host; of the scope user: whose it becomes
	Text   string // at most MaxText bytes
	Author string // who wrote it, one line of at most 200 bytes
	Source string // where it comes from, one line of at most 200 bytes
	// Again lets a text be proposed that was forgotten. A person may; what a model
	// proposes stays forgotten.
	Again bool
}

// Propose keeps a text that counts for nothing yet. The same text of the same
// identity is one proposal, whatever has become of it: its entry is returned as it
// stands. A text that cannot be, and one too many, is INVALID_ARGUMENT.
func (m *Memory) Propose(ctx context.Context, p Proposal) (Entry, error) {
	p.Text = strings.Trim(strings.ReplaceAll(p.Text, "\r\n", "\n"), "\n")
	if err := m.check(&p); err != nil {
		return Entry{}, err
	}
	s := m.projectShelf()
	if p.Scope == User {
		s = m.userShelf(p.Owner)
	}
	var e Entry
	err := m.change(ctx, s, func(last map[string]row, add func(row) error) error {
		var err error
		e, err = s.propose(ctx, p, last, add)
		return err
	})
	return e, err
}

func (m *Memory) check(p *Proposal) error {
	if p.Scope != Project && p.Scope != User {
		return invalid(fmt.Sprintf("the scope %q is not known", short(string(p.Scope))), "it is project or user")
	}
	if !m.Has(p.Scope) {
		return invalid("there is no memory of the scope "+string(p.Scope), "configure its folder")
	}
	if err := checkText(p.Text); err != nil {
		return invalid("the text is refused: "+err.Error(), "propose another one")
	}
	for what, s := range map[string]string{"author": p.Author, "source": p.Source} {
		if err := checkWords(what, s); err != nil {
			return invalid("the proposal is refused: "+err.Error(), "say it shorter")
		}
	}
	return p.Owner.check()
}

// name is that of a proposal's file: the same for the same text of one identity.
func (p *Proposal) name() string {
	b, _ := json.Marshal([]string{string(p.Scope), p.Owner.Tenant, p.Owner.User, p.Text}) // cannot fail: strings
	sum := sha256.Sum256(b)
	return "m-" + hex.EncodeToString(sum[:10])
}

// propose writes the row and then the file: what has no row is a file of
// somebody's own, which everybody may see.
func (s *shelf) propose(ctx context.Context, p Proposal, last map[string]row, add func(row) error) (Entry, error) {
	if err := s.make(); err != nil {
		return Entry{}, err
	}
	root, release, err := s.open()
	if err != nil {
		return Entry{}, err
	}
	defer release()
	if root == nil { // taken away again
		return Entry{}, broken("the folder is gone", nil)
	}
	name := p.name()
	have, known := last[name]
	e := s.entry(root, name, have, known)
	if e.State == Forgotten && !p.Again || known && e.State != Forgotten && e.Hash != "" {
		return e, nil
	}
	if err := s.room(root, p.Owner, last); err != nil {
		return Entry{}, err
	}
	r := row{At: now(), Act: proposed, Name: name, Author: p.Author, Source: p.Source, Created: now(), Tenant: p.Owner.Tenant, User: p.Owner.User}
	if err := add(r); err != nil {
		return Entry{}, err
	}
	if e.Hash == "" || e.State == Forgotten {
		d := document{author: p.Author, source: p.Source, created: r.Created, text: p.Text}
		if err := s.put(ctx, root, name, d.write()); err != nil {
			return Entry{}, err
		}
	}
	return s.entry(root, name, r, true), nil
}

// room refuses a proposal where there are too many: a model may propose all day.
func (s *shelf) room(root *os.Root, o Owner, last map[string]row) error {
	files, err := names(root)
	if err != nil {
		return err
	}
	pending := 0
	for _, name := range files {
		if r := last[name]; r.Act == proposed && (Owner{r.Tenant, r.User}) == o {
			pending++
		}
	}
	switch {
	case pending >= MaxPending:
		return invalid(fmt.Sprintf("%d proposals wait for a decision already", pending), "confirm or forget some first")
	case len(files) >= MaxEntries:
		return invalid(fmt.Sprintf("the memory has %d entries, and at most %d are possible", len(files), MaxEntries), "forget some first")
	}
	return nil
}

// mode is that of what is made: a user's is private, a project's is not.
func (s *shelf) mode(user, project fs.FileMode) fs.FileMode {
	if s.scope == User {
		return user
	}
	return project
}

const draftPrefix, draftSuffix = ".holdfast-", ".tmp"

// put makes a file whole or not at all.
func (s *shelf) put(ctx context.Context, root *os.Root, name, content string) (err error) {
	sweep(root)
	draft := draftPrefix + rand.Text()[:12] + draftSuffix
	f, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.mode(0o600, 0o644))
	if err != nil {
		return broken("a file cannot be made", err)
	}
	defer func() {
		if err != nil {
			_ = root.Remove(draft)
		}
	}()
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close(), ctx.Err()); err != nil {
		return broken("a file cannot be written", err)
	}
	if err = root.Rename(draft, name+extension); err != nil {
		return broken("a file cannot be put in place", err)
	}
	return syncDir(s.files)
}

// sweep removes what writers that were killed left behind an hour ago.
func sweep(root *os.Root) {
	dir, err := root.Open(".")
	if err != nil {
		return // the write that comes next says so
	}
	defer dir.Close()
	all, _ := dir.ReadDir(maxListed) // as far as it can be read
	for _, d := range all {
		if !strings.HasPrefix(d.Name(), draftPrefix) || !strings.HasSuffix(d.Name(), draftSuffix) {
			continue
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = root.Remove(d.Name())
		}
	}
}

// Confirm lets an entry count: the very bytes with that hash, as Find returned
// them. by says who, one line. Bytes that have changed since are STALE_APPROVAL,
// an entry that cannot count INVALID_ARGUMENT. Confirming it twice is one.
func (m *Memory) Confirm(ctx context.Context, e Entry, hash, by string) (Entry, error) {
	return m.decide(ctx, e, by, func(e Entry) (act, string, error) {
		switch {
		case e.Hash == "" && e.Problem == "":
			return "", "", notFound(e.ID)
		case e.State == Forgotten:
			return "", "", invalid(e.ID+" is forgotten", "propose it again")
		case e.faulty:
			return "", "", invalid(e.ID+" cannot be confirmed: "+e.Problem, "correct its file")
		case e.Hash != hash:
			return "", "", &kernel.Error{Code: kernel.CodeStaleApproval, Message: "the hash is not of what " + e.ID + " says now", Hint: "look at it again: its text has changed"}
		case e.State == Confirmed:
			return "", "", nil
		}
		return confirmed, e.Hash, nil
	})
}

// Forget lets an entry never count again, and deletes its file. What stays is a
// row without the text: the hash, who wrote it, who forgot it and when. A file with the
// very same bytes that comes back stays forgotten.
func (m *Memory) Forget(ctx context.Context, e Entry, by string) (Entry, error) {
	return m.decide(ctx, e, by, func(e Entry) (act, string, error) {
		if e.State == Forgotten && e.Problem == "" {
			return "", "", nil
		}
		return forgot, e.Hash, nil
	})
}

// decide looks at the entry again, once nobody else can change it, and records
// what rule makes of it; an empty act changes nothing.
func (m *Memory) decide(ctx context.Context, e Entry, by string, rule func(Entry) (act, string, error)) (Entry, error) {
	if err := checkWords("decider", by); err != nil || strings.TrimSpace(by) == "" {
		return Entry{}, invalid("nobody who can be recorded decides", "say who, in one line of at most 200 bytes")
	}
	s, name := e.shelf, e.name
	if checkName(name) != nil {
		return Entry{}, invalid(e.ID+" cannot be decided on: "+e.Problem, "rename its file")
	}
	err := m.change(ctx, s, func(last map[string]row, add func(row) error) error {
		root, release, err := s.open()
		if err != nil {
			return err
		}
		defer release()
		have, known := last[name]
		e = s.entry(root, name, have, known)
		do, hash, err := rule(e)
		if err != nil || do == "" {
			return err
		}
		r := row{
			At: now(), Act: do, Name: name, Hash: hash, By: by, Author: e.Author, Source: e.Source, Created: e.Created,
			Tenant: e.Owner.Tenant, User: e.Owner.User,
		}
		if err := add(r); err != nil {
			return err
		}
		if do == forgot && root != nil {
			if err := s.remove(root, name); err != nil {
				return err
			}
		}
		e = s.entry(root, name, r, true)
		return nil
	})
	return e, err
}

// remove deletes a file for good.
func (s *shelf) remove(root *os.Root, name string) error {
	err := root.Remove(name + extension)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return broken("it is forgotten, but its file cannot be deleted", err)
	}
	return syncDir(s.files)
}
