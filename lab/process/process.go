// Package process runs a child process that is ended together with everything
// that it started.
//
// Start with [Start], and call [Process.End] for every process that it
// returned: that is what frees its pipes.
//
// One invariant: when End has returned, nothing of the child is left: not what
// ignored the end of its input or a signal, not what left its process group or
// its session, not what was handed on to init. The same becomes of what is
// still there when the child has ended by itself, such as a server whose
// wrapper died. On Linux one kind escapes: what cleared its environment, left
// its group and session, and lost its parent, all three. On other Unix systems
// the process group is what is ended, elsewhere the child alone.
//
// It is not a sandbox: a child can do whatever this process may do. It sets no
// limits, reads no configuration, and starts nothing again.
package process

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Command is what to run.
type Command struct {
	// Args are the program and its arguments. A program without a slash is looked
	// up in the PATH of this process, whatever Env says. One with a slash that is
	// not absolute is relative to Dir, as the child's own arguments are.
	Args []string
	Dir  string   // where; "" is the working directory of this process
	Env  []string // the whole environment, see [Environment]; nil is none
}

const (
	// settle is what outlives the child has between SIGTERM and SIGKILL.
	settle = time.Second
	// patience is how long what was killed is waited for. Only what hangs within
	// the kernel needs longer, and nothing can be done about that.
	patience = 10 * time.Second
)

// Process is a child that was started. Its methods are safe for concurrent use.
type Process struct {
	family family
	stdin  *input
	stdout *output
	stderr *os.File
	words  words

	exited chan struct{} // the child has ended
	heard  chan struct{} // its standard error has ended
	gone   chan struct{} // nothing of it is left
	hurry  chan struct{} // no more waiting for what is left
	rush   sync.Once
	status string // written before exited is closed
}

// Start starts a command. That it cannot be started is an error in plain words,
// a [*StartError]. Whatever ctx its caller has, the process runs until it ends
// or is ended.
func Start(command Command) (*Process, error) {
	cmd, err := prepare(command)
	if err != nil {
		return nil, err
	}
	// The name is what tells: a process within a process has both.
	mark := markPrefix + rand.Text()
	cmd.Env = append(append(slices.Clone(command.Env), marks(os.Environ())...), mark+"=1")
	cmd.SysProcAttr = attributes()

	var pipes []*os.File // read and write ends in turn
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes...)
			return nil, &StartError{command.Args[0], "no pipe: " + err.Error(), err}
		}
		pipes = append(pipes, r, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	p := &Process{
		stdin:  &input{file: pipes[1]},
		stdout: &output{pipes[2]},
		stderr: pipes[4],
		exited: make(chan struct{}),
		heard:  make(chan struct{}),
		gone:   make(chan struct{}),
		hurry:  make(chan struct{}),
	}
	started := make(chan error)
	go p.live(cmd, mark, started)
	err = <-started
	closeAll(pipes[0], pipes[3], pipes[5])
	if err != nil {
		closeAll(pipes[1], pipes[2], pipes[4])
		return nil, refused(command, err)
	}
	go func() {
		defer close(p.heard)
		_, _ = io.Copy(&p.words, p.stderr)
	}()
	return p, nil
}

// markPrefix begins the name of the environment variable that tells the
// processes of one child from all others.
const markPrefix = "LAB_PROCESS_"

var markPattern = regexp.MustCompile(markPrefix + "[A-Z2-7]{26}")

// Unmark returns what a child says of its environment as it is in every run:
// without what tells this child from all others.
func Unmark(text []byte) []byte {
	if !bytes.Contains(text, []byte(markPrefix)) {
		return text
	}
	return markPattern.ReplaceAll(text, []byte(markPrefix))
}

// marks are the variables that tell whose this process itself is. Its children
// are theirs too.
func marks(environment []string) []string {
	return slices.DeleteFunc(environment, func(v string) bool { return !strings.HasPrefix(v, markPrefix) })
}

