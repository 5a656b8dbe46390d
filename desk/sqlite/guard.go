package sqlite

import (
	"fmt"
	"os"

	"github.com/holdfast-run/holdfast/kernel"
)

// guard refuses a file that others may write, as LOCAL_STORAGE: whoever can
// would confirm what nobody confirmed, and write the audit of it. Who may replace
// it in its folder is for whoever chose the folder.
func guard(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fault(path, err)
	case info.Mode().Perm()&0o022 != 0:
		return &kernel.Error{
			Code:    kernel.CodeLocalStorage,
			Message: fmt.Sprintf("the desk's file may be written by others than its owner (mode %04o)", info.Mode().Perm()),
			Hint:    "look at what they may have changed, then: chmod go-w FILE",
		}
	}
	return nil
}
