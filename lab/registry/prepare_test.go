package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// What a handler needs is made ready once all controls before the deadline have
// passed, and takes nothing of the time of a call, with a turn or without.
func TestWhatAHandlerNeeds(t *testing.T) {
	for _, concurrency := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var prepared []string
			ready := make(chan struct{})
			s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
				oneAtATime(concurrency, func(context.Context, json.RawMessage) (json.RawMessage, error) {
					time.Sleep(10 * time.Millisecond)
					return json.RawMessage(`{"done":1}`), nil
				})(look, write, b)
				var once sync.Once
				var mu sync.Mutex
				b.Prepare = func(_ context.Context, name string) error {
					mu.Lock()
					prepared = append(prepared, name)
					mu.Unlock()
					once.Do(func() { time.AfterFunc(time.Hour, func() { close(ready) }) })
					<-ready
					return nil
				}
			})
			unapproved := write(`"k1"`, `1`)
			unapproved.Approved = false
			refused(t, s.call(unapproved), "approval", tool.ApprovalRequired)
			refused(t, s.call(write(`1`, `1`)), "input", tool.InvalidArguments)
			if len(prepared) != 0 {
				t.Errorf("prepared for %q", prepared)
			}
			var group sync.WaitGroup
			for i := range 3 {
				group.Go(func() { succeeded(t, s.call(write(key(i), `1`))) })
			}
			group.Wait()
			if len(prepared) != 3 || prepared[0] != "write" {
				t.Errorf("prepared for %q", prepared)
			}
		})
	}
}

func TestWhatAHandlerNeedsIsNotThere(t *testing.T) {
	for name, prepare := range map[string]func(context.Context, string) error{
		"an error": func(context.Context, string) error { return errors.New("not there") },
		"a panic":  func(context.Context, string) error { panic("not there") },
		"an end":   func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var faults []string
				s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
					b.Clock, b.Prepare = nil, prepare
					b.OnFault = func(_ string, cause error) { faults = append(faults, cause.Error()) }
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				result := s.Call(ctx, write(`"k1"`, `1`))
				if e := result.Error; e == nil || e.Code != tool.HandlerFailed || e.Outcome != tool.NotApplied || result.Trace.HandlerRan || s.ran.Load() != 0 {
					t.Errorf("result %+v", result)
				}
				if wanted := name != "an end"; (len(faults) == 1) != wanted {
					t.Errorf("faults %q", faults)
				}
				if name != "a panic" {
					refused(t, result, "deadline", tool.HandlerFailed)
				}
			})
		})
	}
}
