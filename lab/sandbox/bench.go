package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"agentlab/lab/mcp"
	"agentlab/lab/pin"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// bench is a folder and the server that works in it.
type bench struct {
	folder  *folder
	client  *mcp.Client
	effects []suite.Effect // with the folder in them
	others  []*mcp.Client  // that probes ask
	used    bool           // by a case

	// Calls and looks work at it at the same time. Whoever lays it out or ends it
	// does so alone.
	turn sync.RWMutex
	once sync.Once
	err  error
}

// lost is why a server of the bench takes no more calls, or nil.
func (b *bench) lost() error {
	err := b.client.Lost()
	for _, other := range b.others {
		if err == nil {
			err = other.Lost()
		}
	}
	return err
}

// end ends the servers, and then removes the folder, in which nobody writes any
// more. It waits for whoever works there.
func (b *bench) end() error {
	b.once.Do(func() {
		b.turn.Lock()
		defer b.turn.Unlock()
		var group sync.WaitGroup
		for _, client := range append(b.others, b.client) {
			group.Go(func() { client.Close() })
		}
		group.Wait()
		b.err = b.folder.remove()
	})
	return b.err
}

// take returns a bench that no case has used since it was last laid out.
func (s *Surface) take(ctx context.Context) (*bench, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := s.next()
		switch {
		case err != nil:
			return nil, err
		case b == nil:
			return s.start(ctx)
		case b.lost() != nil:
			s.discard(b)
			continue
		case !b.used:
			return b, nil
		}
		if err := b.folder.reset(ctx, s.spec.Sandbox.Seed); err != nil {
			s.discard(b)
			continue // whatever it is, another folder may do
		}
		return b, nil
	}
}

// next returns a bench that nobody works at, or nil where there is none.
func (s *Surface) next() (*bench, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		b := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return b, nil
	}
	if s.down != nil {
		down := *s.down
		return nil, &down
	}
	return nil, nil
}

// put takes a bench back after a case.
func (s *Surface) put(b *bench, whole bool) error {
	b.used = true
	s.mu.Lock()
	keep := whole && s.settings.Isolation == suite.PerSuite
	if keep {
		s.idle = append(s.idle, b)
	}
	s.mu.Unlock()
	if keep {
		return nil
	}
	return s.discard(b)
}

// discard ends a bench, and keeps what could not be removed for Close.
func (s *Surface) discard(b *bench) error {
	err := b.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.benches[b] {
		delete(s.benches, b)
		if err != nil {
			s.leftovers = append(s.leftovers, b.folder)
		}
	}
	return err
}

// leave keeps a folder that could not be removed, or nil, for Close.
func (s *Surface) leave(f *folder) {
	if f == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftovers = append(s.leftovers, f)
}

// start lays out a folder and connects to a server in it.
func (s *Surface) start(ctx context.Context) (*bench, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, context.Canceled // of the life of the surface
	}
	s.work.Add(1)
	s.mu.Unlock()
	defer s.work.Done()
	b, err := s.lay(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.starts = append(s.starts, b.client.StartTook())
		s.benches[b] = true
	}
	return b, err
}

func (s *Surface) lay(ctx context.Context) (*bench, error) {
	f, err := newFolder(ctx, s.spec.Sandbox.Seed)
	if err != nil {
		s.leave(f)
		return nil, s.broken(ctx, "the sandbox could not be made", err)
	}
	spec := s.spec.In(f.path)
	server := s.template
	server.Command, server.Env, server.Home = spec.Server.Command, spec.Server.Env, f.path
	server.Shown = func(answer json.RawMessage) json.RawMessage { return f.shown.leave(answer) }
	client, err := mcp.Connect(ctx, &server)
	if err != nil {
		if f.remove() != nil {
			s.leave(f)
		}
		return nil, err
	}
	if s.schemas != nil {
		client.ShareSchemas(s.schemas)
		s.compare(ctx, client)
	}
	return &bench{folder: f, client: client, effects: spec.Effects}, nil
}

// compare tells where a server lists other tools at a later start than at the
// first, over which the contract was laid: what was reviewed is not what is called.
func (s *Surface) compare(ctx context.Context, client *mcp.Client) {
	if s.spec.Contract == "" {
		return
	}
	definitions, err := client.Tools(ctx)
	var silent *tool.Unavailable
	switch {
	case errors.As(err, &silent):
		s.notice(s.spec.Name+": a later start of the server does not list its tools: ", silent.Reason)
		return
	case err != nil:
		return
	}
	var other []string
	for _, change := range pin.Of(s.definitions).Changes(definitions) {
		other = append(other, strings.TrimSpace(change.Tool+" "+change.Part))
	}
	s.notice(s.spec.Name+": a later start of the server lists tools otherwise than the first, over which the contract was laid: ", other...)
}
