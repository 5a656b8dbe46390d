package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// Row 86: whoever ends a command that keeps nothing gets CANCELLED, and what the
// command had put aside is gone.
func TestInterruptibly(t *testing.T) {
	aside := filepath.Join(t.TempDir(), "copy")
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	err = interruptibly(t.Context(), func(ctx context.Context) error {
		if err := os.WriteFile(aside, nil, 0o600); err != nil {
			return err
		}
		defer func() { _ = os.Remove(aside) }()
		if err := self.Signal(os.Interrupt); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if kernel.CodeOf(err) != kernel.CodeCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(aside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	if err := interruptibly(t.Context(), func(context.Context) error { return os.ErrInvalid }); !errors.Is(err, os.ErrInvalid) || kernel.CodeOf(err) == kernel.CodeCancelled {
		t.Errorf("a failure of its own became %v", err)
	}
}
