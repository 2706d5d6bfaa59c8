//go:build !unix

package process

import (
	"io"
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// family is the child alone.
type family struct{ child *os.Process }

func (f *family) found(child *os.Process, _ string) { f.child = child }

func (f *family) left() bool { return false }

func (f *family) terminate() { f.kill() }

func (f *family) kill() { _ = f.child.Kill() }

func drain(*os.File, []byte) (int, error) { return 0, io.EOF }
