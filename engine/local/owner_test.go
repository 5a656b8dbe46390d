package local

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// A lease is free at once when its process is provably gone, and only then.
func TestGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		if gone(ownerName()) {
			t.Error("a process is said to be gone where nothing is known")
		}
		return
	}
	own := ownerName()
	if gone(own) || own == ownerName() {
		t.Errorf("%s is gone, or not unique", own)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s/%d/%s/x", hostName(), child.Process.Pid, incarnation(child.Process.Pid))
	if gone(name) {
		t.Errorf("%s is gone while it runs", name)
	}
	_ = child.Process.Kill()
	for !gone(name) { // dead is gone, waited for or not
		runtime.Gosched()
	}
	_ = child.Wait()
	if absent(os.Getpid()) || absent(1) || !absent(child.Process.Pid) {
		t.Error("what is there is absent, or the other way round")
	}
	if !gone(name) {
		t.Errorf("%s is not gone", name)
	}
	if other := strings.Replace(name, hostName(), "elsewhere", 1); gone(other) {
		t.Errorf("%s is gone, seen from another host", other)
	}
	later := fmt.Sprintf("%s/%d/%s1/x", hostName(), os.Getpid(), incarnation(os.Getpid()))
	if !gone(later) {
		t.Errorf("%s is taken for this process", later)
	}
	for _, odd := range []string{"", "a/b/c/d", hostName() + "/1//x", hostName() + "/0/a.b/x", hostName() + "/1/zz.1/x"} {
		if gone(odd) {
			t.Errorf("%q is gone", odd)
		}
	}
}
