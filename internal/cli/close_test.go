package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
)

// Row 77: what a command opened is closed once in the end, whatever came of it,
// and a failure of that is a warning, not the command's.
func TestClosingFailsAsAWarning(t *testing.T) {
	var warned bytes.Buffer
	a := &app{stderr: &warned}
	j, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	failing := errors.New("the command's own")
	command := func() error {
		end := a.closer("the journal", func() error {
			closed++
			return errors.Join(j.Close(), errors.New("the disk\nis full"))
		})
		defer end()
		defer end()
		return failing
	}
	if err := command(); !errors.Is(err, failing) || err.Error() != failing.Error() {
		t.Errorf("the command ends with %v", err)
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
	if got := warned.String(); got != "warning: the journal could not be closed: the disk\\nis full\n" {
		t.Errorf("%q", got)
	}
	if _, err := j.Heads(t.Context(), journal.Query{}); err == nil {
		t.Error("the journal is open")
	}
	func() { defer a.closer("the journal", j.Close)() }()
	if warned.Len() != len("warning: the journal could not be closed: the disk\\nis full\n") {
		t.Errorf("a closing that went well is told of: %q", warned.String())
	}
}
