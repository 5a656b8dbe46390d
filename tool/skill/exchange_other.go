//go:build !linux

package skill

import "errors"

// exchange swaps two paths in one step, which is used on Linux alone.
func exchange(string, string) error { return errors.ErrUnsupported }
