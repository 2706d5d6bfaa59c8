package process

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

func TestLook(t *testing.T) {
	self, ok := look(os.Getpid())
	session, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	want := member{pid: os.Getpid(), parent: os.Getppid(), group: syscall.Getpgrp(), session: int(session), start: self.start}
	if !ok || self != want || self.start == 0 {
		t.Errorf("%+v, want %+v", self, want)
	}
	if _, ok := look(1 << 30); ok {
		t.Error("there is a process of an id that cannot be")
	}
	if !slices.Contains(processes(), os.Getpid()) {
		t.Error("this process is not listed")
	}
}

// What was looked at lately is looked at again where it may belong to a child.
func TestAfter(t *testing.T) {
	p := begin(t, act("deaf", token(t)))
	readLines(t, p, 1)
	contains := func(start uint64) bool {
		return slices.ContainsFunc(after(start), func(m member) bool { return m.pid == p.family.pid })
	}
	for range 2 {
		if start := p.family.start; !contains(start) || !contains(0) || contains(start+1) {
			t.Error("a process is not listed by its start")
		}
	}
	if slices.ContainsFunc(after(0), func(m member) bool { return m.pid == os.Getpid() }) {
		t.Error("this process is listed")
	}
	p.End(0)
	if contains(0) {
		t.Error("a process is listed that has ended")
	}
}
