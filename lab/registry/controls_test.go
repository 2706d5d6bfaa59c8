package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// stage is a registry on a simulated clock whose contracts a test has changed.
type stage struct {
	*registry.Registry
	t     *testing.T
	clock *registry.Simulated
	ran   atomic.Int32 // handlers
}

var epoch = time.Unix(0, 0)

// newStage changes the two contracts of these tests, by tool name, and the
// backend behind them.
func newStage(t *testing.T, change func(look, write *contract.Contract, b *registry.Backend)) *stage {
	t.Helper()
	look, write := contracts[0], contracts[1]
	s := &stage{t: t, clock: registry.NewSimulated(epoch)}
	backend := registry.Backend{
		Clock:    s.clock,
		Handlers: map[string]registry.Handler{"look": answer(`{"seen":"x"}`), "write": answer(`{"done":1}`)},
	}
	change(&look, &write, &backend)
	for name, work := range backend.Handlers {
		backend.Handlers[name] = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			s.ran.Add(1)
			return work(ctx, arguments)
		}
	}
	compiled, err := registry.Compile(look, write)
	if err != nil {
		t.Fatal(err)
	}
	if s.Registry, err = registry.New(compiled, backend); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) at(milliseconds int) *stage {
	s.clock.Set(epoch.Add(time.Duration(milliseconds) * time.Millisecond))
	return s
}

func (s *stage) call(c tool.Call) tool.Result { return s.Call(s.t.Context(), c) }

func (s *stage) look() tool.Result { return s.call(call("look", `{"id":"xx"}`, "read")) }

func latency(milliseconds int) registry.Latency {
	return func(context.Context, json.RawMessage) time.Duration {
		return time.Duration(milliseconds) * time.Millisecond
	}
}

func wantDetails(t *testing.T, e *tool.Error, want string) {
	t.Helper()
	if string(e.Details) != want {
		t.Errorf("details of %s are %s, want %s", e.Code, e.Details, want)
	}
}

func TestBudgetOfProposalsCountsRefusedOnes(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) { b.Budget.Proposals = 3 })
	refused(t, s.call(call("no such tool", `{}`)), "lookup", tool.ToolNotFound)
	refused(t, s.call(call("look", `{}`, "read")), "input", tool.InvalidArguments)
	succeeded(t, s.look())
	for range 2 {
		e := refused(t, s.look(), "budget", tool.BudgetExhausted)
		wantDetails(t, e, `{"budget":"proposals","used":3,"of":3}`)
		if e.Retryable {
			t.Error("a budget that is used up is called retryable")
		}
	}
	if s.ran.Load() != 1 {
		t.Errorf("%d handlers ran, want 1", s.ran.Load())
	}
}

func TestBudgetOfTime(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) { b.Budget.Elapsed = time.Second })
	succeeded(t, s.at(5000).look()) // the session starts with its first call
	succeeded(t, s.at(6000).look())
	wantDetails(t, refused(t, s.at(6001).look(), "budget", tool.BudgetExhausted), `{"budget":"elapsed_ms","used":1001,"of":1000}`)
}

func TestBudgetOfConcurrentCalls(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Budget.Concurrent = 2
		b.Latencies = map[string]registry.Latency{"look": latency(100)}
	})
	succeeded(t, s.at(0).look())
	succeeded(t, s.at(50).look())
	wantDetails(t, refused(t, s.at(99).look(), "budget", tool.BudgetExhausted), `{"budget":"concurrent","used":2,"of":2}`)
	succeeded(t, s.at(100).look())
}

func TestBudgetOfCost(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		look.Cost = 3
		b.Budget.Cost = 7
	})
	succeeded(t, s.look())
	succeeded(t, s.look())
	wantDetails(t, refused(t, s.look(), "budget", tool.BudgetExhausted), `{"budget":"cost","used":6,"of":7}`)
}

