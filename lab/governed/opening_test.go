package governed_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/governed"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// starting makes a server take this long to start, and fail with an error or not.
// The start ends with its context.
func starting(takes time.Duration, err error, more func(get, put *overlay.Tool)) func(s *server, get, put *overlay.Tool) {
	return func(s *server, get, put *overlay.Tool) {
		s.start = func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(takes):
				return err
			}
		}
		if more != nil {
			more(get, put)
		}
	}
}

func (b *bench) observed() tool.Observed { return b.session.(tool.Observed) }

// wantStarts fails the test unless so many sessions of the server were begun.
func (b *bench) wantStarts(want int) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starts != want {
		b.t.Errorf("%d starts, want %d", b.starts, want)
	}
}

func TestWhatIsRefusedStartsNothing(t *testing.T) {
	put := func(caller tool.Caller, arguments string) tool.Call {
		return tool.Call{Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(arguments)}, Caller: caller}
	}
	const note = `{"name":"n","text":"x","action_id":"k"}`
	writer := tool.Caller{ID: "a", Permissions: []string{"write"}}
	approved := put(writer, note)
	approved.Approved = true
	for name, test := range map[string]struct {
		change func(get, put *overlay.Tool)
		budget tool.Budget
		call   tool.Call
		want   tool.Code // "" where the server is needed
	}{
		"lookup":     {call: tool.Call{Proposal: tool.Proposal{Name: "no"}}, want: tool.ToolNotFound},
		"input":      {call: put(writer, `{}`), want: tool.InvalidArguments},
		"permission": {call: put(tool.Caller{ID: "a"}, note), want: tool.PermissionDenied},
		"approval":   {call: put(writer, note), want: tool.ApprovalRequired},
		"grant": {change: func(_, put *overlay.Tool) { put.Contract.Approval = contract.ApprovalBound },
			call: put(writer, note), want: tool.ApprovalRequired},
		"budget": {change: func(_, put *overlay.Tool) { put.Contract.Cost = 2 }, budget: tool.Budget{Cost: 1}, call: approved, want: tool.BudgetExhausted},
		"resource": {change: func(_, put *overlay.Tool) {
			put.Contract.Resources = []contract.Resource{{Argument: "name"}}
			put.Within = map[string]string{"name": "/srv"}
		}, call: approved, want: tool.ResourceForbidden},
		"resource in its own folder": {change: func(_, put *overlay.Tool) {
			put.Contract.Resources = []contract.Resource{{Argument: "name"}}
			put.Within = map[string]string{"name": "${SANDBOX}"}
		}, call: put(tool.Caller{ID: "a"}, note), want: tool.PermissionDenied},
		"none": {call: approved},
		"none, with all there is to ask": {change: func(_, put *overlay.Tool) {
			put.Contract.Rate, put.Contract.Concurrency = &contract.Rate{Burst: 1, Every: time.Hour}, 1
		}, budget: tool.Budget{Proposals: 1, Cost: 1, Concurrent: 1, Elapsed: time.Second}, call: approved},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, func(s *server, get, put *overlay.Tool) {
					s.expand = func(tool.Session, string) string { t.Error("asked for a folder"); return "" }
					starting(2*time.Second, nil, test.change)(s, get, put)
				})
				b.session.Arrange(test.budget)
				result := b.session.Call(t.Context(), test.call)
				if test.want == "" {
					ok(t, result)
					b.wantStarts(1)
					return
				}
				refused(t, result, test.want, tool.NotApplied)
				if effects := b.observe(); len(effects) != 0 || b.session.Effects() != 0 || b.observed().Lost() != nil {
					t.Errorf("effects %v and %d, lost %v", effects, b.session.Effects(), b.observed().Lost())
				}
				if late, err := b.observed().Settle(t.Context()); len(late) != 0 || err != nil {
					t.Errorf("Settle = %v, %v", late, err)
				}
				if err := b.session.Close(); err != nil || b.closed != 0 {
					t.Errorf("Close = %v, and the server's session was closed %d times", err, b.closed)
				}
				b.wantStarts(0)
			})
		})
	}
}

