package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentlab/lab/mcp"
	"agentlab/lab/probe"
	"agentlab/lab/process"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// session is one case on a bench.
type session struct {
	surface *Surface
	bench   *bench
	watcher *probe.Watcher
	effects int
}

// The pause between two looks, once for each surface: what is written to files is
// written often, and what a server tells of a clock it often tells in seconds.
const (
	filesPause   = 250 * time.Millisecond
	answersPause = 1100 * time.Millisecond
)

// settle finds what changes without any call. What cannot be looked at is for
// the first session to say.
func (s *Surface) settle(ctx context.Context, b *bench) error {
	if len(s.spec.Effects) == 0 {
		return nil
	}
	pause := filesPause
	for _, effect := range s.spec.Effects {
		switch effect.(type) {
		case suite.Directory, suite.SQLite:
		default:
			pause = answersPause
		}
	}
	probes, err := s.probes(ctx, b)
	if err == nil {
		s.settled, err = probe.WatchFor(ctx, pause, probes...)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		s.tellUnsteady(s.settled)
	}
	return nil
}

func (s *Surface) tellUnsteady(w *probe.Watcher) {
	if unsteady := w.Unsteady(); len(unsteady) > 0 {
		s.notice(fmt.Sprintf("%s: what changes without any call is not counted: %s", s.spec.Name, strings.Join(unsteady, ", ")))
	}
}

// session looks at the backend for the first time.
func (s *Surface) session(ctx context.Context, b *bench) (*session, error) {
	probes, err := s.probes(ctx, b)
	if err != nil {
		return nil, err
	}
	watcher, err := probe.Watch(ctx, probes...)
	if err != nil {
		return nil, s.unseen(ctx, err)
	}
	if s.settled != nil {
		watcher.Remember(s.settled)
	}
	s.tellUnsteady(watcher)
	return &session{surface: s, bench: b, watcher: watcher}, nil
}

// unseen is the error of a backend that could not be looked at. Where that is
// because a server died, its own words are the better ones.
func (s *Surface) unseen(ctx context.Context, err error) error {
	var lost *tool.Unavailable
	var unseen *probe.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &lost):
		return lost
	case errors.As(err, &unseen):
		detail := strings.Trim(unseen.Target+"\n"+unseen.Detail, "\n")
		return &tool.Unavailable{Surface: s.spec.Name, Reason: "the effects could not be counted: " + unseen.Kind + ": " + unseen.Reason, Detail: detail}
	}
	return &tool.Unavailable{Surface: s.spec.Name, Reason: "the effects could not be counted", Detail: err.Error()}
}

// Call implements [tool.Session].
func (s *session) Call(ctx context.Context, call tool.Call) tool.Result {
	f := s.bench.folder
	proposal := call.Proposal
	proposal.Arguments = f.enter(proposal.Arguments)
	result := s.bench.client.Call(ctx, proposal)
	if len(proposal.Arguments) != len(call.Proposal.Arguments) {
		result.Trace.Fingerprint = mcp.Fingerprint(call.Proposal.Arguments)
	}
	if result.Error == nil {
		result.Output = f.leave(result.Output)
	} else {
		result.Error.Message = f.leaveText(result.Error.Message)
		result.Error.Details = f.leave(result.Error.Details)
	}
	if result.Reply != nil {
		for i, text := range result.Reply.Texts {
			result.Reply.Texts[i] = f.leaveText(text)
		}
	}
	return result
}

// Effects implements [tool.Session].
func (s *session) Effects() int { return s.effects }

// Observe implements [tool.Observed].
func (s *session) Observe(ctx context.Context) ([]tool.Effect, error) {
	effects, err := s.watcher.Observe(ctx)
	if err != nil {
		return nil, s.surface.unseen(ctx, err)
	}
	for i := range effects {
		effects[i].Resource = s.bench.folder.leaveText(effects[i].Resource)
	}
	s.effects += len(effects)
	return effects, nil
}

// Lost implements [tool.Observed].
func (s *session) Lost() error { return s.bench.client.Lost() }

// Close implements [tool.Session].
func (s *session) Close() error {
	whole := s.Lost() == nil
	for _, other := range s.bench.others {
		whole = whole && other.Lost() == nil
	}
	return s.surface.put(s.bench, whole)
}

// probes are what looks at the backend of a bench.
func (s *Surface) probes(ctx context.Context, b *bench) ([]probe.Probe, error) {
	var probes []probe.Probe
	asked := 0
	for _, effect := range b.effects {
		switch e := effect.(type) {
		case suite.Directory:
			p, err := probe.Directory(e.Path, append(slices.Clone(noise), e.Ignore...))
			if err != nil {
				return nil, s.unseen(ctx, err)
			}
			probes = append(probes, p)
		case suite.SQLite:
			probes = append(probes, probe.SQLite(e.Path))
		case suite.HTTP:
			p, err := probe.HTTP(e.URL, e.Headers)
			if err != nil {
				return nil, s.unseen(ctx, err)
			}
			probes = append(probes, p)
		case suite.Command:
			probes = append(probes, probe.Command(process.Command{
				Args: e.Args, Dir: s.settings.Dir, Env: process.Environment(b.folder.path, nil),
			}))
		case suite.Call:
			client := b.client
			if e.Server != nil {
				if asked == len(b.others) {
					other, err := s.connectOther(ctx, b, e.Server)
					if err != nil {
						return nil, err
					}
					b.others = append(b.others, other)
				}
				client = b.others[asked]
				asked++
			}
			probes = append(probes, probe.JSON("call", answerOf(client, tool.Proposal{Name: e.Tool, Arguments: e.Arguments})))
		default:
			return nil, fmt.Errorf("%s: no probe is known for effects of the kind %q", s.spec.Name, effect.Kind())
		}
	}
	return probes, nil
}

// noise is what package runners write to their HOME, which the sandbox is.
var noise = []string{".npm", ".cache"}

func (s *Surface) connectOther(ctx context.Context, b *bench, spec *suite.Server) (*mcp.Client, error) {
	server := s.template
	server.Name += " (the server that its effects ask)"
	server.Command, server.Env, server.URL, server.Headers = spec.Command, spec.Env, spec.URL, spec.Headers
	server = server.Learning()
	server.Home = b.folder.path
	return mcp.Connect(ctx, &server)
}

// answerOf asks a read-only tool. An answer that is a failure tells nothing of
// the state.
func answerOf(client *mcp.Client, proposal tool.Proposal) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		result := client.Call(ctx, proposal)
		switch lost := client.Lost(); {
		case lost != nil:
			return nil, lost
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case result.Error != nil:
			return nil, fmt.Errorf("the tool %s failed: %w", proposal.Name, result.Error)
		}
		return json.RawMessage(result.Output), nil
	}
}
