package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// environField is the place of env_start, the address of the environment,
// behind the name in /proc/PID/stat (proc_pid_stat(5), field 50).
const environField = 47

var errStat = errors.New("/proc/self/stat is not as it should be")

// erase overwrites the values of variables where the process was given them.
//
// /proc/PID/environ shows that memory, and root may read it whatever else is
// done; taking a variable out of the environment leaves it as it was. The Go
// runtime has copied it, so that nothing here looks at it any more. Where
// there is no /proc there is nothing to erase.
func erase(names []string) error {
	environ, err := os.ReadFile("/proc/self/environ")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	start, err := environStart()
	if err != nil {
		return err
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		for _, name := range names {
			value, ok := bytes.CutPrefix(entry, []byte(name+"="))
			if !ok {
				continue
			}
			if _, err := memory.WriteAt(make([]byte, len(value)), start+int64(len(name)+1)); err != nil {
				return err
			}
		}
		start += int64(len(entry) + 1)
	}
	return nil
}

func environStart() (int64, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	// The name stands in brackets and may hold any of them.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= environField {
		return 0, errStat
	}
	start, err := strconv.ParseInt(string(fields[environField]), 10, 64)
	if err != nil || start == 0 {
		return 0, errStat
	}
	return start, nil
}

// closeProcess keeps others of the same user from reading this process's
// memory and environment, and keeps both out of core dumps. A program that is
// started is open again. What this process was itself given besides the standard
// streams is passed on to no program.
func closeProcess() error {
	_ = unix.CloseRange(firstFile, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // before Linux 5.11 there is no such thing
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// firstFile is the first descriptor that is no standard stream.
const firstFile = 3
