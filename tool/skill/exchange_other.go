//go:build !linux && !darwin

package skill

import "errors"

// exchange would swap two paths in one step: there is no such step here.
func exchange(string, string) error { return errors.ErrUnsupported }