func TestVisibility(t *testing.T) {
	for name, test := range map[string]struct {
		rule    contract.Visibility
		caller  tool.Caller
		visible bool
	}{
		"no rule":               {contract.Visibility{}, tool.Caller{}, true},
		"the task":              {contract.Visibility{Tasks: []string{"a", "b"}}, tool.Caller{Task: "b"}, true},
		"another task":          {contract.Visibility{Tasks: []string{"a"}}, tool.Caller{Task: "A"}, false},
		"no task":               {contract.Visibility{Tasks: []string{"a"}}, tool.Caller{}, false},
		"the environment":       {contract.Visibility{Environments: []string{"test"}}, tool.Caller{Environment: "test"}, true},
		"another environment":   {contract.Visibility{Environments: []string{"test"}}, tool.Caller{Environment: "production"}, false},
		"one of permissions":    {contract.Visibility{Permissions: []string{"x", "read"}}, tool.Caller{Permissions: []string{"read"}}, true},
		"none of permissions":   {contract.Visibility{Permissions: []string{"x"}}, tool.Caller{Permissions: []string{"read"}}, false},
		"all rules must be met": {contract.Visibility{Permissions: []string{"read"}, Tasks: []string{"a"}}, tool.Caller{Permissions: []string{"read"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) { look.Visibility = &test.rule })
			c := call("look", `{"id":"xx"}`)
			c.Caller = test.caller
			c.Caller.Permissions = append(c.Caller.Permissions, "read")
			if name == "none of permissions" {
				c.Caller.Permissions = []string{"read"}
			}
			result := s.call(c)
			if test.visible {
				succeeded(t, result)
				return
			}
			// It is in no list, and told apart from a tool that is not there by
			// nothing.
			wantDetails(t, refused(t, result, "lookup", tool.ToolNotFound), `{"available_tools":[]}`)
		})
	}
}

func TestHidingReplacesNoPermission(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) {
		look.Visibility = &contract.Visibility{Tasks: []string{"a"}}
	})
	c := call("look", `{"id":"xx"}`, "write")
	c.Caller.Task = "a"
	refused(t, s.call(c), "permission", tool.PermissionDenied)
}

func TestLifecycle(t *testing.T) {
	deprecated := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) {
		look.Lifecycle = &contract.Lifecycle{ReplacedBy: "write"}
	})
	if result := succeeded(t, deprecated.look()); result.ReplacedBy != "write" {
		t.Errorf("a deprecated tool names the successor %q", result.ReplacedBy)
	}
	retired := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		look.Lifecycle = &contract.Lifecycle{Retired: true, ReplacedBy: "write"}
		delete(b.Handlers, "look")
	})
	wantDetails(t, refused(t, retired.look(), "lookup", tool.ToolRetired), `{"replaced_by":"write"}`)
	e := refused(t, retired.call(call("no", `{}`, "read", "write")), "lookup", tool.ToolNotFound)
	wantDetails(t, e, `{"available_tools":["write"]}`)
}

func TestResource(t *testing.T) {
	decide := func(access registry.Access) func(look, _ *contract.Contract, b *registry.Backend) {
		return func(look, _ *contract.Contract, b *registry.Backend) {
			look.Resources = []contract.Resource{{Argument: "id", HiddenAs: tool.TicketNotFound}}
			b.Access = map[string]func(context.Context, tool.Caller, string, string) registry.Access{
				"look": func(_ context.Context, caller tool.Caller, _, id string) registry.Access {
					if caller.ID != "a" || id != "xx" {
						t.Errorf("asked about %q of %q", id, caller.ID)
					}
					return access
				},
			}
		}
	}
	succeeded(t, newStage(t, decide(registry.Allowed)).look())
	wantDetails(t, refused(t, newStage(t, decide(registry.Forbidden)).look(), "permission", tool.ResourceForbidden), `{"id":"xx"}`)
	refused(t, newStage(t, decide("alowed")).look(), "permission", tool.ResourceForbidden)
	refused(t, newStage(t, decide(registry.Hidden)).look(), "permission", tool.TicketNotFound)
	unanswered := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) {
		look.Resources = []contract.Resource{{Argument: "id"}}
	})
	refused(t, unanswered.look(), "permission", tool.ResourceForbidden)
	s := newStage(t, decide(registry.Allowed))
	refused(t, s.call(call("look", `{"id":"xx"}`, "other")), "permission", tool.PermissionDenied)
}

// bound asks for a grant of each write, by somebody else who may.
func bound(_, write *contract.Contract, b *registry.Backend) {
	write.Version = "7"
	write.Approval = contract.ApprovalBound
	write.Approver = &contract.Approver{Permission: "approve", NotCaller: true}
}

// grant confirms a call as its approver is shown it now, for a second.
func (s *stage) grant(c tool.Call) tool.Grant {
	s.t.Helper()
	pending, e := s.Pending(s.t.Context(), c)
	if e != nil {
		s.t.Fatal(e)
	}
	return tool.Grant{
		ID:              "g",
		Digest:          pending.Digest,
		ResourceVersion: pending.ResourceVersion,
		Approver:        tool.Caller{ID: "lead", Permissions: []string{"approve"}},
		IssuedAt:        s.clock.Now(),
		ExpiresAt:       s.clock.Now().Add(time.Second),
	}
}

