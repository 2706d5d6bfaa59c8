//go:build unix

package process

import (
	"io"
	"os"
	"syscall"
)

// drain reads what is in a pipe, and does not wait for more.
func drain(pipe *os.File, b []byte) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	// The pipe does not block: the poller has it.
	controlled := raw.Control(func(fd uintptr) {
		for {
			if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
				return
			}
		}
	})
	if controlled != nil {
		return 0, controlled
	}
	if n <= 0 && (err == nil || err == syscall.EAGAIN) && len(b) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}
