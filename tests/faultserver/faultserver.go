// Package faultserver is an MCP server for tests that does wrong what it is
// told to do wrong: one switch for every fault that a client must survive.
//
// Start with [New], which is an HTTP handler, or with [Main], the whole stdio
// server, for a test binary that runs itself again (testscript.Main) or for
// tests/faultserver/cmd. Without a fault it is a well-behaved server of small
// tools over notes, kept as files in a folder or in memory.
//
// Every message is written by hand, below the level of any SDK, so that what is
// on the wire is what a fault says. A server process never outlives [Lifetime],
// whatever its faults.
//
// It is not a model of a good server, and nothing but tests may import it.
package faultserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Lifetime is how long a server process and its children live at most.
const Lifetime = 5 * time.Minute

// Options say what a server does.
type Options struct {
	Folder string // where the notes are files; empty: in memory
	Faults []Fault
	Pids   string // a file to which "server PID" and "child PID" lines are added
}

// Server is the state behind all connections: the notes, and how many calls
// there were.
type Server struct {
	options Options
	notes   notes
	calls   atomic.Int64 // the tools/call requests so far

	mu       sync.Mutex
	sessions map[string]*peer // over HTTP, by session id
	opened   int
}

// New returns a server, which is also its own HTTP handler.
func New(options Options) *Server {
	s := &Server{options: options, notes: notes{folder: options.Folder}, sessions: make(map[string]*peer)}
	s.notes.later, s.notes.forget = s.has("save-at-eof", 0), s.has("forget-keys", 0)
	for _, fault := range []string{"page-repeats", "page-misses", "page-endless", "limit-ignored"} {
		if s.has(fault, 0) {
			s.notes.pages = fault
		}
	}
	return s
}

// Calls returns how many tools/call requests arrived.
func (s *Server) Calls() int { return int(s.calls.Load()) }

// fault finds the switch with this name that is on at the call of this number;
// number 0 is whatever is no call.
func (s *Server) fault(name string, number int) (Fault, bool) {
	for _, f := range s.options.Faults {
		if f.Name == name && f.at(number) {
			return f, true
		}
	}
	return Fault{}, false
}

func (s *Server) has(name string, number int) bool {
	_, on := s.fault(name, number)
	return on
}

// Main is the command: it reads os.Args, serves stdin and stdout, or HTTP with
// -http, and exits.
//
// It does not end by os.Exit, with which a server that is built with the race
// detector sleeps for a second first.
func Main() {
	syscall.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run is [Main] with its surroundings as arguments; it returns the exit code.
// Some faults still end the process.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("faultserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var options Options
	flags.Func("fault", "switch on `NAME[:ARGUMENT][@CALL[+]]`; repeatable", func(text string) error {
		f, err := ParseFault(text)
		options.Faults = append(options.Faults, f)
		return err
	})
	flags.StringVar(&options.Pids, "pids", "", "add the pids of this server and its children to `FILE`")
	address := flags.String("http", "", "serve streamable HTTP on `ADDRESS`, such as 127.0.0.1:0, instead of stdio")
	list := flags.Bool("faults", false, "list the faults")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: faultserver [flags] [FOLDER]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *list {
		for _, k := range Known {
			fmt.Fprintf(stdout, "%-22s %s\n", k.Name, k.Does)
		}
		return 0
	}
	if flags.NArg() > 1 {
		flags.Usage()
		return 2
	}
	options.Folder = flags.Arg(0)
	s := New(options)
	time.AfterFunc(Lifetime, func() { syscall.Exit(4) })
	if *address != "" {
		return s.serveHTTP(*address, stderr)
	}
	return s.Serve(context.Background(), stdin, stdout, stderr)
}

func (s *Server) serveHTTP(address string, stderr io.Writer) int {
	if err := s.writePid("server", os.Getpid()); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	fmt.Fprintf(stderr, "listening on http://%s/mcp\n", listener.Addr())
	fmt.Fprintln(stderr, http.Serve(listener, s))
	return 1
}
