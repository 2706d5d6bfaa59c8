// Package sandbox makes an MCP server a surface whose effects are counted: each
// case gets a fresh folder, a server that works in it, and probes that look at
// what changed there.
//
// Start with [Open], which connects once to learn the tools; the surface opens
// sessions for lab/eval. [Surface.Close] ends all servers and removes all
// folders.
//
// One invariant: a case sees nothing of another. With one server for all cases
// the folder is reset between them, with what lies beside it, and a server that
// still works on a call that nobody waits for any more is given to no other
// case. Whatever else a server remembers is its own affair.
//
// The path of the folder reaches no report: proposals hold [suite.SandboxVariable]
// in its place, and what a server says of the path is turned back into it.
//
// The package reads no configuration and grades nothing.
package sandbox

import (
	"context"
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
	Timeout     time.Duration // of a start, of each call, and of each look of a probe
	StrictStdio bool          // text on a server's standard output ends it
	// Notice, where set, is told what a person should know and no report holds.
	// It may be called from any goroutine.
	Notice func(text string)
}

// Surface is an MCP server as a [tool.Foreign] surface.
type Surface struct {
	spec        suite.Surface
	settings    Settings
	template    mcp.Server
	asked       []mcp.Server // that effects ask, in the order of the effects
	definitions []tool.Definition
	readOnly    map[string]bool   // tools that only read, as they say or somebody has found
	absent      *tool.Unavailable // why there are none
	schemas     *mcp.Client       // that has read the output schemas

	// Its end ends whatever is under way.
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup // starts under way

	seen sightings

	settling sync.Mutex      // held while settled is looked for
	settled  *probe.Watcher  // that knows what changes without any call; nil until it was found
	atEnd    map[string]bool // what changes when a server ends that nobody has called

	mu        sync.Mutex
	benches   map[*bench]bool // all that there are
	idle      []*bench
	starts    []time.Duration
	failures  int               // sessions in a row that could not be opened
	down      *tool.Unavailable // why nothing is started any more
	told      map[string]bool
	leftovers []*folder // that could not be removed
	closed    bool
}

// maxFailures is how many sessions in a row may fail to open, because no server
// starts or its state cannot be seen, before the rest of the cases is spared the
// wait.
const maxFailures = 3

// Open connects to the server of a surface and lists its tools. A server that
// cannot be used is no error: the surface is down, and so is every session of
// it. An error is that of ctx, or of this machine.
func Open(ctx context.Context, spec suite.Surface, settings Settings) (*Surface, error) {
	s := &Surface{spec: spec, settings: settings, told: make(map[string]bool), benches: make(map[*bench]bool)}
	s.life, s.end = context.WithCancel(context.Background())
	s.template = mcp.Server{
		Name:        spec.Name,
		Version:     settings.Version,
		Command:     spec.Server.Command,
		Dir:         settings.Dir,
		Env:         spec.Server.Env,
		URL:         spec.Server.URL,
		Headers:     spec.Server.Headers,
		Timeout:     settings.Timeout,
		StrictStdio: settings.StrictStdio,
		Notice:      settings.Notice,
	}.Learning()
	for _, effect := range spec.Effects {
		if call, ok := effect.(suite.Call); ok && call.Server != nil {
			s.asked = append(s.asked, s.other(call.Server))
		}
	}
	ended := false
	b, err := s.start(ctx)
	if err == nil {
		s.definitions, err = b.client.Tools(ctx)
		s.schemas = b.client
		s.readOnly = make(map[string]bool)
		for _, d := range s.definitions {
			if d.Hints().ReadsOnly() {
				s.readOnly[d.Name] = true
			}
		}
		if err == nil {
			err = s.onlyReads()
		}
		if err == nil {
			// What cannot be looked at is for a session to say.
			_ = s.settle(ctx, b)
			ended = s.learnEnd(ctx, b)
		}
		if err != nil || ended {
			s.discard(b)
		}
	}
	var down *tool.Unavailable
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), s.Close())
	case errors.As(err, &down):
		s.definitions = nil
		s.absent, s.down = down, down
	case err != nil:
		return nil, errors.Join(err, s.Close())
	case !ended:
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

// Remote reports whether the server is reached at a URL, and not started.
func (s *Surface) Remote() bool { return s.spec.Server.URL != "" }

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
	ctx, cancel := s.until(ctx)
	defer cancel()
	session, err := s.open(ctx)
	if err != nil {
		return nil, s.overtaken(err)
	}
	return session, nil
}

func (s *Surface) open(ctx context.Context) (session *session, err error) {
	b, err := s.take(ctx)
	if err == nil {
		if session, err = s.session(ctx, b); err != nil {
			s.discard(b)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed *tool.Unavailable
	switch {
	case err == nil:
		s.failures = 0
	case errors.As(err, &failed):
		if s.failures++; s.failures >= maxFailures && s.down == nil {
			s.down = failed
		}
	}
	return session, err
}

// until is a context that ends with ctx and with the surface.
func (s *Surface) until(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, s.life)
}

// within is a context that ends with ctx and with a life.
func within(ctx, life context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(life, cancel)
	return ctx, func() { stop(); cancel() }
}

// overtaken is an error, or what stands for it where the surface was closed
// meanwhile.
func (s *Surface) overtaken(err error) error {
	if err != nil && s.life.Err() != nil {
		return &tool.Unavailable{Surface: s.spec.Name, Reason: "the surface was closed"}
	}
	return err
}

// broken is the error of a sandbox that this machine does not give.
func (s *Surface) broken(ctx context.Context, reason string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &tool.Unavailable{Surface: s.spec.Name, Reason: reason, Detail: err.Error()}
}

// notice tells what has not been told yet.
func (s *Surface) notice(text string, items ...string) {
	s.mu.Lock()
	news := slices.DeleteFunc(items, func(item string) bool {
		again := s.told[item]
		s.told[item] = true
		return again
	})
	s.mu.Unlock()
	if len(news) == 0 || s.settings.Notice == nil {
		return
	}
	s.settings.Notice(text + list(news))
}

// Close ends all servers and removes their folders, those of open sessions too,
// and is the end of what is under way. Its error is of everything that could not
// be removed since the surface was opened.
func (s *Surface) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
	s.mu.Lock()
	s.idle = nil
	var all []*bench
	for b := range s.benches {
		all = append(all, b)
	}
	s.mu.Unlock()
	var group sync.WaitGroup
	for _, b := range all {
		group.Go(func() { s.discard(b) })
	}
	group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	// What was in the way may be no more: files that were open, above all.
	var errs []error
	s.leftovers = slices.DeleteFunc(s.leftovers, func(f *folder) bool {
		err := f.remove()
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}
