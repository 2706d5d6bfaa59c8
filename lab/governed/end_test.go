package governed_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// slowly takes the time for a write, unless its session ends.
func slowly(d time.Duration, result tool.Result) work {
	return func(ctx context.Context, s *server, a map[string]any) tool.Result {
		s.mu.Unlock()
		defer s.mu.Lock()
		select {
		case <-time.After(d):
			s.mu.Lock()
			defer s.mu.Unlock()
			return then(result.OK(), result)(ctx, s, a)
		case <-ctx.Done():
			return unanswered(tool.ToolFailed)
		}
	}
}

func TestAWriteOutlivesItsTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		answer tool.Result
		want   tool.Code
	}{"and works": {said("ok"), ""}, "and fails": {failed("no"), tool.ToolFailed}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, writing(slowly(1500*time.Millisecond, test.answer)))
				refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
				again := b.put("k", "x") // waits for it
				if test.want == "" {
					if !ok(t, again).Replayed {
						t.Error("the repeat was not answered by the late answer")
					}
					return
				}
				// The late answer has freed the key, and the repeat began another one.
				refused(t, again, tool.OutcomeUnknown, tool.Unknown)
				time.Sleep(time.Second)
				if got := len(b.made()); got != 2 {
					t.Errorf("the server was asked %d times, want 2", got)
				}
			})
		})
	}
}

func TestTheEndOfACallersPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, writing(slowly(500*time.Millisecond, said("ok"))))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		result := b.session.Call(ctx, tool.Call{
			Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)},
			Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}}, Approved: true,
		})
		refused(t, result, tool.HandlerFailed, tool.Unknown)
		if again := ok(t, b.put("k", "x")); !again.Replayed || len(b.made()) != 1 {
			t.Errorf("replayed %t, the server was asked %d times", again.Replayed, len(b.made()))
		}
	})
}

// A read is broken off with its caller.
func TestAReadDoesNotOutliveItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, func(s *server, _, _ *overlay.Tool) { s.tools["get"] = slowly(time.Hour, said("x")) })
		refused(t, b.get("n"), tool.ToolTimeout, tool.NotApplied)
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			refused(t, b.session.Call(ctx, tool.Call{
				Proposal: tool.Proposal{Name: "get", Arguments: json.RawMessage(`{"name":"n"}`)},
				Caller:   tool.Caller{ID: "a", Permissions: []string{"read"}},
			}), tool.HandlerFailed, tool.NotApplied)
		}
		synctest.Wait()
		began := time.Now()
		ok(t, b.put("k", "x")) // the server is free again
		if time.Since(began) != 0 || len(b.told()) != 0 {
			t.Errorf("after %v, %q", time.Since(began), b.told())
		}
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		b := open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result {
			result := slowly(time.Hour, said("ok"))(ctx, s, a)
			s.mu.Unlock()
			time.Sleep(time.Second) // it takes a while to end
			s.mu.Lock()
			over = true
			return result
		}))
		refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
		if err := b.session.Close(); err != nil || !over {
			t.Errorf("Close = %v, and the call was over: %t", err, over)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := open(t, writing(slowly(time.Hour, said("ok"))))
		refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
		began := time.Now()
		if err := b.session.Close(); err != nil || b.closed != 1 {
			t.Errorf("Close = %v, and the server's was closed %d times", err, b.closed)
		}
		if err := b.session.Close(); err != nil || b.closed != 1 {
			t.Errorf("Close = %v, and the server's was closed %d times", err, b.closed)
		}
		if time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}
		refused(t, b.put("k2", "x"), tool.ToolFailed, tool.NotApplied)
		if _, e := b.session.Pending(t.Context(), tool.Call{}); e == nil || len(b.made()) != 1 {
			t.Error("a closed session goes on")
		}
	})
}

func TestSettleWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, writing(slowly(3*time.Second, said("ok"))))
		refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
		began := time.Now()
		effects, err := b.session.(tool.Observed).Settle(t.Context())
		if diff := cmp.Diff([]tool.Effect{{Resource: "n", Change: tool.Added, After: 1}}, effects); diff != "" || err != nil {
			t.Errorf("Settle: %v, effects (-want +got):\n%s", err, diff)
		}
		if time.Since(began) != 2*time.Second {
			t.Errorf("it waited %v", time.Since(began))
		}
		refused(t, b.put("k", "x"), tool.ToolFailed, tool.NotApplied)

		b = open(t, writing(then(true, failed("no")))) // which was looked at
		refused(t, b.put("k", "x"), tool.ToolFailed, tool.Applied)
		if effects, err := b.session.(tool.Observed).Settle(t.Context()); err != nil || len(effects) != 1 {
			t.Errorf("Settle = %v, %v", effects, err)
		}

		b = open(t, writing(slowly(time.Hour, said("ok"))))
		refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.session.(tool.Observed).Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Settle = %v", err)
		}
	})
}

func TestWhatIsLostIsSaid(t *testing.T) {
	b := open(t, nil)
	b.get("n") // or there would be nothing to lose yet
	if err := b.session.(tool.Observed).Lost(); err != nil {
		t.Error(err)
	}
	b.lost = &tool.Unavailable{Surface: "notes", Reason: "it ended"}
	if err := b.session.(tool.Observed).Lost(); err != b.lost {
		t.Errorf("Lost = %v", err)
	}
	if !open(t, func(s *server, _, _ *overlay.Tool) { s.blind = true }).surface.Blind() || b.surface.Blind() {
		t.Error("a surface that nobody looks at is not told from one that somebody does")
	}
}

// A surface in process that counts its own effects is no backend to be looked at.
func TestASurfaceThatCounts(t *testing.T) {
	b := open(t, func(s *server, _, _ *overlay.Tool) { s.own = true })
	if _, observed := b.session.(tool.Observed); observed {
		t.Error("its session is said to be looked at")
	}
	ok(t, b.put("k", "x"))
	ok(t, b.put("k", "x"))
	b.change("m", "y")
	if got := b.session.Effects(); got != 2 {
		t.Errorf("%d effects, want 2", got)
	}
}

// A write that only gets its turn when its session ends is not sent any more.
func TestCloseSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, func(s *server, get, put *overlay.Tool) {
			put.Contract.Concurrency = 1
			s.tools["put"] = slowly(time.Hour, said("ok"))
		})
		var results [2]tool.Result
		var group sync.WaitGroup
		group.Go(func() { results[0] = b.put("k1", "1") })
		synctest.Wait()
		group.Go(func() { results[1] = b.put("k2", "2") })
		synctest.Wait()
		if err := b.session.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
		refused(t, results[0], tool.OutcomeUnknown, tool.Unknown)
		refused(t, results[1], tool.ToolFailed, tool.NotApplied)
		if diff := cmp.Diff([]string{`put {"name":"n","text":"1"}`}, b.made()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}
