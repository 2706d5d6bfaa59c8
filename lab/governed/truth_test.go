package governed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// Whatever a server does, in whatever order: nobody is told that something was
// applied that was not, or the other way round; an action that was applied is not
// done again; and a harness that looks sees every change once.
func TestNobodyIsToldWhatIsNotTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		workers := rapid.IntRange(1, 5).Draw(rt, "workers")
		concurrency := rapid.IntRange(0, 2).Draw(rt, "concurrency")
		own := rapid.Bool().Draw(rt, "own")
		synctest.Test(t, func(t *testing.T) { truth(t, seed, workers, concurrency, own) })
	})
}

func truth(t *testing.T, seed uint64, workers, concurrency int, own bool) {
	random := rand.New(rand.NewPCG(seed, 0)) // under the server's lock
	done := map[string]int{}                 // how often each action was applied
	b := open(t, func(s *server, _, put *overlay.Tool) {
		s.own = own
		put.Contract.Concurrency = concurrency
		s.tools["put"] = func(ctx context.Context, s *server, a map[string]any) tool.Result {
			changes, fate := random.IntN(2) == 0, random.IntN(4)
			wait := time.Duration(random.IntN(3)) * 600 * time.Millisecond // longer than it may, at times
			s.mu.Unlock()
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			s.mu.Lock()
			if ctx.Err() != nil {
				return unanswered(tool.ToolFailed)
			}
			action := a["name"].(string)
			if changes || fate == 0 {
				s.put(fmt.Sprint(action, "#", done[action]), "x")
				done[action]++
			}
			switch fate {
			case 0:
				return said("ok")
			case 1:
				return unanswered(tool.ToolTimeout)
			}
			return failed("no")
		}
	})
	var mu sync.Mutex
	var seen []tool.Effect
	look := func() {
		if observed, ok := b.session.(tool.Observed); ok {
			effects, err := observed.Observe(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, effects...)
		}
	}
	applied := func(action string) int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return done[action]
	}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			own := rand.New(rand.NewPCG(seed, uint64(w)+1))
			for i := range 4 {
				action := fmt.Sprintf("w%d-%d", w, i)
				for range 3 {
					result := b.call("put", fmt.Sprintf(`{"name":%q,"text":"x","action_id":%q}`, action, action))
					n := applied(action)
					switch {
					case result.OK() && n != 1, !result.OK() && result.Error.Outcome == tool.Applied && n != 1:
						t.Errorf("seed %d: %s was applied %d times, and told %+v", seed, action, n, result.Error)
					case !result.OK() && result.Error.Outcome == tool.NotApplied && n != 0:
						t.Errorf("seed %d: %s was applied, and told %v", seed, action, result.Error)
					}
					if own.IntN(2) == 0 {
						look()
					}
					time.Sleep(time.Duration(own.IntN(3)) * 500 * time.Millisecond)
				}
			}
		})
	}
	group.Wait()
	if observed, ok := b.session.(tool.Observed); ok {
		late, err := observed.Settle(t.Context())
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, late...)
		if len(seen) != len(b.notes) || b.session.Effects() != len(b.notes) {
			t.Errorf("seed %d: %d changes were seen and %d counted, of %d", seed, len(seen), b.session.Effects(), len(b.notes))
		}
	}
	b.mu.Lock() // a late write of a session that nobody settles
	defer b.mu.Unlock()
	for action, n := range done {
		if n > 1 {
			t.Errorf("seed %d: %s was applied %d times", seed, action, n)
		}
	}
	for _, told := range b.told() {
		if !strings.Contains(told, "no answer") {
			t.Errorf("the operator was told %q", told)
		}
	}
}
