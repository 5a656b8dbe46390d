//go:build !linux

package sqlite

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) {}

func mountSmall(string) error { return errors.ErrUnsupported }
