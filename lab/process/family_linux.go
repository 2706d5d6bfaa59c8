package process

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
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

// look reads one line of /proc. It is asked of every process of the machine at
// the end of every child, and so makes no more calls of the system than it must:
// os.ReadFile takes twice as long.
func look(pid int) (member, bool) { return lookWith(pid, make([]byte, maxStat)) }

// maxStat is what a line has at most: 52 numbers of at most 20 digits, and a name
// of at most 64 bytes.
const maxStat = 1536

func lookWith(pid int, line []byte) (m member, ok bool) {
	var path [32]byte
	name := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), "/stat"...)
	file, err := open(string(name))
	if err != nil {
		return m, false
	}
	n, err := syscall.Read(file, line)
	_ = syscall.Close(file)
	if err != nil || n <= 0 {
		return m, false
	}
	// The name before the last parenthesis can be anything.
	text := line[:n]
	number := 0
	for field := range bytes.FieldsSeq(text[bytes.LastIndexByte(text, ')')+1:]) {
		switch number {
		case 0:
			m.dead = field[0] == 'Z' || field[0] == 'X'
		case 1:
			m.parent = int(decimal(field))
		case 2:
			m.group = int(decimal(field))
		case 3:
			m.session = int(decimal(field))
		case 19:
			m.pid, m.start = pid, decimal(field)
			return m, true
		}
		number++
	}
	return m, false
}

func open(name string) (int, error) {
	for {
		file, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return file, err
		}
	}
}

// decimal reads what the kernel wrote; a number below zero belongs to nobody here.
func decimal(field []byte) (n uint64) {
	for _, digit := range field {
		if digit < '0' || digit > '9' {
			return 0
		}
		n = 10*n + uint64(digit-'0')
	}
	return n
}

// processes lists the ids of all processes.
func processes() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // as many as there are
	for _, name := range names {
		if pid := int(decimal([]byte(name))); pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// seen are the starts of processes that were looked at lately. Children end many
// at a time, and most processes are older than any of them.
var seen struct {
	mutex  sync.Mutex
	since  time.Time
	starts map[int]uint64
}

// lately is so short that no id is given again within it: before that, every
// other id has its turn.
const lately = 200 * time.Millisecond

// after lists the processes that live, but for some that started before the one
// at start.
func after(start uint64) (found []member) {
	line := make([]byte, maxStat)
	self := os.Getpid()
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	if now := time.Now(); now.Sub(seen.since) > lately {
		seen.since, seen.starts = now, make(map[int]uint64)
	}
	for _, pid := range processes() {
		if began, ok := seen.starts[pid]; pid == self || ok && began < start {
			continue
		}
		m, ok := lookWith(pid, line)
		if !ok {
			continue
		}
		seen.starts[pid] = m.start
		if !m.dead && m.start >= start {
			found = append(found, m)
		}
	}
	return found
}

// members looks for all of the family that live. The mutex is held.
func (f *family) members() []member {
	rest := after(f.start)
	var found []member
	// The id of the child stays taken for its group and its session as long as
	// somebody is in them; as a process it may be a stranger's by now.
	groups, parents := map[int]bool{f.pid: true}, make(map[int]bool)
	take := func(belongs func(m member) bool) (more bool) {
		others := rest[:0]
		for _, m := range rest {
			if belongs(m) {
				found = append(found, m)
				groups[m.pid], parents[m.pid] = true, true
				more = true
			} else {
				others = append(others, m)
			}
		}
		rest = others
		return more
	}
	take(func(m member) bool {
		return m.pid == f.pid && m.start == f.start || f.known[m.identity()] || f.marked(m.pid)
	})
	for take(func(m member) bool { return parents[m.parent] || groups[m.group] || groups[m.session] }) {
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
