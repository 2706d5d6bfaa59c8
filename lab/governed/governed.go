// Package governed puts a typed registry before the tools of somebody else: a
// surface, with the contracts that were laid over its catalog, is a surface again
// whose calls meet every control.
//
// Start with [Over]. A session of what it returns is a [tool.Supervised], and a
// [tool.Observed] where that of the surface behind it is one.
//
// One invariant: nothing reaches the server but calls that every control has
// passed, and the looks that preconditions ask for; and nothing comes back but what
// the contract lets through. What became of a write is said by its answer or by a
// look at the backend, never by the server's own word for it, and is unknown where
// neither tells.
//
// Contracts are read by lab/overlay; this room opens no file, knows no protocol
// and starts no server. A path is held within a folder as far as that can be done
// from outside: see within.go for the gap that stays open.
package governed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/overlay"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

// Settings are what the contracts do not say.
type Settings struct {
	// Expand puts what is known of a session of the upstream surface, such as the
	// path of its sandbox, in the place of the variables of a text; nil stands for a
	// surface that has none. It is what the session itself does with arguments. It is
	// not asked about a text without a "$", which has no variables.
	Expand func(session tool.Session, text string) string
	// OnFault, where set, is told what no caller is; see [registry.Backend]. It may
	// be called from several goroutines.
	OnFault func(tool string, cause error)
}

// Surface is a surface behind its contracts.
type Surface struct {
	upstream tool.Surface
	settings Settings
	variant  registry.Variant
	catalog  *registry.Catalog
	tools    map[string]*covered
}

// covered is one tool behind its contract.
type covered struct {
	overlay.Tool
	rules  []rule
	hidden *redactor
	missed *missed
	added  []byte // the name of the argument that the server does not get, as JSON
}

// sandbox is how a folder begins that is each session's own.
const sandbox = yamlfile.SandboxVariable

// Over puts contracts before a surface. A tool that none names is not there. The
// error names everything in the contracts that does not hold together.
//
// A surface that is down has no catalog to lay contracts over: without tools, what
// is returned is down in the same way.
func Over(upstream tool.Surface, tools []overlay.Tool, settings Settings) (*Surface, error) {
	s := &Surface{upstream: upstream, settings: settings, tools: make(map[string]*covered, len(tools))}
	contracts := make([]contract.Contract, 0, len(tools))
	var faults []error
	for _, t := range tools {
		contracts = append(contracts, t.Contract)
		c, err := cover(t)
		if err != nil {
			faults = append(faults, fmt.Errorf("contract of tool %q: %w", t.Contract.Name, err))
			continue
		}
		s.tools[t.Contract.Name] = c
	}
	var err error
	if s.catalog, err = registry.Compile(contracts...); err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, nil
}

func cover(t overlay.Tool) (*covered, error) {
	if complete, err := t.Contract.Complete(); err == nil { // or the registry says why not
		t.Contract = complete
	}
	c := &covered{Tool: t, added: jsonvalue.AppendString(nil, t.AddedKey)}
	c.redactBy(t.Contract.Output)
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if t.AddedKey != "" && t.AddedKey != t.Contract.IdempotencyKey {
		fault("the argument %q is added, and is not the idempotency key", t.AddedKey)
	}
	if t.Contract.Precondition != (t.Precondition != nil) {
		fault("a precondition is asked for, and there is none, or the other way round")
	}
	for _, r := range t.Contract.Resources {
		folder := t.Within[r.Argument]
		if !strings.HasPrefix(folder, sandbox) && !filepath.IsAbs(folder) {
			fault("the argument %q is to be within %q, which is not an absolute path", r.Argument, folder)
		}
	}
	if p := t.Precondition; p != nil {
		// A refusal shows both what a precondition is of and what it is.
		for _, field := range p.Fields {
			for name := range strings.SplitSeq(field, ".") {
				if c.hidden.hides(name) {
					fault("the precondition rests on %q, which is redacted", field)
				}
			}
		}
		for _, a := range p.Arguments {
			if c.hidden.hides(a.Name) || c.hidden.hides(a.From) {
				fault("the precondition rests on the argument %q, which is redacted", a.Name)
			}
		}
	}
	for _, r := range t.Rules {
		made, err := newRule(r)
		if err != nil {
			faults = append(faults, err)
		}
		c.rules = append(c.rules, made)
	}
	return c, errors.Join(faults...)
}

// redactBy says what of the tool's answers is redacted.
func (c *covered) redactBy(limits *contract.Output) {
	c.hidden, c.missed = newRedactor(limits), newMissed(nil)
	if limits != nil {
		c.missed = newMissed(limits.Secret)
	}
}

// Name implements [tool.Surface]: it is that of the surface behind.
func (s *Surface) Name() string { return s.upstream.Name() }

// Definitions implements [tool.Surface].
func (s *Surface) Definitions() []tool.Definition { return s.catalog.Definitions() }

// Down implements [tool.Foreign].
func (s *Surface) Down() *tool.Unavailable {
	if foreign, ok := s.upstream.(tool.Foreign); ok {
		return foreign.Down()
	}
	return nil
}

