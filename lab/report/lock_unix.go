//go:build unix

package report

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// FileLock keeps other runs from a directory or a file. It goes with the
// process, however that ends.
type FileLock struct{ file *os.File }

// Lock locks a directory or a file. That another process has it is an error,
// which says so.
func Lock(path string) (*FileLock, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another run is writing here", path)
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return &FileLock{file}, nil
}

// Release ends the lock.
func (l *FileLock) Release() { l.file.Close() }
