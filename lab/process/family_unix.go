//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// attributes put the child into a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// family is the group of the child. Its id is not given to anybody else as long
// as somebody is in it.
type family struct{ group int }

func (f *family) found(child *os.Process, _ string) { f.group = child.Pid }

func (f *family) left() bool { return syscall.Kill(-f.group, 0) == nil }

func (f *family) terminate() { _ = syscall.Kill(-f.group, syscall.SIGTERM) }

func (f *family) kill() { _ = syscall.Kill(-f.group, syscall.SIGKILL) }
