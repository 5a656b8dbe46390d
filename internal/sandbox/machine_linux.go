package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-run/holdfast/internal/process"
)

// lookTime bounds a look at what a machine offers.
const lookTime = 10 * time.Second

// Look finds out what this machine offers. It starts two programs that do
// nothing.
func Look(ctx context.Context) *Machine {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	try := func(c process.Command) error {
		r, err := c.Run(ctx)
		switch {
		case err != nil:
			return err
		case r.ExitCode != 0:
			return errors.New(strings.TrimSpace(r.Stderr.Last(200)))
		}
		return nil
	}
	m := &Machine{system: systemPaths()}
	m.lookLandlock()
	err := try(process.Command{
		Argv: []string{"true"}, Env: process.Environment(nil), MaxOutput: 1 << 10, Limits: map[int]uint64{unix.RLIMIT_CORE: 0},
	})
	if err != nil {
		m.NoLimits = fmt.Errorf("no program can be limited: %w", err)
	}
	m.lookBubblewrap(try)
	return m
}