// live starts the child, waits for its end and ends what it leaves behind. The
// thread that started it stays until then: on Linux the child is killed when
// that thread ends, so that it cannot outlive a killed parent.
func (p *Process) live(cmd *exec.Cmd, mark string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	if err == nil {
		p.family.found(cmd.Process, mark)
	}
	started <- err
	if err != nil {
		return
	}
	err = cmd.Wait()
	if p.status = cmd.ProcessState.String(); cmd.ProcessState == nil {
		p.status = err.Error()
	}
	close(p.exited)
	p.clear()
	// Whoever escaped may hold the pipe.
	select {
	case <-p.heard:
	case <-time.After(settle):
	}
	_ = p.stderr.Close()
	<-p.heard
	p.stdout.finish()
	close(p.gone)
}

// clear ends what outlives the child.
func (p *Process) clear() {
	if !p.family.left() {
		return
	}
	p.family.terminate()
	if !p.waitLeft(time.Now().Add(settle), p.hurry) {
		return
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		p.family.kill()
		if !p.waitLeft(time.Now().Add(settle/4), nil) {
			return
		}
	}
}

// waitLeft looks until nothing is left, and reports whether something is.
func (p *Process) waitLeft(until time.Time, stop <-chan struct{}) bool {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if !p.family.left() {
			return false
		}
		if time.Now().After(until) {
			return true
		}
		select {
		case <-stop:
			return true
		case <-time.After(pause):
		}
	}
}

// Stdin returns what the child reads. Writing fails when the child has ended,
// and does not outlast End; closing it twice is no error.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns what the child writes. It ends when nobody is left who could
// write, and at the latest when the child has been ended: what was not read
// until then is lost.
func (p *Process) Stdout() io.Reader { return p.stdout }

// LastWords returns the last lines of the standard error, as bytes that came
// from outside: at most 10 lines of at most 500 bytes. Where the child has
// ended they are its very last.
func (p *Process) LastWords() []string {
	select {
	case <-p.exited:
		select {
		case <-p.heard:
		case <-time.After(settle / 4): // somebody else holds the pipe
		}
	default:
	}
	return p.words.last()
}

// Exited is closed when the child itself has ended, whoever it leaves behind.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status tells how the child ended, such as "exit status 3" or "signal:
// killed", or "" while it runs.
func (p *Process) Status() string {
	select {
	case <-p.exited:
		return p.status
	default:
		return ""
	}
}

// rushed is closed when nobody is waited for any more.
var (
	rushed   = make(chan struct{})
	rushOnce sync.Once
)

// Rush takes the grace away from every [Process.End], those under way included:
// what is left is killed at once. It is for a process that is about to end, and
// that somebody has told so twice.
func Rush() { rushOnce.Do(func() { close(rushed) }) }

// End closes the child's input and waits for so long, sends SIGTERM to
// everything that it started and waits as long again, and then kills
// everything. It returns when nothing is left. It may be called at any time,
// again, and from several goroutines: the shortest grace counts.
func (p *Process) End(grace time.Duration) {
	_ = p.stdin.Close()
	if !within(p.gone, grace, rushed) {
		p.family.terminate()
		if !within(p.gone, grace, rushed) {
			p.rush.Do(func() { close(p.hurry) })
			p.family.kill()
			within(p.gone, 2*patience, nil)
		}
	}
	_ = p.stdout.file.Close()
}

// within waits for done, but no longer than limit, or than until over.
func within(done <-chan struct{}, limit time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-over:
	}
	return false
}

// input is a pipe that may be closed again.
type input struct{ file *os.File }

func (i *input) Write(b []byte) (int, error) { return i.file.Write(b) }

func (i *input) Close() error {
	if err := i.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// output is a pipe that ends when the process has been ended, whoever holds the
// other end.
type output struct{ file *os.File }

// finish lets no read wait any more; what is in the pipe can still be read.
func (o *output) finish() { _ = o.file.SetReadDeadline(time.Unix(1, 0)) }

func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = drain(o.file, b)
	}
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}
