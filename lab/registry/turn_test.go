package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// oneAtATime lets so many writes be under way at once, on the wall clock.
func oneAtATime(of int, work registry.Handler) func(look, write *contract.Contract, b *registry.Backend) {
	return func(_, write *contract.Contract, b *registry.Backend) {
		write.Concurrency = of
		b.Clock = nil
		b.Handlers["write"] = work
	}
}

// slow works for so long, and counts how many do at once.
func slow(d time.Duration, most *atomic.Int32) registry.Handler {
	var now atomic.Int32
	return func(context.Context, json.RawMessage) (json.RawMessage, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			if seen := most.Load(); n <= seen || most.CompareAndSwap(seen, n) {
				break
			}
		}
		time.Sleep(d)
		return json.RawMessage(`{"done":1}`), nil
	}
}

func key(i int) string { return fmt.Sprintf(`"k%d"`, i) }

func TestNoMoreThanSoManyAtOnce(t *testing.T) {
	for _, of := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var most atomic.Int32
			s := newStage(t, oneAtATime(of, slow(10*time.Millisecond, &most)))
			var group sync.WaitGroup
			for i := range 12 {
				group.Go(func() { succeeded(t, s.call(write(key(i), `1`))) })
			}
			group.Wait()
			if most.Load() != int32(of) || s.ran.Load() != 12 {
				t.Errorf("%d at once and %d in all, want %d and 12", most.Load(), s.ran.Load(), of)
			}
		})
	}
}

func TestTurnsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		s := newStage(t, oneAtATime(1, func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			order = append(order, string(arguments[8:10]))
			time.Sleep(10 * time.Millisecond)
			return json.RawMessage(`{"done":1}`), nil
		}))
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() { s.call(write(key(i), `1`)) })
			synctest.Wait() // it works, or waits behind those before it
		}
		group.Wait()
		if diff := cmp.Diff([]string{"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestATurnThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
			oneAtATime(1, slow(450*time.Millisecond, &most))(look, write, b)
			write.Retry = contract.RetryTransient
		})
		var group sync.WaitGroup
		group.Go(func() { succeeded(t, s.call(write(`"k0"`, `1`))) })
		synctest.Wait()
		group.Go(func() { succeeded(t, s.call(write(`"k1"`, `1`))) })
		synctest.Wait()
		began := time.Now()
		late := s.call(write(`"k2"`, `1`))
		e := refused(t, late, "deadline", tool.ToolTimeout)
		wantDetails(t, e, `{"timeout_ms":500,"concurrency":1}`)
		if e.Outcome != tool.NotApplied || !e.Retryable || late.Trace.HandlerRan || time.Since(began) != 500*time.Millisecond {
			t.Errorf("outcome %s, retryable %t, handler ran %t, after %v", e.Outcome, e.Retryable, late.Trace.HandlerRan, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		cancelled := refused(t, s.Call(ctx, write(`"k3"`, `1`)), "deadline", tool.HandlerFailed)
		if cancelled.Outcome != tool.NotApplied {
			t.Errorf("a call that was cancelled in the queue is %s", cancelled.Outcome)
		}
		group.Wait()
		succeeded(t, s.call(write(`"k2"`, `1`))) // those that gave up hold nothing up
		if s.ran.Load() != 3 {
			t.Errorf("%d handlers ran, want 3", s.ran.Load())
		}
	})
}

// A handler that runs on when its caller has gone keeps its turn.
func TestALateCallKeepsItsTurn(t *testing.T) {
	for name, keyed := range map[string]bool{"keyed": true, "without a key": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var most atomic.Int32
				s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
					oneAtATime(1, slow(700*time.Millisecond, &most))(look, write, b)
					if !keyed {
						write.IdempotencyKey = ""
					}
				})
				refused(t, s.call(write(`"k0"`, `1`)), "handler", tool.OutcomeUnknown)
				// It has 200 ms to go; the next call works for longer than it may.
				began := time.Now()
				refused(t, s.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
				if waited := time.Since(began); waited != 700*time.Millisecond {
					t.Errorf("the next call took %v, want 200 ms for its turn and 500 at work", waited)
				}
				time.Sleep(time.Second)
				if most.Load() != 1 {
					t.Errorf("%d at once, want 1", most.Load())
				}
			})
		})
	}
}

func TestTheRepeatOfWhatIsUnderWayWaitsForItsTurnInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		s := newStage(t, oneAtATime(1, slow(5*time.Second, &most)))
		refused(t, s.call(write(`"k0"`, `1`)), "handler", tool.OutcomeUnknown)
		e := refused(t, s.call(write(`"k0"`, `1`)), "deadline", tool.ActionInProgress)
		if e.Outcome != tool.Unknown {
			t.Errorf("it is told that the action is %s", e.Outcome)
		}
		refused(t, s.call(write(`"k1"`, `1`)), "deadline", tool.ToolTimeout)
		time.Sleep(5 * time.Second)
		if !succeeded(t, s.call(write(`"k0"`, `1`))).Replayed || most.Load() != 1 {
			t.Error("the repeat was not answered from what the late call came to")
		}
	})
}

// The repeat of what was applied is answered while another call has the turn.
func TestARepeatNeedsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		s := newStage(t, oneAtATime(1, slow(100*time.Millisecond, &most)))
		succeeded(t, s.call(write(`"k0"`, `1`)))
		var group sync.WaitGroup
		group.Go(func() { succeeded(t, s.call(write(`"k1"`, `1`))) })
		synctest.Wait()
		began := time.Now()
		if again := succeeded(t, s.call(write(`"k0"`, `1`))); !again.Replayed || time.Since(began) != 0 {
			t.Errorf("replayed %t after %v", again.Replayed, time.Since(began))
		}
		refused(t, s.call(write(`"k0"`, `2`)), "idempotency", tool.IdempotencyConflict)
		group.Wait()
	})
}

