package sandbox

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// unprivileged runs a function to which permissions apply, also where root runs
// the tests: the user of the file system is one of a thread. It has a folder of
// its own, which is TMPDIR too.
func unprivileged(t *testing.T, run func(top string)) {
	t.Helper()
	if os.Getuid() != 0 {
		top := t.TempDir()
		t.Setenv("TMPDIR", top)
		run(top)
		return
	}
	const nobody = 65534
	// All of the way there has to be open to nobody.
	tmp, err := os.MkdirTemp("/tmp", "lab-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chown(tmp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setfsuid(0)
	run(tmp)
}
