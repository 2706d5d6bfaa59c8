package faultserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pipe is the outlet of a process.
type pipe struct {
	server *Server
	stderr io.Writer

	mu     sync.Mutex
	stdout io.Writer
	broken bool
}

func (w *pipe) line(data []byte) bool {
	ending := "\n"
	if w.server.has("crlf", 0) {
		ending = "\r\n"
	}
	if w.server.has("blank-lines", 0) {
		ending += ending
	}
	return w.raw(append(bytes.Clone(data), ending...))
}

func (w *pipe) notify(data []byte) bool { return w.line(data) }
func (w *pipe) answer(data []byte)      { w.line(data) }

func (w *pipe) raw(data []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return false
	}
	if _, err := w.stdout.Write(data); err != nil {
		w.broken = true
	}
	return !w.broken
}

func (w *pipe) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = true
	if c, ok := w.stdout.(io.Closer); ok {
		c.Close()
	}
}

func (w *pipe) complain(data []byte) bool {
	_, err := w.stderr.Write(data)
	return err == nil
}

func (w *pipe) die(code int, lastWords string) {
	fmt.Fprintln(w.stderr, lastWords)
	syscall.Exit(code)
}

// Serve is the stdio server: it answers until stdin ends and returns the exit
// code. A request that hangs is given up then.
func (s *Server) Serve(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := s.start(); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &pipe{server: s, stdout: stdout, stderr: stderr}
	if f, on := s.fault("exit-at-start", 0); on {
		fmt.Fprintln(stderr, f.text("cannot start: no configuration"))
		return 7
	}
	if f, on := s.fault("slow-start", 0); on {
		time.Sleep(f.wait(500))
	}
	if s.has("bom", 0) {
		out.raw([]byte("\ufeff"))
	}
	if f, on := s.fault("greet", 0); on {
		out.raw([]byte(f.text("Fault server running on stdio") + "\n"))
	}
	if f, on := s.fault("flood-stderr", 0); on && f.Call == 0 {
		flood(ctx, f.number(1), []byte(strings.Repeat("e", 79)+"\n"), out.complain)
	}
	if f, on := s.fault("ticking", 0); on {
		go s.tick(ctx, f.wait(5))
	}

	p := newPeer(s)
	var work sync.WaitGroup
	lines := bufio.NewReader(stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			in := s.read(line)
			rest := p.take(ctx, in, out)
			if rest != nil && (in.Method == "tools/call" || s.waits(in.Method)) {
				work.Go(rest)
			} else if rest != nil {
				rest()
			}
		}
		if err != nil {
			break
		}
	}
	s.notes.saveAll()
	if s.has("write-at-eof", 0) {
		s.notes.run("write_note", arguments{Key: "at-eof", Text: "the end"})
	}
	if s.has("ignore-eof", 0) {
		time.Sleep(Lifetime)
	}
	cancel()
	work.Wait()
	f, _ := s.fault("exit-code", 0)
	return f.number(0)
}

// waits says whether a request of this method may take for ever, and must not
// hold up the others.
func (s *Server) waits(method string) bool {
	switch method {
	case "initialize":
		return s.has("never-initialize", 0)
	case "server/discover":
		return s.has("ignore-discover", 0)
	case "tools/list":
		return s.has("list-hang", 0)
	default:
		return method == "subscriptions/listen"
	}
}

// start does what a process does before it says anything.
func (s *Server) start() error {
	if err := s.writePid("server", os.Getpid()); err != nil {
		return err
	}
	if s.has("ignore-sigterm", 0) {
		ignoreSignals()
	}
	for _, kind := range []string{"child", "daemon"} {
		f, on := s.fault(kind, 0)
		if !on {
			continue
		}
		pid, err := startSleeper(kind == "daemon", f.Arg == "pipes")
		if err == nil {
			err = s.writePid("child", pid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) writePid(what string, pid int) error {
	if s.options.Pids == "" {
		return nil
	}
	file, err := os.OpenFile(s.options.Pids, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, what, pid)
	return err
}

// tick changes a note that nobody asked to change.
func (s *Server) tick(ctx context.Context, every time.Duration) {
	for i := 0; ctx.Err() == nil; i++ {
		s.notes.run("write_note", arguments{Key: "clock", Text: strconv.Itoa(i)}) // the folder may be gone at the end
		time.Sleep(every)
	}
}
