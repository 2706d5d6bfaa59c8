package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// attributes put the child into a group of its own, which a Ctrl-C in the
// terminal does not reach, and let it die with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// family is the child and everything that it started, as /proc shows them. A
// process belongs to it
//
//   - if the environment that it was started with holds the mark. This survives
//     setsid, double forks and the death of every process between;
//   - if its parent, or the leader of its group or its session, belongs to it.
//     This finds what was started with another environment, or wrote over it;
//   - if it was found to belong to it before, whoever has died since.
//
// The alternatives are worse: to become the subreaper of all orphans changes
// this whole process, and somebody has to reap them; a control group needs
// rights that a user does not have; who holds a pipe open cannot be told from a
// child of this process between its fork and its exec.
//
// A process is known by its id and its start time together. A signal goes
// through a handle that was opened before the start time was looked at again,
// so that it never reaches a stranger who got the id. Who started before the
// child does not belong to it, whatever ids say.
type family struct {
	pid   int
	start uint64 // clock ticks after boot
	mark  []byte
	mutex sync.Mutex
	known map[member]bool
}

func (f *family) found(child *os.Process, mark string) {
	f.pid, f.mark = child.Pid, []byte(mark+"=1")
	// Nobody has waited for it yet, so it is there, be it as a zombie.
	if m, ok := look(child.Pid); ok {
		f.start = m.start
	}
}

type member struct {
	pid, parent, group, session int
	start                       uint64
	dead                        bool // a zombie, which holds nothing
}

// identity is what does not change of a member.
func (m member) identity() member { return member{pid: m.pid, start: m.start} }

// look reads one line of /proc.
func look(pid int) (m member, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return m, false
	}
	// The name before the last parenthesis can be anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return m, false
	}
	m.pid = pid
	m.dead = fields[0] == "Z" || fields[0] == "X"
	m.parent, _ = strconv.Atoi(fields[1])
	m.group, _ = strconv.Atoi(fields[2])
	m.session, _ = strconv.Atoi(fields[3])
	m.start, _ = strconv.ParseUint(fields[19], 10, 64)
	return m, true
}

// members looks for all of the family that live. The mutex is held.
func (f *family) members() []member {
	var rest []member
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if m, ok := look(pid); ok && !m.dead && m.start >= f.start {
			rest = append(rest, m)
		}
	}
	var found []member
	ids := map[int]bool{f.pid: true}
	take := func(belongs func(m member) bool) (more bool) {
		others := rest[:0]
		for _, m := range rest {
			if belongs(m) {
				found = append(found, m)
				ids[m.pid] = true
				more = true
			} else {
				others = append(others, m)
			}
		}
		rest = others
		return more
	}
	take(func(m member) bool { return m.pid == f.pid || f.known[m.identity()] || f.marked(m.pid) })
	for take(func(m member) bool { return ids[m.parent] || ids[m.group] || ids[m.session] }) {
	}
	f.known = make(map[member]bool, len(found))
	for _, m := range found {
		f.known[m.identity()] = true
	}
	return found
}

func (f *family) marked(pid int) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(environment, f.mark)
}

func (m member) signal(signal os.Signal) {
	handle, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer handle.Release()
	if now, ok := look(m.pid); ok && now.start == m.start {
		_ = handle.Signal(signal) // it may have ended
	}
}

func (f *family) left() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.members()) > 0
}

func (f *family) terminate() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, m := range f.stop() {
		m.signal(syscall.SIGTERM)
		m.signal(syscall.SIGCONT)
	}
}

func (f *family) kill() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, m := range f.stop() {
		m.signal(syscall.SIGKILL)
	}
}

// stop stops everybody, which comes before a signal that may end anybody: as
// long as parents live, their children can be found, and who is stopped has no
// more children.
func (f *family) stop() []member {
	stopped := make(map[member]bool)
	for range 100 {
		members := f.members()
		fresh := false
		for _, m := range members {
			if !stopped[m.identity()] {
				stopped[m.identity()] = true
				fresh = true
				m.signal(syscall.SIGSTOP)
			}
		}
		if !fresh {
			return members
		}
	}
	return f.members()
}
