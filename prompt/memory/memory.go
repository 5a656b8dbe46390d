//go:build linux || darwin

// Package memory is what outlasts a run: entries of a project and of a user,
// as Markdown files that people read, write and keep in git, and as rows that
// say who proposed, confirmed or forgot each.
//
// An entry counts for nothing until the host or a person confirms it. A
// confirmation binds the exact bytes of the file by their SHA-256: a file that
// was changed since counts for nothing until it is confirmed again. Neither a
// model, nor whoever can write the project's folder, can confirm: the rows lie
// in a folder of the host's, outside of the workspace, and not beside the files of
// a project. A repository that somebody else wrote therefore brings proposals,
// whatever it claims.
//
// [Memory] keeps and attaches the entries; [AgentsFile] attaches the AGENTS.md
// of a workspace, which nobody confirmed and which says so.
package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/internal/room"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
)

// The bounds of a memory.
const (
	MaxText     = 4 << 10  // bytes of an entry's text
	MaxAttached = 32 << 10 // bytes that go with one request, where Config sets nothing
	MaxEntries  = 1000     // files of a folder: a proposal over it is refused
	MaxPending  = 64       // proposals of one identity in a folder that nobody decided on yet
	maxFile     = MaxText + 2<<10
	maxWords    = 200 // bytes of an author or a source
	maxListed   = 10 * MaxEntries
)

// Scope says whose an entry is.
type Scope string

// The scopes. What is of the project goes with every run of it, what is of a
// user with the runs of that very user and tenant.
const (
	Project Scope = "project"
	User    Scope = "user"
)

// Config says where a memory is. The zero value is refused.
type Config struct {
	// Project is the folder of the project's entries; empty: there are none. It
	// need not exist yet, and is no symbolic link.
	Project string
	// Root is the folder of the project, which Project lies in: on the way from
	// there no link leads out of it. Empty: the way to Project is the host's own, and
	// its links are followed.
	Root string
	// User is the folder of the users' entries; empty: there are none. Those of
	// runs without a name lie in it, the others in a folder each below users.
	User string
	// State is the folder in which the rows of the project are kept. Nobody
	// but the host writes there. Empty: User. One of both is required.
	State string
	// Attached bounds what goes with one request, in bytes. 0: MaxAttached.
	Attached int
}

// Memory is an open memory. It holds no descriptor and needs no Close; several
// processes may use one folder. It is safe for concurrent use.
type Memory struct {
	project, user, state string // absolute; empty: none
	root                 string // absolute; empty: that of the file system
	attached             int

	mu    sync.Mutex
	cache map[string]cached // rows, by the path of their file
}

var _ prompt.Attacher = (*Memory)(nil)

// Open returns the memory of the folders that c names. It writes nothing. A
// setting that is missing or cannot be is CONFIGURATION.
func Open(c Config) (*Memory, error) {
	if c.Project == "" && c.User == "" {
		return nil, misconfigured("a memory has neither a project's folder nor a user's", "name one of them")
	}
	if c.State == "" && c.User == "" {
		return nil, misconfigured("nothing says where the decisions on a project's memory are kept", "name a folder of the host's, outside of the project")
	}
	if c.Attached < 0 {
		return nil, misconfigured("what memory may attach cannot be negative", "0 is the default")
	}
	m := &Memory{attached: cmp.Or(c.Attached, MaxAttached), cache: map[string]cached{}}
	for _, f := range []struct {
		given string
		to    *string
	}{{c.Root, &m.root}, {c.Project, &m.project}, {c.User, &m.user}, {cmp.Or(c.State, c.User), &m.state}} {
		if f.given == "" {
			continue
		}
		abs, err := filepath.Abs(f.given)
		if err != nil {
			return nil, misconfigured("the working directory cannot be named", "give absolute folders")
		}
		*f.to = abs
		if info, err := os.Stat(abs); err == nil && !info.IsDir() {
			return nil, misconfigured(strconv.Quote(abs)+" is not a folder", "name a folder for the memory")
		}
	}
	if m.root != "" && m.project != "" && !strings.HasPrefix(m.project, strings.TrimSuffix(m.root, "/")+"/") {
		return nil, misconfigured(strconv.Quote(m.project)+" does not lie in "+strconv.Quote(m.root), "name a folder in the project, or no folder of the project")
	}
	if info, err := os.Lstat(m.project); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, isLink(m.project)
	}
	return m, nil
}

// Has reports whether there is memory of a scope.
func (m *Memory) Has(s Scope) bool {
	return s == Project && m.project != "" || s == User && m.user != ""
}

// Owner is an identity, as it comes from the host. Both names may be empty.
type Owner struct{ Tenant, User string }

// check refuses names that nobody has: see kernel.IsName.
func (o Owner) check() error {
	for _, name := range []string{o.Tenant, o.User} {
		if name != "" && !kernel.IsName(name) {
			return invalid(strconv.QuoteToASCII(short(name))+" cannot name anybody", "a name is printable text without white space around it")
		}
	}
	return nil
}

// shelf is one folder of entries with its rows.
type shelf struct {
	scope  Scope
	prefix string // of the ids
	files  string // absolute
	root   string // absolute: what the way to files starts from, and does not leave
	host   string // absolute, the host's folder
	rows   string // absolute, in it: the folder of the rows' file
	owner  Owner  // of the user's scope: whose it is
}

func (m *Memory) projectShelf() shelf {
	return shelf{scope: Project, prefix: "project/", files: m.project, root: m.root, host: m.state, rows: filepath.Join(m.state, "projects", folderName(m.project, filepath.Base(m.project)))}
}

// userShelf is the folder of one identity. It is found by a digest of both
// names, so that no name, however odd, leads into another one's.
func (m *Memory) userShelf(o Owner) shelf {
	s := shelf{scope: User, prefix: "user/", files: m.user, host: m.user, rows: m.user, owner: o}
	if o != (Owner{}) {
		names, _ := json.Marshal([]string{o.Tenant, o.User}) // cannot fail: two strings
		folder := folderName(string(names), o.User)
		s.prefix += folder + "/"
		s.files = filepath.Join(m.user, "users", folder)
		s.rows = s.files
	}
	return s
}

// shelves are those that a request of an identity gets.
func (m *Memory) shelves(o Owner) []shelf {
	var all []shelf
	if m.project != "" {
		all = append(all, m.projectShelf())
	}
	if m.user != "" {
		all = append(all, m.userShelf(o))
	}
	return all
}

// folderName is a digest with something readable in front.
func folderName(of, readable string) string {
	sum := sha256.Sum256([]byte(of))
	var b strings.Builder
	for _, r := range strings.ToLower(readable) {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			b.WriteRune(r)
		}
		if b.Len() == 24 {
			break
		}
	}
	return cmp.Or(b.String(), "x") + "-" + hex.EncodeToString(sum[:16])
}

// Hash is what a confirmation binds: the SHA-256 of a file's bytes, in hex.
func Hash(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func short(s string) string { return s[:min(len(s), 80)] }

func misconfigured(message, hint string) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: hint}
}

func invalid(message, hint string) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: message, Hint: hint}
}

func broken(what string, err error) error {
	hint := "look at the folder, its owner and its mode"
	if why, more := room.Why(err); why != "" {
		what, hint = what+": "+why, more
	}
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "memory: " + what, Hint: hint, Err: err}
}