// forgetful forgets a receipt between the look of the deadline control and the claim.
type forgetful struct{ receipt.Memory }

func (f *forgetful) Peek(ctx context.Context, key receipt.Key, now time.Time) (*receipt.Receipt, error) {
	known, err := f.Memory.Peek(ctx, key, now)
	if known != nil && known.State == receipt.Applied {
		f.Memory.Reset()
	}
	return known, err
}

func TestARepeatThatIsNoneTakesItsTurnAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
			oneAtATime(1, slow(100*time.Millisecond, &most))(look, write, b)
			b.Receipts = &forgetful{}
		})
		succeeded(t, s.call(write(`"k0"`, `1`)))
		var group sync.WaitGroup
		group.Go(func() { s.call(write(`"k1"`, `1`)) })
		synctest.Wait()
		refused(t, s.call(write(`"k0"`, `1`)), "idempotency", tool.ToolTimeout)
		group.Wait()
		succeeded(t, s.call(write(`"k0"`, `1`)))
		if most.Load() != 1 || s.ran.Load() != 3 {
			t.Errorf("%d at once and %d in all, want 1 and 3", most.Load(), s.ran.Load())
		}
	})
}

// The one that claims an action has its turn: a repeat that waits for the claim
// never holds up the call that it waits for.
func TestTurnsAndClaimsDoNotWaitForEachOther(t *testing.T) {
	for _, of := range []int{1, 2, 7} {
		var most atomic.Int32
		s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
			oneAtATime(of, slow(time.Millisecond, &most))(look, write, b)
			write.Timeout = 10 * time.Second
		})
		var group sync.WaitGroup
		var replayed atomic.Int32
		for i := range 50 {
			group.Go(func() {
				if succeeded(t, s.call(write(`"same"`, `1`))).Replayed {
					replayed.Add(1)
				}
				succeeded(t, s.call(write(key(i%5), `1`)))
			})
		}
		group.Wait()
		if replayed.Load() != 49 || s.ran.Load() != 6 || most.Load() > int32(of) {
			t.Errorf("%d replayed, %d ran, %d at once; want 49, 6 and at most %d", replayed.Load(), s.ran.Load(), most.Load(), of)
		}
	}
}

// However a call ends, it gives its turn back.
func TestEveryTurnIsGivenBack(t *testing.T) {
	store := &receipt.Memory{}
	ends := map[string]registry.Handler{
		"refuses": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, tool.Refusal(tool.TicketNotFound, nil, "none")
		},
		"panics":     func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("x") },
		"lies":       answer(`{"done":"x"}`),
		"is lost":    lost,
		"goes wrong": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, spiteful{} },
		"works":      answer(`{"done":1}`),
	}
	for name, work := range ends {
		t.Run(name, func(t *testing.T) {
			store.Reset()
			s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
				oneAtATime(1, work)(look, write, b)
				b.Receipts = store
			})
			for i := range 3 {
				began := time.Now()
				result := s.call(write(key(i), `1`))
				if slices.ContainsFunc(result.Trace.Decisions, func(d tool.Decision) bool { return d.Control == "deadline" && d.Verdict == tool.Refuse }) {
					t.Fatalf("call %d got no turn after %v", i, time.Since(began))
				}
				s.call(write(key(i), `2`)) // a conflict, where there is a receipt
			}
		})
	}
}

func TestOnASimulatedClockNothingWaitsForATurn(t *testing.T) {
	inside := make(chan struct{})
	s := newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
		write.Concurrency = 1
		b.Handlers["write"] = func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			if string(arguments) == `{"key":"k1","note":1}` {
				close(inside)
			} else {
				<-inside // the other one is at work beside it
			}
			return json.RawMessage(`{"done":1}`), nil
		}
	})
	done := make(chan tool.Result)
	go func() { done <- s.call(write(`"k0"`, `1`)) }()
	succeeded(t, s.call(write(`"k1"`, `1`)))
	succeeded(t, <-done)
}

// Tools that share a turn wait for each other; others of the same name of a tool do not.
func TestToolsTakeTurnsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		work := slow(10*time.Millisecond, &most)
		s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
			look.Concurrency, look.Turn = 1, "write"
			write.Concurrency, write.Turn = 1, "write"
			b.Clock = nil
			b.Handlers["write"], b.Handlers["look"] = work, func(ctx context.Context, a json.RawMessage) (json.RawMessage, error) {
				_, err := work(ctx, a)
				return json.RawMessage(`{"seen":1}`), err
			}
		})
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() { succeeded(t, s.call(write(key(i), `1`))) })
			group.Go(func() { s.look() })
		}
		group.Wait()
		if most.Load() != 1 || s.ran.Load() != 12 {
			t.Errorf("%d at once and %d in all, want 1 and 12", most.Load(), s.ran.Load())
		}
	})
}

func TestToolsThatShareATurnHaveOneLimit(t *testing.T) {
	of := func(name string, limit int) contract.Contract {
		return contract.Contract{Definition: tool.Definition{Name: name, InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`{}`)},
			Permission: "p", Concurrency: limit, Turn: "store"}
	}
	if _, err := registry.Compile(of("a", 2), of("b", 2)); err != nil {
		t.Error(err)
	}
	const want = `contract of tool "b": 1 calls of "store" at once, and 2 by the contract of "a"`
	if _, err := registry.Compile(of("a", 2), of("b", 1)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