func TestApprovalIsBoundToTheCall(t *testing.T) {
	granted := write(`"k1"`, `"n"`)
	for name, test := range map[string]struct {
		change func(*tool.Call, *tool.Grant)
		at     int
		want   tool.Code // empty: the call goes through
	}{
		"as granted": {func(*tool.Call, *tool.Grant) {}, 0, ""},
		"other spelling": {func(c *tool.Call, _ *tool.Grant) {
			c.Proposal.Arguments = json.RawMessage(`{ "note":"\u006e","key":"k1"}`)
		}, 0, ""},
		"to the last moment":     {func(*tool.Call, *tool.Grant) {}, 999, ""},
		"a moment too late":      {func(*tool.Call, *tool.Grant) {}, 1000, tool.ApprovalExpired},
		"a moment too early":     {func(_ *tool.Call, g *tool.Grant) { g.IssuedAt = epoch.Add(time.Millisecond) }, 0, tool.ApprovalRequired},
		"no grant":               {func(c *tool.Call, g *tool.Grant) { g.Digest = "" }, 0, tool.ApprovalMismatch},
		"another note":           {func(c *tool.Call, _ *tool.Grant) { c.Proposal.Arguments = json.RawMessage(`{"note":"N","key":"k1"}`) }, 0, tool.ApprovalMismatch},
		"another key":            {func(c *tool.Call, _ *tool.Grant) { c.Proposal.Arguments = json.RawMessage(`{"note":"n","key":"k2"}`) }, 0, tool.ApprovalMismatch},
		"by one who may not":     {func(_ *tool.Call, g *tool.Grant) { g.Approver.Permissions = []string{"approver"} }, 0, tool.ApprovalRequired},
		"by the caller":          {func(_ *tool.Call, g *tool.Grant) { g.Approver.ID = "a" }, 0, tool.ApprovalRequired},
		"the word of the caller": {func(c *tool.Call, g *tool.Grant) { c.Approved, c.Grants = true, nil; g.Digest = "" }, 0, tool.ApprovalRequired},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, bound)
			g := s.grant(granted)
			c := granted
			c.Grants = []tool.Grant{{}}
			test.change(&c, &g)
			if c.Grants != nil {
				c.Grants = []tool.Grant{g}
			}
			result := s.at(test.at).call(c)
			if test.want == "" {
				succeeded(t, result)
				return
			}
			e := refused(t, result, "approval", test.want)
			// Whoever is asked now can grant exactly this.
			var pending tool.Pending
			if err := json.Unmarshal(e.Details, &pending); err != nil || pending.Digest == "" || !strings.Contains(pending.Preview, "write") {
				t.Errorf("details %s do not show the call: %v", e.Details, err)
			}
			if s.ran.Load() != 0 {
				t.Error("the handler ran")
			}
			again := s.at(0).grant(c)
			if again.Digest != pending.Digest {
				t.Errorf("the digest that was shown is not the one to grant")
			}
		})
	}
}

func TestApprovalIsBoundToTheVersionOfTheContract(t *testing.T) {
	c := write(`"k1"`, `"n"`)
	old := newStage(t, bound)
	c.Grants = []tool.Grant{old.grant(c)}
	renewed := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		bound(look, write, b)
		write.Version = "8"
	})
	refused(t, renewed.call(c), "approval", tool.ApprovalMismatch)
}

func TestAGrantIsUsedUpByOneAppliedCall(t *testing.T) {
	fail := true
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		bound(look, write, b)
		write.IdempotencyKey = ""
		b.Handlers["write"] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			if fail {
				return nil, tool.Refusal(tool.TicketNotFound, nil, "none")
			}
			return json.RawMessage(`{"done":1}`), nil
		}
	})
	c := write(`"k1"`, `"n"`)
	c.Grants = []tool.Grant{s.grant(c)}
	refused(t, s.call(c), "handler", tool.TicketNotFound) // nothing applied: it still holds
	fail = false
	succeeded(t, s.call(c))
	refused(t, s.call(c), "approval", tool.ApprovalUsed)
	if s.ran.Load() != 2 {
		t.Errorf("%d handlers ran, want 2", s.ran.Load())
	}
}

