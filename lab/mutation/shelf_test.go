package mutation

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// shelf is a small surface on the wall clock: two keyed tools that do as
// their note says, of which one waits for its turn, and one that lists.
type shelf struct {
	entered chan struct{} // as a handler begins that does not go on by itself
	release chan struct{} // closed, lets it go on
	gaveUp  atomic.Bool   // one was told that nobody waits
	effects atomic.Int64
}

func newShelf() *shelf {
	return &shelf{entered: make(chan struct{}, 4), release: make(chan struct{})}
}

const shelfTimeout = 200 * time.Millisecond

func (s *shelf) Name() string { return "shelf" }

func (s *shelf) Contracts() []contract.Contract {
	write := func(name string) contract.Contract {
		return contract.Contract{
			Definition: tool.Definition{
				Name: name,
				InputSchema: json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","pattern":"^k"},"note":{"type":"string","enum":["go","hold","wait"]}},` +
					`"required":["key","note"],"additionalProperties":false}`),
				OutputSchema: json.RawMessage(`{}`),
			},
			Permission: "shelf:write", Effect: contract.Write, IdempotencyKey: "key", Timeout: shelfTimeout, Concurrency: 1,
		}
	}
	put, take := write("put"), write("take")
	take.Concurrency = 0
	list := contract.Contract{
		Definition: tool.Definition{Name: "list", InputSchema: json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"}}}`), OutputSchema: json.RawMessage(`{}`)},
		Permission: "shelf:read", Timeout: shelfTimeout,
		Visibility: &contract.Visibility{Environments: []string{"test"}},
	}
	return []contract.Contract{put, take, list}
}

func (s *shelf) Definitions() []tool.Definition {
	var all []tool.Definition
	for _, c := range s.Contracts() {
		all = append(all, c.Definition)
	}
	return all
}

func (s *shelf) Vary(v registry.Variant) (tool.Surface, error) {
	catalog, err := v.Compiled(s.Contracts())
	if err != nil {
		return nil, err
	}
	return &variedShelf{s, catalog, v}, nil
}

func (s *shelf) Open(ctx context.Context) (tool.Session, error) {
	surface, err := s.Vary(registry.Variant{})
	if err != nil {
		return nil, err
	}
	return surface.Open(ctx)
}

type variedShelf struct {
	*shelf
	catalog *registry.Catalog
	variant registry.Variant
}

func (s *variedShelf) Open(context.Context) (tool.Session, error) {
	handlers := map[string]registry.Handler{"put": s.work, "take": s.work, "list": func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"items":[]}`), nil
	}}
	r, err := registry.New(s.catalog, s.variant.Prepared(registry.Backend{Handlers: handlers}))
	return &shelfSession{r, s.shelf}, err
}

func (s *shelf) work(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	var in struct{ Note string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	switch in.Note {
	case "hold": // whoever waits or not
		s.entered <- struct{}{}
		<-s.release
	case "wait":
		s.entered <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
			s.gaveUp.Store(true)
			return nil, ctx.Err()
		}
	}
	s.effects.Add(1)
	return json.RawMessage(`{}`), nil
}

type shelfSession struct {
	*registry.Registry
	shelf *shelf
}

func (s *shelfSession) Effects() int { return int(s.shelf.effects.Load()) }
func (s *shelfSession) Close() error { return nil }

// What has no place on a simulated clock, or needs a second keyed tool, is noticed
// on the shelf by whoever looks.
func TestMutantsOfTheWallClock(t *testing.T) {
	call := func(name, key, note string) tool.Call {
		arguments, _ := json.Marshal(map[string]string{"key": key, "note": note})
		return tool.Call{Proposal: tool.Proposal{Name: name, Arguments: arguments}, Caller: tool.Caller{ID: "a", Permissions: []string{"shelf:write"}}}
	}
	// second makes a call while another one does not go on.
	second := func(first, then tool.Call) func(t *testing.T, s *shelf, session *shelfSession) string {
		return func(t *testing.T, s *shelf, session *shelfSession) string {
			done := make(chan struct{})
			go func() {
				defer close(done)
				session.Call(t.Context(), first)
			}()
			<-s.entered
			result := session.Call(t.Context(), then)
			<-done
			close(s.release)
			session.Wait()
			if result.OK() {
				return "ok"
			}
			return string(result.Error.Code)
		}
	}
	for _, test := range []struct {
		id        string
		do        func(t *testing.T, s *shelf, session *shelfSession) string
		own, weak string
	}{
		{"concurrency-ignored/put", second(call("put", "k1", "hold"), call("put", "k2", "go")), "tool_timeout", "ok"},
		{"concurrency-one-more/put", second(call("put", "k1", "hold"), call("put", "k2", "go")), "tool_timeout", "ok"},
		{"no-wait/take", second(call("take", "k1", "hold"), call("take", "k1", "hold")), "action_in_progress", "outcome_unknown"},
		{"handler-not-cancelled/put", func(t *testing.T, s *shelf, session *shelfSession) string {
			session.Call(t.Context(), call("put", "k1", "wait"))
			if s.gaveUp.Load() {
				return "gave up"
			}
			close(s.release)
			session.Wait()
			if s.gaveUp.Load() {
				return "gave up"
			}
			return "went on"
		}, "gave up", "went on"},
		{"key-of-all-tools/take", func(t *testing.T, s *shelf, session *shelfSession) string {
			session.Call(t.Context(), call("put", "k1", "go"))
			session.Call(t.Context(), call("take", "k1", "go"))
			return map[int]string{1: "one effect", 2: "two effects"}[session.Effects()]
		}, "two effects", "one effect"},
	} {
		t.Run(test.id, func(t *testing.T) {
			all, err := mutants(t.Context(), newShelf())
			if err != nil {
				t.Fatal(err)
			}
			weaker := registry.Variant{Backend: func(*registry.Backend) { t.Error("there is no such mutant") }}
			for _, m := range all {
				if m.ID == test.id {
					weaker = m.weaker
				}
			}
			for _, of := range []struct {
				variant registry.Variant
				want    string
			}{{registry.Variant{}, test.own}, {weaker, test.weak}} {
				s := newShelf()
				surface, err := s.Vary(of.variant)
				if err != nil {
					t.Fatal(err)
				}
				session, err := surface.Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := test.do(t, s, session.(*shelfSession)); got != of.want {
					t.Errorf("%s, want %s", got, of.want)
				}
			}
		})
	}
}