// Calls that are made at once start one server, and meet each other as they would
// where it had been there; see TestManyAtOnce for more of that.
func TestCallsAtOnceStartOneServer(t *testing.T) {
	const n = 20
	for name, test := range map[string]struct {
		change func(get, put *overlay.Tool)
		call   func(b *bench) func(i int) tool.Result
		want   map[tool.Code]int
	}{
		"of one action": {nil, func(b *bench) func(int) tool.Result {
			return func(int) tool.Result { return b.put("k", "x") }
		}, map[tool.Code]int{"": 1, "replayed": n - 1}},
		"of one grant": {func(_, put *overlay.Tool) { put.Contract.Approval = contract.ApprovalBound },
			func(b *bench) func(int) tool.Result {
				call := tool.Call{
					Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)},
					Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}},
				}
				pending, _ := b.session.Pending(b.t.Context(), call)
				now := b.session.Now()
				call.Grants = []tool.Grant{{ID: "g", Digest: pending.Digest, IssuedAt: now, ExpiresAt: now.Add(time.Second)}}
				return func(int) tool.Result { return b.session.Call(b.t.Context(), call) }
			}, map[tool.Code]int{"": 1, "replayed": n - 1}},
		"of a rate": {func(get, _ *overlay.Tool) { get.Contract.Rate = &contract.Rate{Burst: 3, Every: time.Second} },
			func(b *bench) func(int) tool.Result { return func(int) tool.Result { return b.get("kept") } },
			map[tool.Code]int{"": 3, tool.RateLimited: n - 3}},
		"in turn": {func(get, _ *overlay.Tool) { get.Contract.Concurrency = 1 },
			func(b *bench) func(int) tool.Result { return func(int) tool.Result { return b.get("kept") } },
			map[tool.Code]int{"": n}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, starting(10*time.Second, nil, test.change))
				b.notes["kept"], b.seen["kept"] = "x", "x"
				call, began := test.call(b), time.Now()
				if diff := cmp.Diff(test.want, atOnce(n, func(i int) tool.Result {
					result := call(i)
					// Who waits a while and tries again then does so in time.
					if since := time.Since(began); since < 10*time.Second {
						t.Errorf("an answer came after %v", since)
					}
					return result
				})); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				b.wantStarts(1)
			})
		})
	}
}

// A start takes nothing of the time of a call, a grant, a budget or a rate.
func TestAStartTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, starting(time.Hour, nil, func(get, _ *overlay.Tool) {
			get.Contract.Timeout = 10 * time.Millisecond
			get.Contract.Rate = &contract.Rate{Burst: 1, Every: time.Second}
		}))
		b.notes["kept"] = "x"
		b.session.Arrange(tool.Budget{Elapsed: time.Second})
		began, real := b.session.Now(), time.Now()
		ok(t, b.get("kept"))
		if passed := b.session.Now().Sub(began); passed != 0 || time.Since(real) != time.Hour {
			t.Errorf("%v passed for the session, and %v in all", passed, time.Since(real))
		}
		refused(t, b.get("kept"), tool.RateLimited, tool.NotApplied)
		time.Sleep(time.Second)
		ok(t, b.get("kept"))
		if passed := b.session.Now().Sub(began); passed != time.Second {
			t.Errorf("%v passed for the session", passed)
		}
		time.Sleep(time.Millisecond)
		refused(t, b.get("kept"), tool.BudgetExhausted, tool.NotApplied)
		b.wantStarts(1)
	})
}