// Blind implements [tool.Foreign].
func (s *Surface) Blind() bool {
	foreign, ok := s.upstream.(tool.Foreign)
	return ok && foreign.Blind()
}

// Open implements [tool.Surface]. Over a [tool.Foreign] the session opens that of
// the server when a call first needs it, which one that is refused rarely does.
// Where that cannot be opened then, the session is lost.
func (s *Surface) Open(ctx context.Context) (tool.Session, error) {
	opened := &session{surface: s, doubts: make(map[doubt]*attempt)}
	opened.life, opened.end = context.WithCancel(context.Background())
	foreign, sees := s.upstream.(tool.Foreign)
	if sees && foreign.Down() == nil {
		opened.opening = openedLater(opened.life, s.upstream.Open)
	} else {
		upstream, err := s.upstream.Open(ctx)
		if err != nil {
			opened.end()
			return nil, err
		}
		opened.opening = openedAtOnce(upstream)
		if _, sees = upstream.(tool.Observed); !sees && !s.Blind() {
			opened.ledger.look = counting(upstream)
		}
	}
	if sees && !s.Blind() {
		opened.ledger.look = func(ctx context.Context) ([]tool.Effect, int, error) {
			effects, err := opened.observed().Observe(ctx)
			return effects, len(effects), err
		}
	}
	var err error
	if opened.registry, err = registry.New(s.catalog, s.variant.Prepared(opened.backend())); err != nil {
		return nil, errors.Join(err, opened.closeUpstream())
	}
	if sees {
		return &observedSession{opened}, nil
	}
	return opened, nil
}

// counting looks at a session that counts its own effects.
func counting(upstream tool.Session) func(context.Context) ([]tool.Effect, int, error) {
	var mu sync.Mutex
	last := upstream.Effects()
	return func(context.Context) ([]tool.Effect, int, error) {
		mu.Lock()
		defer mu.Unlock()
		before := last
		last = upstream.Effects()
		return nil, last - before, nil
	}
}

// backend is what stands behind the contracts in a session.
func (s *session) backend() registry.Backend {
	b := registry.Backend{
		Handlers:     make(map[string]registry.Handler),
		Access:       make(map[string]func(context.Context, tool.Caller, string, string) registry.Access),
		Versions:     make(map[string]func(context.Context, json.RawMessage) (registry.Version, error)),
		Previews:     make(map[string]func(context.Context, json.RawMessage) string),
		Reconcile:    make(map[string]registry.Reconcile),
		RedactionKey: []byte{}, // few values are behind a secret that a server shows
		Clock:        s.opening,
		Prepare: func(ctx context.Context, _ string) error {
			_, err := s.opening.need(ctx)
			return err
		},
		OnFault: func(name string, cause error) {
			if onFault := s.surface.settings.OnFault; onFault != nil && !errors.Is(cause, errNotOpened) {
				onFault(name, cause)
			}
		},
	}
	for name, t := range s.surface.tools {
		b.Access[name] = func(ctx context.Context, _ tool.Caller, argument, resource string) registry.Access {
			return s.access(ctx, t, argument, resource)
		}
		b.Previews[name] = func(_ context.Context, arguments json.RawMessage) string {
			return name + " " + string(t.hidden.document(arguments))
		}
		if t.Precondition != nil {
			b.Versions[name] = func(ctx context.Context, arguments json.RawMessage) (registry.Version, error) {
				return s.version(ctx, t, arguments)
			}
		}
		if !t.Contract.Effect.Changes() {
			b.Handlers[name] = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				return s.read(ctx, t, arguments)
			}
			continue
		}
		b.Handlers[name] = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			return s.write(ctx, t, arguments)
		}
		if s.ledger.look != nil {
			b.Reconcile[name] = func(ctx context.Context, tried registry.Attempt) (json.RawMessage, bool, error) {
				return s.reconcile(ctx, t, tried)
			}
		}
	}
	return b
}

// access holds a resource within the folder that its argument may name. Where the
// folder of the session is not there, nothing is within it. A start may make the
// folder, or lay links in it: only what leads out of it anyway is refused without one.
func (s *session) access(ctx context.Context, t *covered, argument, resource string) registry.Access {
	folder := t.Within[argument]
	if expand := s.surface.settings.Expand; expand != nil && strings.Contains(folder+resource, "$") {
		upstream, err := s.opening.need(ctx)
		if err != nil {
			return registry.Forbidden
		}
		s.opening.atWork()
		folder, resource = expand(upstream, folder), expand(upstream, resource)
	}
	early := s.upstream() == nil
	err := within(folder, resource)
	if early && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		if _, err := s.opening.need(ctx); err != nil {
			return registry.Forbidden
		}
		s.opening.atWork()
		err = within(folder, resource)
	}
	if err != nil {
		return registry.Forbidden
	}
	return registry.Allowed
}

// upstreamArguments are the arguments of a call as the server gets them.
func (t *covered) upstreamArguments(arguments json.RawMessage) json.RawMessage {
	if t.AddedKey == "" {
		return arguments
	}
	return without(arguments, t.added)
}
