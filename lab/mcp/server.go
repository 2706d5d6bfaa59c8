// Package mcp makes a server of the Model Context Protocol one of the lab's
// tool surfaces: it starts or reaches the server, lists its tools and calls
// them.
//
// Start with [Connect]; [Client.Call] makes one call and maps its answer to the
// lab's own words.
//
// One invariant: a server never decides how the lab ends. Whatever it does
// (dies, hangs, floods, lies about ids, prints to its standard output) comes out
// as a result that can be graded, or as a [*tool.Unavailable] that says what
// happened, in bounded time and memory, and what a server started is ended with
// it.
//
// Answers are taken as they stood on the wire: the SDK decodes them through
// float64 and leaves out what it does not know. The SDK negotiates, keeps the
// session and speaks HTTP; nothing outside this package knows it.
//
// The package counts no effects and judges nothing. It is not a server.
package mcp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of what a server may send, and of what is waited for.
const (
	DefaultTimeout    = 10 * time.Second
	DefaultMaxMessage = 16 << 20 // bytes of one message

	// A server is slow to say that it does not know server/discover, which asks
	// for the newest revision of the protocol: after this long, or after a third
	// of the timeout, it is taken for an older one.
	discoverWait = 2 * time.Second

	// All pages of tools/list may take so many times as long as one call.
	listedTime = 10

	maxPages  = 1000 // of tools/list
	maxBarren = 10   // of them in a row without a tool that is new
	maxTools  = 20000

	// Between two answers a server may say so many things that nobody asked for,
	// and ask for so many. The SDK keeps them until it has dealt with them.
	maxUnasked = 50000
	// So many messages in the time of a call are a flood, if no answer comes.
	maxUnaskedHung = 5000
	maxRequests    = 1000

	// The list of tools may come to so many times the size of a message. What
	// nobody asked for may come to that size once between two answers.
	listedSize = 4
)

// Server says how a server is reached: started by a command, or at a URL. It is
// used by pointer, as it learns which revision of the protocol is spoken there.
type Server struct {
	Name    string   // in messages and reports
	Version string   // of the lab, which the server is told
	Command []string // program and arguments
	Dir     string   // where the command runs
	Home    string   // its HOME
	Env     map[string]string
	URL     string
	Headers map[string]string

	Timeout     time.Duration // of the start, and of each call; 0: DefaultTimeout
	MaxMessage  int           // bytes; 0: DefaultMaxMessage
	StrictStdio bool          // text on standard output ends the connection
	// Shown, where set, is what becomes of the answer to a call before it is read
	// and its bytes are counted, but after it was held against the schema: without
	// the paths of one run, say.
	Shown func(answer json.RawMessage) json.RawMessage
	// Notice, where set, is told once of each kind of thing that breaks the
	// protocol without ending the connection. It may be called from any goroutine.
	Notice func(text string)

	learned *learned
}

// learned is what one connection to a server finds out for the next. All copies
// of a server share it.
type learned struct {
	protocol atomic.Pointer[string] // the revision that was agreed on
	stubborn atomic.Bool            // it does not end with its standard input
	newest   atomic.Bool            // it speaks no revision but the newest
	told     sync.Map               // notices, each once
	count    atomic.Int64           // of them
}

// Learning returns a server whose copies share what they learn.
func (s Server) Learning() Server {
	s.learned = new(learned)
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if s.MaxMessage <= 0 {
		s.MaxMessage = DefaultMaxMessage
	}
	return s
}

// Check says what is wrong with the description of a server, or nil.
func (s *Server) Check() error {
	switch {
	case len(s.Command) == 0 && s.URL == "":
		return fmt.Errorf("%s: neither a command nor a URL", s.Name)
	case len(s.Command) > 0 && s.URL != "":
		return fmt.Errorf("%s: both a command and a URL", s.Name)
	case s.URL != "":
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%s: the URL is not one of http or https", s.Name)
		}
	case s.Command[0] == "":
		return fmt.Errorf("%s: the command is empty", s.Name)
	}
	return nil
}

// discoverWait is how long the server is given to answer server/discover.
func (s *Server) discoverWait() time.Duration {
	if s.learned.newest.Load() {
		return s.Timeout
	}
	return min(discoverWait, s.Timeout/3)
}

// maxNotices is how many kinds of things are told of one server.
const maxNotices = 20

// notice tells of something once. What else there is after many is not told.
func (s *Server) notice(kind, text string) {
	if s.learned.count.Load() > maxNotices {
		return
	}
	if _, again := s.learned.told.LoadOrStore(kind, true); again {
		return
	}
	switch count := s.learned.count.Add(1); {
	case s.Notice == nil || count > maxNotices+1:
	case count == maxNotices+1:
		s.Notice(s.Name + ": there is more of this kind, which is not shown")
	default:
		s.Notice(s.scrub(text))
	}
}

// size writes a number of bytes the way a limit is named.
func size(bytes int) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