func TestAServerThatDoesNotStart(t *testing.T) {
	down := &tool.Unavailable{Surface: "notes", Reason: "it ended at its start"}
	precondition := func(_, put *overlay.Tool) {
		put.Contract.Precondition = true
		put.Precondition = &overlay.Precondition{Tool: "get", Fields: []string{"x"}}
	}
	resource := func(_, put *overlay.Tool) {
		put.Contract.Resources = []contract.Resource{{Argument: "name"}}
		put.Within = map[string]string{"name": "${SANDBOX}"}
	}
	for name, change := range map[string]func(get, put *overlay.Tool){
		"a handler": nil, "a precondition": precondition, "a folder": resource,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, func(s *server, get, put *overlay.Tool) {
					s.expand = func(tool.Session, string) string { return "/" }
					starting(time.Second, down, change)(s, get, put)
				})
				for range 3 {
					result := b.put("k", "x")
					if result.OK() || result.Error.Outcome != tool.NotApplied || result.Trace.HandlerRan {
						t.Errorf("result %+v", result)
					}
					if err := b.observed().Lost(); err != down {
						t.Errorf("Lost = %v", err)
					}
				}
				b.wantStarts(1)
				if _, err := b.observed().Observe(t.Context()); err != down {
					t.Errorf("Observe = %v", err)
				}
				if _, err := b.observed().Settle(t.Context()); err != down {
					t.Errorf("Settle = %v", err)
				}
				if err := b.session.Close(); err != nil || b.closed != 0 || b.session.Effects() != 0 {
					t.Errorf("Close = %v, %d closed", err, b.closed)
				}
				if told := b.told(); len(told) != 0 {
					t.Errorf("the operator is told again of what Lost tells: %q", told)
				}
			})
		})
	}
}

func TestAStartThatBreaks(t *testing.T) {
	b := open(t, func(s *server, _, _ *overlay.Tool) { s.start = func(context.Context) error { panic("no") } })
	refused(t, b.get("n"), tool.HandlerFailed, tool.NotApplied)
	if err := b.observed().Lost(); err == nil || !strings.HasPrefix(err.Error(), "panic: no\n") {
		t.Errorf("Lost = %v", err)
	}
	// Whose sessions are not looked at is no server of somebody else's.
	s := newServer()
	s.own = true
	get, _ := contracts()
	surface, err := governed.Over(s, []overlay.Tool{get}, governed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := surface.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	session.Call(t.Context(), tool.Call{Proposal: tool.Proposal{Name: "get", Arguments: json.RawMessage(`{"name":"n"}`)}, Caller: tool.Caller{Permissions: []string{"read"}}})
	if err := session.(tool.Observed).Lost(); err == nil || s.closed != 1 {
		t.Errorf("Lost = %v, %d closed", err, s.closed)
	}
}

// Who gives up leaves the start to whoever comes next; the end of the session ends it.
func TestGivingUpOnAStart(t *testing.T) {
	call := tool.Call{
		Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}}, Approved: true,
	}
	impatient := func(t *testing.T, b *bench, patience time.Duration) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		began := time.Now()
		refused(t, b.session.Call(ctx, call), tool.HandlerFailed, tool.NotApplied)
		if passed := time.Until(b.session.Now()); patience > 0 && passed != -time.Second {
			t.Errorf("the session's clock is %v ahead", passed)
		}
		if time.Since(began) != patience || b.observed().Lost() != nil || len(b.observe()) != 0 {
			t.Errorf("after %v, lost %v", time.Since(began), b.observed().Lost())
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := open(t, starting(10*time.Second, nil, nil))
		impatient(t, b, 0)
		b.wantStarts(0)
		began := time.Now()
		impatient(t, b, time.Second)
		ok(t, b.session.Call(t.Context(), call))
		if time.Since(began) != 10*time.Second || len(b.made()) != 1 {
			t.Errorf("after %v, and the server was asked %d times", time.Since(began), len(b.made()))
		}
		b.wantStarts(1)
		// Where it is open, one that has given up is refused where it always was.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			read := tool.Call{Proposal: tool.Proposal{Name: "get", Arguments: json.RawMessage(`{"name":"n"}`)}, Caller: tool.Caller{Permissions: []string{"read"}}}
			if result := b.session.Call(ctx, read); !result.Trace.HandlerRan {
				t.Fatalf("result %+v", result)
			}
		}
	})
	// Nor does anybody hang who waits for another's start.
	synctest.Test(t, func(t *testing.T) {
		b := open(t, starting(10*time.Second, nil, nil))
		var group sync.WaitGroup
		group.Go(func() { ok(t, b.put("k1", "x")) })
		synctest.Wait()
		impatient(t, b, time.Second)
		group.Wait()
		b.wantStarts(1)
	})
	for name, end := range map[string]func(t *testing.T, b *bench){
		"Close": func(t *testing.T, b *bench) {},
		"Settle": func(t *testing.T, b *bench) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := b.observed().Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Settle = %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, starting(time.Hour, nil, nil))
				began := time.Now()
				impatient(t, b, time.Second)
				end(t, b)
				if err := b.session.Close(); err != nil || time.Since(began) > 2*time.Second {
					t.Errorf("Close = %v after %v", err, time.Since(began))
				}
			})
		})
	}
	// A call that waits when its session ends is not hanging, and one that has just
	// started is closed.
	synctest.Test(t, func(t *testing.T) {
		b := open(t, func(s *server, _, _ *overlay.Tool) {
			s.start = func(context.Context) error { time.Sleep(time.Second); return nil }
		})
		done := make(chan tool.Result, 1)
		go func() { done <- b.session.Call(t.Context(), call) }()
		synctest.Wait()
		if err := b.session.Close(); err != nil || b.closed != 1 {
			t.Errorf("Close = %v, %d closed", err, b.closed)
		}
		<-done
	})
	synctest.Test(t, func(t *testing.T) {
		b := open(t, func(s *server, _, _ *overlay.Tool) {
			s.start = func(context.Context) error { time.Sleep(time.Hour); return nil }
		})
		impatient(t, b, time.Second)
		if err := b.session.Close(); err != nil || b.closed != 1 {
			t.Errorf("Close = %v, %d closed", err, b.closed)
		}
	})
}

