//go:build unix

package report

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// dirLock is held by the set that is open in a directory. It goes with the
// process, however that ends.
type dirLock struct{ dir *os.File }

func lockDir(path string) (*dirLock, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another run is writing here", path)
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return &dirLock{dir}, nil
}

func (l *dirLock) release() { l.dir.Close() }
