package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/internal/room"
	"github.com/holdfast-run/holdfast/kernel"
)

// InstallOptions say how an archive is installed. The zero value is ready.
type InstallOptions struct {
	// Replace puts the skill in the place of one of the same name. Without it a
	// skill that is there is CONFLICT.
	Replace bool
}

// draftPrefix begins the name of a folder in which a skill is unpacked. No
// catalog looks at it.
const draftPrefix = ".install-"

// oldDraft is when what a killed installation left behind is removed.
const oldDraft = 24 * time.Hour

// Install unpacks a .zip or .tar.gz archive of one skill below a folder, which
// is made where it is missing, and returns the skill and its path. It is whole
// there, and in the format, or not there at all, also when the process is killed.
// INVALID_ARGUMENT is an archive that holds anything but one folder with a
// skill: a path that leads out of it, an absolute one, a hidden one (a name that
// begins with a dot), a link, a device, two names that some file system takes for one,
// more or larger files than a skill may have. What macOS adds (__MACOSX, .DS_Store
// and names that begin with "._") is passed over, with a note. LOCAL_STORAGE is a folder that cannot be written to.
//
// With Replace the old and the new skill are exchanged in one step. Where the file
// system has no such step they are two, and the old one is put back if the second
// fails; a process that is killed between them leaves no skill of that name.
func Install(ctx context.Context, archive, folder string, o InstallOptions) (*Skill, string, error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return nil, "", unwritable(folder, err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, "", unwritable(folder, err)
	}
	sweep(dir, time.Now())
	draft, err := os.MkdirTemp(dir, draftPrefix)
	if err != nil {
		return nil, "", unwritable(folder, err)
	}
	defer func() { _ = os.RemoveAll(draft) }() // what is left is swept another day
	root, err := os.OpenRoot(draft)
	if err != nil {
		return nil, "", unwritable(folder, err)
	}
	defer root.Close()
	name, notes, err := unpack(ctx, archive, root)
	if why, _ := room.Why(err); why != "" { // of what the archive holds nothing is wrong
		return nil, "", unwritable(folder, err)
	}
	if err != nil {
		return nil, "", err
	}
	s, err := scan(root, name)
	if err != nil {
		return nil, "", unfit("the archive holds no skill that can be loaded: "+oneLine(err.Error()), err)
	}
	s.Notes = append(s.Notes, notes...)
	if err := syncTree(root, name); err != nil {
		return nil, "", unwritable(folder, err)
	}
	place := filepath.Join(dir, name)
	if err := settle(filepath.Join(draft, name), place, o.Replace); err != nil {
		return nil, "", err
	}
	return s, place, syncDir(dir)
}

// settle puts a skill that is whole in its place.
func settle(draft, place string, replace bool) error {
	info, err := os.Lstat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.Rename(draft, place)
		if _, there := os.Lstat(draft); err != nil && there == nil && errors.Is(err, fs.ErrExist) {
			return occupied(place)
		}
	case err != nil:
	case !replace:
		return occupied(place)
	case !info.IsDir():
		return &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("%.200q is there and is no folder", place), Hint: "look at it, and remove it"}
	default:
		err = swap(draft, place)
	}
	if err != nil {
		return unwritable(filepath.Dir(place), err)
	}
	return nil
}

// swap exchanges two folders; the old one is where the draft was then.
func swap(draft, place string) error {
	err := exchange(draft, place)
	if err == nil || !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	aside := draft + ".old" // below the folder that Install removes
	if err := os.Rename(place, aside); err != nil {
		return err
	}
	if err := os.Rename(draft, place); err != nil {
		return errors.Join(err, os.Rename(aside, place))
	}
	return nil
}

func occupied(place string) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("a skill named %s is installed already: %.200q", filepath.Base(place), place),
		Hint:    "compare the two; --replace puts the new one in its place",
	}
}

func unwritable(folder string, err error) error {
	why := err.Error()
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = e.Err.Error()
	}
	hint := "check its permissions and the space on its disk"
	if full, free := room.Why(err); full != "" {
		why, hint = full, free
	}
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: fmt.Sprintf("the folder %.200q cannot be written to: %s", folder, why), Hint: hint, Err: err}
}

func unfit(message string, err error) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: message, Hint: "nothing was installed", Err: err}
}

// sweep removes what killed installations left behind.
func sweep(dir string, now time.Time) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return // MkdirTemp says why
	}
	for _, e := range found {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), draftPrefix) && now.Sub(info.ModTime()) > oldDraft {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// syncTree makes the names in a folder and in those below it durable; the files
// are already.
func syncTree(root *os.Root, name string) error {
	return fs.WalkDir(root.FS(), name, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		d, err := root.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(d.Sync(), d.Close())
	})
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return unwritable(dir, err)
	}
	return nil
}
