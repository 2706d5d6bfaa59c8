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

// The pause between two looks, once for each surface: what is written to files is
// written often, and what a server tells of a clock it often tells in seconds.
var (
	filesPause   = 250 * time.Millisecond
	answersPause = 1100 * time.Millisecond
)

// filesLooks is how often files are looked at in that pause.
const filesLooks = 4

// settle finds what changes without any call, if it has not been found yet.
func (s *Surface) settle(ctx context.Context, b *bench) error {
	if len(s.spec.Effects) == 0 {
		return nil
	}
	s.settling.Lock()
	defer s.settling.Unlock()
	if s.settled != nil {
		return nil
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	pause, looks := filesPause, filesLooks
	for _, effect := range s.spec.Effects {
		switch effect.(type) {
		case suite.Directory, suite.SQLite:
		default:
			pause, looks = answersPause, 1 // each is a call
		}
	}
	probes, err := s.probes(ctx, b)
	if err != nil {
		return err
	}
	settled, err := probe.WatchFor(ctx, pause, looks, probes...)
	if err != nil {
		return s.unseen(ctx, err)
	}
	s.settled = settled
	s.tellUnsteady(settled)
	return nil
}

// onlyReads refuses to look through a tool that says that it changes something, and
// tells of one that does not say that it only reads. It is asked again and again,
// and what it changes would pass for what changes by itself.
func (s *Surface) onlyReads() error {
	for _, effect := range s.spec.Effects {
		call, ok := effect.(suite.Call)
		if !ok || call.Server != nil {
			continue
		}
		at := slices.IndexFunc(s.definitions, func(d tool.Definition) bool { return d.Name == call.Tool })
		if at < 0 {
			continue // the look will say so
		}
		switch hints := s.definitions[at].Hints(); {
		case hints.ReadsOnly():
		case hints.Changes():
			return &tool.Unavailable{Surface: s.spec.Name, Reason: notCounted + ": call: the tool says that it changes something", Detail: call.Tool}
		default:
			s.notice(s.spec.Name+": the effects are looked at by a tool that does not say that it only reads: ", call.Tool)
		}
	}
	return nil
}

// learn gives a session what is known to change without any call. What it found
// itself is its own: which of several sessions finds something by chance must not
// reach the others.
func (s *Surface) learn(w *probe.Watcher) {
	s.settling.Lock()
	defer s.settling.Unlock()
	if s.settled != nil {
		w.Remember(s.settled)
	}
	s.tellUnsteady(w)
}

func (s *Surface) tellUnsteady(w *probe.Watcher) {
	s.notice(s.spec.Name+": what changes without any call is not counted: ", w.Unsteady()...)
}

// maxListed is how many things are named in one notice.
const maxListed = 20

func list(items []string) string {
	if more := len(items) - maxListed; more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(items[:maxListed], ", "), more)
	}
	return strings.Join(items, ", ")
}

// probes are what looks at the backend of a bench.
func (s *Surface) probes(ctx context.Context, b *bench) ([]probe.Probe, error) {
	var probes []probe.Probe
	asked := 0
	shown := &b.folder.shown
	for _, effect := range b.effects {
		var p probe.Probe
		var err error
		switch e := effect.(type) {
		case suite.Directory:
			ignore := e.Ignore
			if e.Path == b.folder.path {
				ignore = append(slices.Clone(noise), ignore...)
			}
			p, err = probe.Directory(e.Path, ignore)
		case suite.SQLite:
			p = probe.SQLite(e.Path)
		case suite.HTTP:
			p, err = probe.HTTP(e.URL, e.Headers)
		case suite.Command:
			p = probe.CommandThrough(process.Command{
				Args: e.Args, Dir: s.settings.Dir, Env: process.Environment(b.folder.path, nil),
			}, shown.leave)
		case suite.Call:
			client := b.client
			if e.Server != nil {
				if client, err = s.connectOther(ctx, b, asked, e.Server); err != nil {
					return nil, err
				}
				asked++
			}
			p = probe.JSON("call", s.answerOf(client, e.Server != nil, shown, tool.Proposal{Name: e.Tool, Arguments: e.Arguments}))
		default:
			return nil, fmt.Errorf("%s: no probe is known for effects of the kind %q", s.spec.Name, effect.Kind())
		}
		if err != nil {
			return nil, s.unseen(ctx, err)
		}
		probes = append(probes, limited{p, s.template.Timeout})
	}
	return probes, nil
}

// noise is what package runners write to their HOME, which the sandbox is.
var noise = []string{"/.npm/", "/.cache/"}

// limited is a probe each of whose looks has an end.
type limited struct {
	probe.Probe
	timeout time.Duration
}

// Look implements [probe.Probe].
func (l limited) Look(ctx context.Context) (probe.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.Probe.Look(ctx)
}

// other is a server that effects ask.
func (s *Surface) other(spec *suite.Server) mcp.Server {
	server := s.template
	server.Name += " (the server that its effects ask)"
	server.URL, server.Headers = spec.URL, spec.Headers
	return server.Learning()
}

// connectOther returns the connection to the other server of this number.
func (s *Surface) connectOther(ctx context.Context, b *bench, number int, spec *suite.Server) (*mcp.Client, error) {
	if number < len(b.others) {
		return b.others[number], nil
	}
	server := s.asked[number]
	server.Command, server.Env, server.Home = spec.Command, spec.Env, b.folder.path
	server.Shown = func(answer json.RawMessage) json.RawMessage { return b.folder.shown.leave(answer) }
	client, err := mcp.Connect(ctx, &server)
	if err != nil {
		return nil, s.ofOther(err)
	}
	b.others = append(b.others, client)
	return client, nil
}

// ofOther is the error of another server as one of the surface, which could not
// be looked at because of it.
func (s *Surface) ofOther(err error) error {
	var u *tool.Unavailable
	if !errors.As(err, &u) {
		return err
	}
	return &tool.Unavailable{Surface: s.spec.Name, Reason: notCounted + ": the server that they ask: " + u.Reason, Detail: u.Detail}
}

// answerOf asks a read-only tool, of another server or of the surface's own. An
// answer that is a failure tells nothing of the state.
func (s *Surface) answerOf(client *mcp.Client, other bool, shown *shown, proposal tool.Proposal) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		result := client.Call(ctx, proposal)
		switch lost := client.Lost(); {
		case lost != nil && other:
			return nil, s.ofOther(lost)
		case lost != nil:
			return nil, lost
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case result.Error != nil:
			return nil, &tool.Unavailable{
				Surface: s.spec.Name,
				Reason:  notCounted + ": call: the tool that tells the state failed",
				Detail:  proposal.Name + ": " + shown.leaveText(result.Error.Error()),
			}
		}
		return result.Output, nil // in which the path does not stand
	}
}