func TestARepeatNeedsNoSecondGrant(t *testing.T) {
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		bound(look, write, b)
		write.ReceiptTTL = 500 * time.Millisecond
	})
	c := write(`"k1"`, `"n"`)
	c.Grants = []tool.Grant{s.grant(c)}
	succeeded(t, s.call(c))
	if !succeeded(t, s.at(499).call(c)).Replayed {
		t.Error("the repeat was not replayed")
	}
	// Once the receipt is gone the repeat would be another write.
	refused(t, s.at(500).call(c), "approval", tool.ApprovalUsed)
	if s.ran.Load() != 1 {
		t.Errorf("%d handlers ran, want 1", s.ran.Load())
	}
}

func TestAGrantIsStaleWhenItsResourceChanged(t *testing.T) {
	version := "v1"
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		bound(look, write, b)
		write.Precondition, write.Resources = true, []contract.Resource{{Argument: "key"}}
		b.Access = map[string]func(context.Context, tool.Caller, string, string) registry.Access{
			"write": func(context.Context, tool.Caller, string, string) registry.Access { return registry.Allowed },
		}
		b.Versions = map[string]func(context.Context, json.RawMessage) (registry.Version, error){
			"write": func(context.Context, json.RawMessage) (registry.Version, error) {
				return registry.Version{Is: version}, nil
			},
		}
		b.Handlers["write"] = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if expected := registry.ExpectedVersion(ctx); expected != "v1" {
				return nil, fmt.Errorf("told to expect %q", expected)
			}
			if registry.CallerOf(ctx).ID != "a" {
				return nil, errors.New("told of no caller")
			}
			return json.RawMessage(`{"done":1}`), nil
		}
	})
	c := write(`"k1"`, `"n"`)
	c.Grants = []tool.Grant{s.grant(c)}
	version = "v2"
	refused(t, s.call(c), "approval", tool.ApprovalStale)
	version = "v1"
	succeeded(t, s.call(c)) // a stale grant was not used up
	version = "v2"
	if !succeeded(t, s.call(c)).Replayed {
		t.Error("the repeat of an applied call was not replayed")
	}
}

func TestRate(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) {
		look.Rate = &contract.Rate{Burst: 2, Every: 100 * time.Millisecond}
	})
	succeeded(t, s.at(0).look())
	succeeded(t, s.at(0).look())
	e := refused(t, s.at(0).look(), "rate", tool.RateLimited)
	wantDetails(t, e, `{"retry_after_ms":100}`)
	if !e.Retryable || e.Outcome != tool.NotApplied {
		t.Errorf("retryable %t, outcome %s", e.Retryable, e.Outcome)
	}
	wantDetails(t, refused(t, s.at(99).look(), "rate", tool.RateLimited), `{"retry_after_ms":1}`)
	succeeded(t, s.at(100).look())
	refused(t, s.at(100).look(), "rate", tool.RateLimited)
	// Another caller has a bucket of their own, and an idle one fills up.
	other := call("look", `{"id":"xx"}`, "read")
	other.Caller.ID = "b"
	succeeded(t, s.call(other))
	s.at(10_000)
	succeeded(t, s.look())
	succeeded(t, s.look())
	refused(t, s.look(), "rate", tool.RateLimited)
}

func TestAWriteThatTakesTooLong(t *testing.T) {
	s := newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
		b.Latencies = map[string]registry.Latency{"write": latency(800)}
	})
	first := s.at(0).call(write(`"k1"`, `1`))
	e := refused(t, first, "handler", tool.OutcomeUnknown)
	wantDetails(t, e, `{"idempotency_key":"key"}`)
	if e.Outcome != tool.Unknown || e.Retryable || first.Took != 500*time.Millisecond {
		t.Errorf("outcome %s, retryable %t, took %v", e.Outcome, e.Retryable, first.Took)
	}
	// It goes on behind its caller's back until 800: a repeat waits for it as
	// long as it may, and is told its answer.
	inProgress := s.at(299).call(write(`"k1"`, `1`))
	if e := refused(t, inProgress, "idempotency", tool.ActionInProgress); !e.Retryable || e.Outcome != tool.Unknown {
		t.Errorf("retryable %t, outcome %s", e.Retryable, e.Outcome)
	}
	waited := succeeded(t, s.at(300).call(write(`"k1"`, `1`)))
	if !waited.Replayed || waited.Took != 500*time.Millisecond {
		t.Errorf("replayed %t, took %v", waited.Replayed, waited.Took)
	}
	if s.ran.Load() != 1 {
		t.Errorf("%d handlers ran, want 1", s.ran.Load())
	}
}