// Calls that open the server, and do not come to its tools, hold up no others once it
// is there.
func TestALookThatOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, starting(time.Second, nil, func(_, put *overlay.Tool) {
			put.Contract.Precondition = true
			put.Precondition = &overlay.Precondition{Tool: "get", Fields: []string{"x"}}
		}))
		b.tools["get"] = slowly(100*time.Millisecond, said("nothing of the kind"))
		began := time.Now()
		atOnce(5, func(int) tool.Result { return b.put("k", "x") })
		if since := time.Since(began); since != 1100*time.Millisecond {
			t.Errorf("it took %v", since)
		}
		b.wantStarts(1)
	})
}

// What a start makes of a folder that is not the session's own counts for the first
// call as for the next.
func TestAFolderThatAStartMakes(t *testing.T) {
	for name, test := range map[string]struct {
		before, start func(folder string) error
		path          string
		want          tool.Code // "" where it is within
		starts        int
	}{
		"the folder": {start: func(folder string) error { return os.MkdirAll(folder, 0o700) }, path: "/n", starts: 1},
		"a link that leads out of it": {
			before: func(folder string) error { return os.Mkdir(folder, 0o700) },
			start:  func(folder string) error { return os.Symlink("/", folder+"/out") },
			path:   "/out/n", want: tool.ResourceForbidden, starts: 1,
		},
		"nothing": {
			before: func(folder string) error { return os.Mkdir(folder, 0o700) },
			path:   "/../n", want: tool.ResourceForbidden,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir() + "/data"
			if test.before != nil {
				if err := test.before(folder); err != nil {
					t.Fatal(err)
				}
			}
			b := open(t, func(s *server, _, put *overlay.Tool) {
				put.Contract.Resources = []contract.Resource{{Argument: "name"}}
				put.Within = map[string]string{"name": folder}
				if test.start != nil {
					s.start = func(context.Context) error { return test.start(folder) }
				}
			})
			for _, key := range []string{"k1", "k2"} {
				result := b.call("put", `{"name":`+quote(folder+test.path)+`,"text":"x","action_id":`+quote(key)+`}`)
				if test.want != "" {
					refused(t, result, test.want, tool.NotApplied)
				} else {
					ok(t, result)
				}
			}
			b.wantStarts(test.starts)
		})
	}
}
