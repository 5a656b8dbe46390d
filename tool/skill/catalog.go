package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// State says whether a folder is a skill that can be loaded.
type State string

// The states.
const (
	OK        State = "ok"
	Broken    State = "broken"    // not in the format
	Duplicate State = "duplicate" // an earlier folder has a skill of that name
)

// Entry is a folder that was looked at.
type Entry struct {
	Name   string // of the folder
	State  State
	Path   string // absolute
	Reason string // why it is not ok, and what is odd about one that is
	Skill  *Skill // nil: broken
}

// Catalog is the skills of a few folders as they were when it was opened. What
// changes on disk afterwards changes nothing in it: a body stays the old one,
// and another file is the old one or an error. It is safe for concurrent use.
type Catalog struct {
	roots   []*os.Root
	entries []Entry
	skills  map[string]*held
	names   []string // of skills, in order
	digest  string
	tools   []tool.Tool
}

// held is a skill and where its files are.
type held struct {
	*Skill
	root *os.Root
}

// Open reads the skills that lie directly below the folders. Of two of one name
// the first counts, and one that is broken is set aside by name: see Entries.
// A folder that cannot be read, one that is itself a skill, one that is given
// twice and more than MaxSkills skills are CONFIGURATION.
func Open(folders ...string) (*Catalog, error) {
	c := &Catalog{skills: map[string]*held{}}
	for _, folder := range folders {
		if err := c.add(folder); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	h := sha256.New()
	for _, name := range c.names {
		fmt.Fprintf(h, "%s %s\n", c.skills[name].Digest, name)
	}
	c.digest = hex.EncodeToString(h.Sum(nil))
	if err := c.define(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Catalog) add(folder string) error {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return unopened(folder, err)
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return unopened(folder, err)
	}
	if c.has(root) {
		_ = root.Close()
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("the folder of skills %.200q is given twice", folder), Hint: "name each folder once"}
	}
	c.roots = append(c.roots, root)
	if _, err := root.Lstat(ManifestName); err == nil {
		return &kernel.Error{Code: kernel.CodeConfiguration,
			Message: fmt.Sprintf("%.200q is a skill itself, and no folder of skills", folder), Hint: "name the folder above it"}
	}
	below, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return unopened(folder, err)
	}
	for _, e := range below {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type() != fs.ModeSymlink {
			continue
		}
		c.take(root, e, filepath.Join(absolute, e.Name()))
		if len(c.skills) > MaxSkills {
			return &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("there are over %d skills", MaxSkills),
				Hint: "name a folder that holds fewer: each one takes room in every request"}
		}
	}
	slices.Sort(c.names)
	return nil
}

// Look reads the folder of one skill, wherever it lies. Where it is not in the
// format the entry is Broken and says why; an error, CONFIGURATION, is a folder
// above it that cannot be read.
func Look(folder string) (Entry, error) {
	place, err := filepath.Abs(folder)
	if err != nil {
		return Entry{}, unopened(folder, err)
	}
	root, err := os.OpenRoot(filepath.Dir(place))
	if err != nil {
		return Entry{}, unopened(folder, err)
	}
	defer root.Close()
	e := Entry{Name: filepath.Base(place), State: Broken, Path: place}
	info, err := root.Stat(e.Name)
	switch {
	case err != nil:
		e.Reason = oneLine(explain(err).Error())
		return e, nil
	case !info.IsDir():
		e.Reason = "it is no folder"
		return e, nil
	}
	if e.Skill, err = scan(root, e.Name); err != nil {
		e.Reason = oneLine(err.Error())
		return e, nil
	}
	e.State, e.Reason = OK, strings.Join(e.Skill.Notes, "; ")
	return e, nil
}

// take looks at one folder.
func (c *Catalog) take(root *os.Root, e fs.DirEntry, where string) {
	entry := Entry{Name: e.Name(), State: Broken, Path: where}
	var err error
	if e.IsDir() {
		entry.Skill, err = scan(root, e.Name())
	} else {
		err = errors.New("it is a symbolic link: put the folder itself there, or name the one that it lies in")
	}
	switch {
	case err != nil:
		entry.Reason = oneLine(err.Error())
	case c.skills[entry.Name] != nil:
		entry.State, entry.Reason = Duplicate, "an earlier folder has it: "+c.pathOf(entry.Name)
	default:
		entry.State, entry.Reason = OK, strings.Join(entry.Skill.Notes, "; ")
		c.skills[entry.Name] = &held{Skill: entry.Skill, root: root}
		c.names = append(c.names, entry.Name)
	}
	c.entries = append(c.entries, entry)
}

func (c *Catalog) pathOf(name string) string {
	i := slices.IndexFunc(c.entries, func(e Entry) bool { return e.Name == name && e.State == OK })
	return c.entries[i].Path
}

// has reports whether the catalog has that folder, under whatever name.
func (c *Catalog) has(root *os.Root) bool {
	info, err := root.Stat(".")
	return err == nil && slices.ContainsFunc(c.roots, func(other *os.Root) bool {
		of, err := other.Stat(".")
		return err == nil && os.SameFile(info, of)
	})
}

func unopened(folder string, err error) error {
	why := err.Error()
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = e.Err.Error()
	}
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: fmt.Sprintf("the folder of skills %.200q cannot be read: %s", folder, why),
		Hint:    "create it, or name another one",
		Err:     err,
	}
}

// Entries returns all folders that were looked at, by name and then in the
// order of the folders that they lie in. Do not change it.
func (c *Catalog) Entries() []Entry {
	sorted := slices.Clone(c.entries)
	slices.SortStableFunc(sorted, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// Skill returns the skill of that name.
func (c *Catalog) Skill(name string) (*Skill, bool) {
	s := c.skills[name]
	if s == nil {
		return nil, false
	}
	return s.Skill, true
}

// Warnings name in words what is there and cannot be loaded.
func (c *Catalog) Warnings() []string {
	var found []string
	for _, e := range c.Entries() {
		if e.State != OK {
			found = append(found, fmt.Sprintf("the skill %s is left out (%s): %s", e.Name, e.State, e.Reason))
		}
	}
	return found
}

// Digest is the SHA-256 of all skills that can be loaded, in hexadecimal.
func (c *Catalog) Digest() string { return c.digest }

// Tools returns load_skill and read_skill_file, or nothing where there is no
// skill. Their descriptions hold the digest, so that another catalog is
// another definition.
func (c *Catalog) Tools() []tool.Tool { return slices.Clone(c.tools) }

// Close releases the folders. Files cannot be read after it.
func (c *Catalog) Close() error {
	var errs []error
	for _, r := range c.roots {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
