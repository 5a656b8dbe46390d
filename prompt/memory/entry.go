//go:build linux || darwin

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// State says whether an entry counts.
type State string

// The states. Only what is confirmed, and has no problem, goes with requests.
const (
	Proposed  State = "proposed"  // somebody wrote it; it counts for nothing
	Confirmed State = "confirmed" // the host or a person confirmed these very bytes
	Forgotten State = "forgotten" // a tombstone, without the text
)

// Entry is one entry as it stands.
type Entry struct {
	// ID names it: project/NAME, user/NAME, or user/FOLDER/NAME of a user that has
	// a name. NAME is that of the file.
	ID    string
	Scope Scope
	State State
	Owner Owner  // of the scope user: whose it is; of project: for whom it was proposed
	Text  string // empty of what is forgotten or cannot be read
	// Hash is that of the file as it is, which a confirmation binds; empty where
	// there is none that can be read.
	Hash    string
	File    string // absolute
	Author  string // who wrote it, as the host knows it or the file says
	Source  string // where it came from
	Created time.Time
	By      string    // who confirmed or forgot it
	At      time.Time // and when
	// Problem says in words for people why an entry does not count though
	// somebody confirmed it, or why it cannot be confirmed. Empty: there is none.
	Problem string

	name   string
	shelf  shelf
	faulty bool // its file cannot be confirmed
}

// entry makes one entry of its file, if that is there, and of its last row.
func (s *shelf) entry(root *os.Root, name string, last row, known bool) Entry {
	e := Entry{
		ID: s.prefix + showName(name), Scope: s.scope, State: Proposed, Owner: s.owner,
		File: filepath.Join(s.files, name+extension), name: name, shelf: *s,
	}
	there := e.load(root, name)
	same := there && e.Hash == last.Hash
	if !known || last.Act == forgot && there && !same { // another text of a forgotten name is another proposal
		e.Source = cmp.Or(e.Source, "file "+name+extension)
		return e
	}
	e.Owner = Owner{last.Tenant, last.User}
	e.Author, e.Source, e.Created = last.Author, last.Source, last.Created
	if last.Act == proposed {
		return e
	}
	e.By, e.At = last.By, last.At
	switch {
	case last.Act == forgot:
		e.State, e.Text, e.Problem = Forgotten, "", ""
		if there {
			e.Problem = "its file is there: forget it again"
		}
	case !there:
		e.Problem = "it was confirmed, and its file is gone"
	case !same:
		e.Problem = cmp.Or(e.Problem, "it was changed after it was confirmed; it counts for nothing until it is confirmed again")
	case !e.faulty:
		e.State = Confirmed
	}
	return e
}

// load reads the file, and reports whether one is there.
func (e *Entry) load(root *os.Root, name string) bool {
	if err := checkName(name); err != nil {
		e.Problem, e.faulty = err.Error(), true
		return true
	}
	if root == nil {
		e.faulty = true
		return false
	}
	b, err := read(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		e.faulty = true
		return false
	}
	if err == nil {
		e.Hash = Hash(b)
		var d document
		if d, err = parse(string(b)); err == nil {
			e.Text, e.Author, e.Source, e.Created = d.text, d.author, d.source, d.created
			return true
		}
	}
	e.Problem, e.faulty = err.Error(), true
	return true
}

// entries are all of a folder, by names: those that have a file, and those that
// were confirmed or forgotten. A proposal whose file never got into place is none.
func (m *Memory) entries(ctx context.Context, s shelf) ([]Entry, error) {
	last, err := m.lastRows(s)
	if err != nil {
		return nil, err
	}
	root, release, err := s.open()
	if err != nil {
		return nil, err
	}
	defer release()
	seen := map[string]bool{}
	if root != nil {
		files, err := names(root)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			seen[name] = true
		}
	}
	for name, r := range last {
		if r.Act != proposed {
			seen[name] = true
		}
	}
	all := make([]Entry, 0, len(seen))
	for name := range seen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, known := last[name]
		all = append(all, s.entry(root, name, r, known))
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// List returns every entry of the project and of all users, by their ids. Who
// may see which is the caller's to say: see Entry.Owner. A folder that cannot be
// read is LOCAL_STORAGE, and one that others may write CONFIGURATION.
func (m *Memory) List(ctx context.Context) ([]Entry, error) {
	var all []Entry
	shelves := m.shelves(Owner{})
	if m.user != "" {
		named, err := m.namedShelves()
		if err != nil {
			return nil, err
		}
		shelves = append(shelves, named...)
	}
	for _, s := range shelves {
		found, err := m.entries(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// namedShelves finds the folders of users that have a name, which their rows
// tell. A folder without rows is nobody's yet, and one under another's digest
// is refused.
func (m *Memory) namedShelves() ([]shelf, error) {
	dirs, err := os.ReadDir(filepath.Join(m.user, "users"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, broken("the folders of the users cannot be read", err)
	}
	var all []shelf
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		o, found, err := firstOwner(filepath.Join(m.user, "users", d.Name(), rowsFile))
		if err != nil {
			return nil, err
		}
		if s := m.userShelf(o); found && filepath.Base(s.files) == d.Name() {
			all = append(all, s)
		}
	}
	return all, nil
}

// Find returns the entry that id names, among those that see lets pass: by its
// whole id, or by its name alone where one entry has it. Otherwise it is NOT_FOUND,
// and CONFLICT where several have the name.
func (m *Memory) Find(ctx context.Context, id string, see func(*Entry) bool) (Entry, error) {
	all, err := m.List(ctx)
	if err != nil {
		return Entry{}, err
	}
	var found []Entry
	for i := range all {
		switch e := &all[i]; {
		case see != nil && !see(e):
		case e.ID == id:
			return *e, nil
		case !strings.Contains(id, "/") && e.name == id:
			found = append(found, *e)
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, notFound(id)
	case 1:
		return found[0], nil
	}
	return Entry{}, &kernel.Error{
		Code: kernel.CodeConflict, Message: fmt.Sprintf("%d entries are called %q", len(found), short(id)),
		Hint: "give the whole id: " + found[0].ID + " or " + found[1].ID,
	}
}

func notFound(id string) error {
	return &kernel.Error{Code: kernel.CodeNotFound, Message: fmt.Sprintf("there is no memory %q", short(id))}
}
