// Package sandbox makes an MCP server a surface whose effects are counted: each
// case gets a fresh folder, a server that works in it, and probes that look at
// what changed there.
//
// Start with [Open], which connects once to learn the tools; the surface opens
// sessions for lab/eval. [Surface.Close] ends all servers and removes all
// folders.
//
// One invariant: a case sees nothing of another. With one server for all cases
// the folder is reset between them, and whatever else that server remembers is
// its own affair.
//
// The path of the folder reaches no report: proposals hold [suite.SandboxVariable]
// in its place, and what a server says of the path is turned back into it.
//
// The package reads no configuration and grades nothing.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"agentlab/lab/mcp"
	"agentlab/lab/probe"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// Settings are what all surfaces of a run have in common.
type Settings struct {
	Version     string // of the lab, which servers are told
	Dir         string // where commands run
	Isolation   suite.Isolation
	Timeout     time.Duration
	MaxMessage  int  // bytes of one message; 0 for the default of lab/mcp
	StrictStdio bool // text on a server's standard output ends it
	// Notice, where set, is told what a person should know and no report holds.
	// It may be called from any goroutine.
	Notice func(text string)
}

// Surface is an MCP server as a [tool.Foreign] surface.
type Surface struct {
	spec        suite.Surface
	settings    Settings
	template    mcp.Server
	definitions []tool.Definition
	absent      *tool.Unavailable // why there are none
	schemas     *mcp.Client       // that has read the output schemas
	settled     *probe.Watcher    // that has found what changes without any call; may be nil

	mu       sync.Mutex
	idle     []*bench
	starts   []time.Duration
	failures int               // starts in a row that failed
	down     *tool.Unavailable // why nothing is started any more
	told     map[string]bool
	closed   bool
}

// maxFailures is how many starts in a row may fail before the rest of the cases
// is spared the wait.
const maxFailures = 3

// Open connects to the server of a surface and lists its tools. A server that
// cannot be used is no error: the surface is down, and so is every session of
// it. An error is that of ctx, or of this machine.
func Open(ctx context.Context, spec suite.Surface, settings Settings) (*Surface, error) {
	s := &Surface{spec: spec, settings: settings, told: make(map[string]bool)}
	s.template = mcp.Server{
		Name:        spec.Name,
		Version:     settings.Version,
		Command:     spec.Server.Command,
		Dir:         settings.Dir,
		Env:         spec.Server.Env,
		URL:         spec.Server.URL,
		Headers:     spec.Server.Headers,
		Timeout:     settings.Timeout,
		MaxMessage:  settings.MaxMessage,
		StrictStdio: settings.StrictStdio,
		Notice:      settings.Notice,
	}.Learning()
	b, err := s.start(ctx)
	if err == nil {
		s.definitions, err = b.client.Tools(ctx)
		s.schemas = b.client
		if err == nil {
			err = s.settle(ctx, b)
		}
		if err != nil {
			err = errors.Join(err, b.end())
		}
	}
	var down *tool.Unavailable
	switch {
	case errors.As(err, &down):
		s.absent, s.down = down, down
	case err != nil:
		return nil, err
	default:
		s.idle = append(s.idle, b)
	}
	return s, nil
}

// Name implements [tool.Surface].
func (s *Surface) Name() string { return s.spec.Name }

// Definitions implements [tool.Surface]. There are none of a surface that is
// down.
func (s *Surface) Definitions() []tool.Definition { return s.definitions }

// Down implements [tool.Foreign].
func (s *Surface) Down() *tool.Unavailable { return s.absent }

// Blind implements [tool.Foreign].
func (s *Surface) Blind() bool { return len(s.spec.Effects) == 0 }

// Starts tells how often the server was connected to, and how long that took: in
// the middle and at most.
func (s *Surface) Starts() (count int, median, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if count = len(s.starts); count == 0 {
		return 0, 0, 0
	}
	sorted := slices.Sorted(slices.Values(s.starts))
	return count, sorted[count/2], sorted[count-1]
}

// Open implements [tool.Surface]. The session is a [tool.Observed].
func (s *Surface) Open(ctx context.Context) (tool.Session, error) {
	b, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	session, err := s.session(ctx, b)
	if err != nil {
		s.put(b, false)
		return nil, err
	}
	return session, nil
}

// take returns a bench that no case has used since it was last laid out.
func (s *Surface) take(ctx context.Context) (*bench, error) {
	s.mu.Lock()
	if s.down != nil {
		defer s.mu.Unlock()
		down := *s.down
		return nil, &down
	}
	var b *bench
	if n := len(s.idle); n > 0 {
		b = s.idle[n-1]
		s.idle = s.idle[:n-1]
	}
	s.mu.Unlock()
	if b == nil {
		return s.start(ctx)
	}
	if b.used {
		if err := b.folder.reset(ctx, s.spec.Sandbox.Seed); err != nil {
			return nil, errors.Join(s.broken(ctx, "the sandbox could not be reset", err), b.end())
		}
	}
	return b, nil
}

// put takes a bench back after a case.
func (s *Surface) put(b *bench, whole bool) error {
	b.used = true
	s.mu.Lock()
	keep := whole && s.settings.Isolation == suite.PerSuite && !s.closed
	if keep {
		s.idle = append(s.idle, b)
	}
	s.mu.Unlock()
	if keep {
		return nil
	}
	return b.end()
}

// start lays out a folder and connects to a server in it.
func (s *Surface) start(ctx context.Context) (*bench, error) {
	b, err := s.lay(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed *tool.Unavailable
	switch {
	case errors.As(err, &failed):
		if s.failures++; s.failures >= maxFailures && s.down == nil {
			s.down = failed
		}
	case err == nil:
		s.failures = 0
		s.starts = append(s.starts, b.client.StartTook())
	}
	return b, err
}

func (s *Surface) lay(ctx context.Context) (*bench, error) {
	f, err := newFolder(ctx, s.spec.Sandbox.Seed)
	if err != nil {
		return nil, s.broken(ctx, "the sandbox could not be made", err)
	}
	spec := s.spec.In(f.path)
	server := s.template
	server.Command, server.Env, server.Home = spec.Server.Command, spec.Server.Env, f.path
	server.Shown = func(answer json.RawMessage) json.RawMessage { return f.leave(answer) }
	client, err := mcp.Connect(ctx, &server)
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	if s.schemas != nil {
		client.ShareSchemas(s.schemas)
	}
	return &bench{folder: f, client: client, effects: spec.Effects}, nil
}

// broken is the error of a sandbox that this machine does not give.
func (s *Surface) broken(ctx context.Context, reason string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &tool.Unavailable{Surface: s.spec.Name, Reason: reason, Detail: err.Error()}
}

// notice tells of something once.
func (s *Surface) notice(text string) {
	s.mu.Lock()
	again := s.told[text]
	s.told[text] = true
	s.mu.Unlock()
	if !again && s.settings.Notice != nil {
		s.settings.Notice(text)
	}
}

// Close ends the servers that no session uses and removes their folders. Those
// of open sessions end with them.
func (s *Surface) Close() error {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	var group sync.WaitGroup
	errs := make([]error, len(idle))
	for i, b := range idle {
		group.Go(func() { errs[i] = b.end() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// bench is a folder and the server that works in it.
type bench struct {
	folder  *folder
	client  *mcp.Client
	effects []suite.Effect // with the folder in them
	others  []*mcp.Client  // that probes ask
	used    bool           // by a case
}

// end ends the servers, and then removes the folder, in which nobody writes any
// more.
func (b *bench) end() error {
	b.client.Close()
	for _, other := range b.others {
		other.Close()
	}
	return b.folder.remove()
}
