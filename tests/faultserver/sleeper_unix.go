//go:build unix

package faultserver

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func ignoreSignals() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT) }

// startSleeper starts a process that does nothing for as long as a server may
// live, and does not wait for it.
func startSleeper(ownSession, pipes bool) (pid int, err error) {
	var files []*os.File
	if pipes {
		files = []*os.File{os.Stdin, os.Stdout, os.Stderr}
	} else {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return 0, err
		}
		defer null.Close()
		files = []*os.File{null, null, null}
	}
	for _, program := range []string{"/bin/sleep", "/usr/bin/sleep"} {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		child, err := os.StartProcess(program, []string{"sleep", strconv.Itoa(int(Lifetime.Seconds()))},
			&os.ProcAttr{Files: files, Sys: &syscall.SysProcAttr{Setsid: ownSession}})
		if err != nil {
			return 0, err
		}
		pid = child.Pid // which Release forgets
		return pid, child.Release()
	}
	return 0, errors.New("no program sleep")
}
