package process_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/internal/process"
)

// A process that has left the group holds the pipes open, and holds up neither
// the wait nor the reader.
func TestEscapedProcess(t *testing.T) {
	p, out := start(t, `setsid sh -c 'echo $$; exec sleep 600' & read -r line; exit 0`)
	escaped, err := strconv.Atoi(strings.TrimSpace(line(t, out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(escaped, syscall.SIGKILL) })
	if _, err := io.WriteString(p.Stdin, "go on\n"); err != nil {
		t.Fatal(err)
	}
	if r := p.Wait(); r.ExitCode != 0 || r.Ended != process.ByItself {
		t.Errorf("%+v", r)
	}
	if _, err := out.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := syscall.Kill(escaped, 0); err != nil {
		t.Errorf("it has not outlived the program: %v", err)
	}
}