func TestALostResponse(t *testing.T) {
	for name, test := range map[string]struct {
		reconcile registry.Reconcile
		want      func(t *testing.T, s *stage, again tool.Result)
	}{
		"was applied": {
			func(_ context.Context, a registry.Attempt) (json.RawMessage, bool, error) {
				if a.Caller.ID != "a" || string(a.Arguments) != `{"key":"k1","note":1}` || !a.Since.Equal(epoch.Add(-500*time.Millisecond)) {
					return nil, false, fmt.Errorf("asked about %+v", a)
				}
				return json.RawMessage(`{"done":7}`), true, nil
			},
			func(t *testing.T, s *stage, again tool.Result) {
				if !succeeded(t, again).Replayed || string(again.Output) != `{"done":7}` || s.ran.Load() != 1 {
					t.Errorf("got %s, replayed %t, after %d runs", again.Output, again.Replayed, s.ran.Load())
				}
			},
		},
		"was not applied": {
			func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
				return nil, false, nil
			},
			func(t *testing.T, s *stage, again tool.Result) {
				refused(t, again, "handler", tool.OutcomeUnknown) // done again, and lost again
				if s.ran.Load() != 2 {
					t.Errorf("%d handlers ran, want 2", s.ran.Load())
				}
			},
		},
		"cannot be found out": {
			func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
				return nil, false, errors.New("no connection")
			},
			func(t *testing.T, s *stage, again tool.Result) {
				if e := refused(t, again, "idempotency", tool.OutcomeUnknown); e.Outcome != tool.Unknown || s.ran.Load() != 1 {
					t.Errorf("outcome %s after %d runs", e.Outcome, s.ran.Load())
				}
			},
		},
		"nobody can say": {nil, func(t *testing.T, s *stage, again tool.Result) {
			if again.OK() || again.Error.Code != tool.OutcomeUnknown || !again.Replayed || s.ran.Load() != 1 {
				t.Errorf("got %v, replayed %t, after %d runs", again.Error, again.Replayed, s.ran.Load())
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
				b.Handlers["write"] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return nil, fmt.Errorf("socket closed: %w", registry.ErrResponseLost)
				}
				if test.reconcile != nil {
					b.Reconcile = map[string]registry.Reconcile{"write": test.reconcile}
				}
			})
			if e := refused(t, s.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown); e.Outcome != tool.Unknown {
				t.Errorf("outcome = %s", e.Outcome)
			}
			test.want(t, s, s.call(write(`"k1"`, `1`)))
		})
	}
	read := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Handlers["look"] = func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, registry.ErrResponseLost }
	})
	if e := refused(t, read.look(), "handler", tool.ToolTimeout); !e.Retryable || e.Outcome != tool.NotApplied {
		t.Errorf("a read: retryable %t, outcome %s", e.Retryable, e.Outcome)
	}
}

func TestAReceiptExpires(t *testing.T) {
	s := newStage(t, func(_, write *contract.Contract, _ *registry.Backend) { write.ReceiptTTL = time.Second })
	succeeded(t, s.at(0).call(write(`"k1"`, `1`)))
	refused(t, s.at(999).call(write(`"k1"`, `2`)), "idempotency", tool.IdempotencyConflict)
	if succeeded(t, s.at(1000).call(write(`"k1"`, `2`))).Replayed {
		t.Error("an expired receipt was replayed")
	}
	if !succeeded(t, s.at(1999).call(write(`"k1"`, `2`))).Replayed {
		t.Error("the new receipt does not count from its own time")
	}
}

func TestErrorRules(t *testing.T) {
	word, outcome := "gone", tool.Outcome("")
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		rules := []contract.ErrorRule{{Backend: "gone", Code: tool.TicketNotFound}}
		look.Errors, write.Errors = rules, rules
		fail := func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, &registry.BackendError{Word: word, Outcome: outcome, Err: errors.New("password=" + secret)}
		}
		b.Handlers["look"], b.Handlers["write"] = fail, fail
	})
	for range 2 {
		result := s.call(write(`"k1"`, `1`))
		e := refused(t, result, "handler", tool.TicketNotFound) // and its key is free again
		if e.Outcome != tool.NotApplied || strings.Contains(e.Message, secret) {
			t.Errorf("outcome %s, message %q", e.Outcome, e.Message)
		}
		if f := result.Trace.Fault; f != "gone" {
			t.Errorf("the trace says %q", f)
		}
	}
	word = "Gone"
	refused(t, s.look(), "handler", tool.HandlerFailed)
	word, outcome = "gone", tool.Applied
	if e := refused(t, s.call(write(`"k2"`, `1`)), "handler", tool.TicketNotFound); e.Outcome != tool.Applied {
		t.Errorf("outcome = %s, want what the backend says", e.Outcome)
	}
}

