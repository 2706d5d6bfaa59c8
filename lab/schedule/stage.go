package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// stage is a subject whose calls can be stopped. One schedule is played on it at a
// time.
type stage struct {
	contract contract.Contract
	catalog  *registry.Catalog
	surface  tool.Surface

	// Of the schedule that is played.
	session  tool.Session
	behind   registry.Backend
	receipts *store
	clock    *registry.Simulated
	registry *registry.Registry
	wall     bool
}

func newStage(subject Subject, of contract.Contract) (*stage, error) {
	s := &stage{contract: of}
	var err error
	if s.catalog, err = registry.Compile(subject.Contracts()...); err != nil {
		return nil, err
	}
	s.surface, err = subject.Vary(registry.Variant{Backend: s.prepare})
	return s, err
}

// open begins with a backend that no call has touched.
func (s *stage) open(ctx context.Context) (err error) {
	if s.session, err = s.surface.Open(ctx); err != nil {
		return err
	}
	if s.clock == nil || s.wall {
		return errors.Join(fmt.Errorf("%s: its sessions go by the wall clock, where nobody can stop a call between two steps", s.surface.Name()), s.session.Close())
	}
	return s.restart()
}

// restart puts a fresh registry before what the session works on.
func (s *stage) restart() (err error) {
	s.registry, err = registry.New(s.catalog, s.behind)
	return err
}

// die ends everything that a process holds.
func (s *stage) die() error {
	if err := s.receipts.die(); err != nil {
		return err
	}
	return s.restart()
}

// prepare puts a stop before every step that matters.
func (s *stage) prepare(b *registry.Backend) {
	simulated, ok := b.Clock.(*registry.Simulated)
	s.clock, s.wall = simulated, !ok
	if b.Receipts == nil {
		b.Receipts = new(receipt.Memory)
	}
	s.receipts = &store{Store: b.Receipts}
	b.Receipts = s.receipts
	b.Controls = slices.Clone(b.Controls)
	for i, control := range b.Controls {
		if control.Name != stopApproval {
			continue
		}
		b.Controls[i].Decide = func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
			actorOf(ctx).step(stopApproval)
			return control.Decide(ctx, c)
		}
	}
	b.Handlers, b.Latencies = maps.Clone(b.Handlers), maps.Clone(b.Latencies)
	if b.Latencies == nil {
		b.Latencies = make(map[string]registry.Latency)
	}
	name := s.contract.Name
	b.Handlers[name] = stopped(b.Handlers[name])
	own := b.Latencies[name]
	b.Latencies[name] = func(ctx context.Context, arguments json.RawMessage) (took time.Duration) {
		if own != nil {
			took = own(ctx, arguments)
		}
		if a := actorOf(ctx); a != nil {
			took += a.slow
		}
		return took
	}
	s.behind = *b
}

// stopped is a handler with a stop before its work and one after it, and with what
// goes wrong in it.
func stopped(work registry.Handler) registry.Handler {
	return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		a := actorOf(ctx)
		if a == nil {
			return work(ctx, arguments)
		}
		a.step(stopHandler)
		switch a.fault {
		case faultError:
			return nil, errors.New("the handler was made to fail")
		case faultPanic:
			panic("the handler was made to panic")
		}
		output, err := work(ctx, arguments)
		if err != nil {
			a.step(stopFailed)
			return output, err
		}
		a.step(stopAnswer)
		switch a.fault {
		case faultLost:
			return nil, registry.ErrResponseLost
		case faultErrorAfter:
			return nil, errors.New("the handler was made to fail after its work")
		case faultPanicAfter:
			panic("the handler was made to panic after its work")
		case faultBad:
			return json.RawMessage(`"an output that no contract allows"`), nil
		}
		return output, nil
	}
}