func TestOutputSize(t *testing.T) {
	const output = `{"seen":"x"}`
	for limit, fits := range map[int]bool{len(output): true, len(output) - 1: false, 0: true} {
		s := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) {
			look.Output = &contract.Output{MaxBytes: limit, NarrowBy: []string{"n"}}
		})
		if fits {
			succeeded(t, s.look())
			continue
		}
		wantDetails(t, refused(t, s.look(), "output", tool.OutputTooLarge), `{"bytes":12,"max_bytes":11,"narrow_by":["n"]}`)
	}
	s := newStage(t, func(_, write *contract.Contract, _ *registry.Backend) { write.Output = &contract.Output{MaxBytes: 1} })
	if e := refused(t, s.call(write(`"k1"`, `1`)), "output", tool.OutputTooLarge); e.Outcome != tool.Applied {
		t.Errorf("outcome of a write with a large output = %s", e.Outcome)
	}
}

func TestRedaction(t *testing.T) {
	output := ""
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		open := json.RawMessage(`{}`)
		look.OutputSchema, write.OutputSchema = open, open
		look.Output = &contract.Output{Secret: []string{"phone"}, Credentials: true}
		write.Output = &contract.Output{Secret: []string{"phone"}}
		b.RedactionKey = []byte("k")
		tell := func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(output), nil }
		b.Handlers["look"], b.Handlers["write"] = tell, tell
	})
	output = `{"plain":"s","list":[{"phone":"s"},{"Phone":"s"}],"api_key":null,"API-Key":"s","deep":{"accessToken":{"a":"s"},"phone":7}}`
	result := succeeded(t, s.look())
	var got struct {
		Plain string
		List  []map[string]string
		Key   string `json:"API-Key"`
		None  *int   `json:"api_key"`
		Deep  map[string]string
	}
	if err := json.Unmarshal(result.Output, &got); err != nil {
		t.Fatal(err)
	}
	marker := got.Key
	if !strings.HasPrefix(marker, "[redacted ") || strings.Contains(marker, "s]") {
		t.Errorf("the marker is %q", marker)
	}
	if got.Plain != "s" || got.None != nil || got.List[1]["Phone"] != "s" {
		t.Errorf("more than secrets was redacted: %s", result.Output)
	}
	if got.List[0]["phone"] != marker {
		t.Errorf("equal secrets have the markers %q and %q", got.List[0]["phone"], marker)
	}
	if got.Deep["accessToken"] == marker || !strings.HasPrefix(got.Deep["accessToken"], "[redacted ") || got.Deep["phone"] == marker {
		t.Errorf("other secrets are %v", got.Deep)
	}
	// What is kept for a repeat is redacted too.
	succeeded(t, s.call(write(`"k1"`, `1`)))
	again := succeeded(t, s.call(write(`"k1"`, `1`)))
	if !again.Replayed || strings.Contains(string(again.Output), `"phone":"s"`) || !strings.Contains(string(again.Output), `"API-Key":"s"`) {
		t.Errorf("the receipt holds %s", again.Output)
	}
	output = `{"plain":"s"}`
	if got := succeeded(t, s.look()).Output; string(got) != output {
		t.Errorf("an output without secrets became %s", got)
	}
}

func TestNamesCredential(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "userPassword": true, "PASSWD": true, "api_key": true, "apiKey": true, "API-KEY": true, "x api key": true,
		"access_token": true, "Authorization": true, "set-cookie": true, "client_secret": true, "private-key": true,
		"": false, "key": false, "keyboard": false, "note": false, "id": false, "pass": false, "author": false,
	} {
		if got := registry.NamesCredential(name); got != want {
			t.Errorf("NamesCredential(%q) = %t", name, got)
		}
	}
}

func TestWithout(t *testing.T) {
	var names []string
	for _, c := range registry.Without("budget", "rate") {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff(strings.Fields("lookup input permission approval deadline idempotency handler output"), names); diff != "" {
		t.Errorf("controls (-want +got):\n%s", diff)
	}
}
