package governed_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// atOnce makes so many calls at once, and counts what they came to: by the code, ""
// for a success and "replayed" for one from a receipt.
func atOnce(n int, call func(i int) tool.Result) map[tool.Code]int {
	results := make([]tool.Result, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { results[i] = call(i) })
	}
	group.Wait()
	counts := make(map[tool.Code]int)
	for _, r := range results {
		switch {
		case !r.OK():
			counts[r.Error.Code]++
		case r.Replayed:
			counts["replayed"]++
		default:
			counts[""]++
		}
	}
	return counts
}

func TestManyAtOnce(t *testing.T) {
	granted := func(t *testing.T, b *bench, arguments string) tool.Call {
		call := tool.Call{
			Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(arguments)},
			Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}},
		}
		pending, e := b.session.Pending(t.Context(), call)
		if e != nil {
			t.Fatal(e)
		}
		call.Grants = []tool.Grant{{ID: "g", Digest: pending.Digest, ExpiresAt: b.session.Now().Add(time.Hour)}}
		return call
	}
	const keyed, keyless = `{"name":"n","text":"x","action_id":"k"}`, `{"name":"n","text":"x"}`
	unkeyed := func(put *overlay.Tool) {
		put.AddedKey, put.Contract.IdempotencyKey = "", ""
		put.Contract.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	for name, test := range map[string]struct {
		change func(put *overlay.Tool)
		calls  func(t *testing.T, b *bench) func(i int) tool.Result
		want   map[tool.Code]int
		made   int
	}{
		"repeats of one action": {
			change: func(put *overlay.Tool) {},
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				return func(int) tool.Result { return b.put("k", "x") }
			},
			want: map[tool.Code]int{"": 1, "replayed": 49}, made: 1,
		},
		"repeats one after the other": {
			change: func(put *overlay.Tool) { put.Contract.Concurrency = 1 },
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				return func(int) tool.Result { return b.put("k", "x") }
			},
			want: map[tool.Code]int{"": 1, "replayed": 49}, made: 1,
		},
		"one key for other arguments": {
			change: func(put *overlay.Tool) {},
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				return func(i int) tool.Result { return b.put("k", strings.Repeat("x", i+1)) }
			},
			want: map[tool.Code]int{"": 1, tool.IdempotencyConflict: 49}, made: 1,
		},
		"one grant of an action": {
			change: func(put *overlay.Tool) { put.Contract.Approval = contract.ApprovalBound },
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				call := granted(t, b, keyed)
				return func(int) tool.Result { return b.session.Call(t.Context(), call) }
			},
			want: map[tool.Code]int{"": 1, "replayed": 49}, made: 1,
		},
		"one grant without a key": {
			change: func(put *overlay.Tool) { put.Contract.Approval = contract.ApprovalBound; unkeyed(put) },
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				call := granted(t, b, keyless)
				return func(int) tool.Result { return b.session.Call(t.Context(), call) }
			},
			want: map[tool.Code]int{"": 1, tool.ApprovalUsed: 49}, made: 1,
		},
		"a budget of proposals": {
			change: unkeyed,
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				b.session.Arrange(tool.Budget{Proposals: 7})
				return func(int) tool.Result { return b.call("put", keyless) }
			},
			want: map[tool.Code]int{"": 7, tool.BudgetExhausted: 43}, made: 7,
		},
		"a budget of cost": {
			change: func(put *overlay.Tool) { put.Contract.Cost = 3; unkeyed(put) },
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				b.session.Arrange(tool.Budget{Cost: 10})
				return func(int) tool.Result { return b.call("put", keyless) }
			},
			want: map[tool.Code]int{"": 3, tool.BudgetExhausted: 47}, made: 3,
		},
		"a budget of calls at once": {
			change: unkeyed,
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				b.session.Arrange(tool.Budget{Concurrent: 2})
				return func(int) tool.Result { return b.call("put", keyless) }
			},
			want: map[tool.Code]int{"": 2, tool.BudgetExhausted: 48}, made: 2,
		},
		"a rate": {
			change: func(put *overlay.Tool) { put.Contract.Rate = &contract.Rate{Burst: 4, Every: time.Hour}; unkeyed(put) },
			calls: func(t *testing.T, b *bench) func(int) tool.Result {
				return func(int) tool.Result { return b.call("put", keyless) }
			},
			want: map[tool.Code]int{"": 4, tool.RateLimited: 46}, made: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, func(s *server, _, put *overlay.Tool) {
					test.change(put)
					s.tools["put"] = slowly(10*time.Millisecond, said("ok"))
				})
				if diff := cmp.Diff(test.want, atOnce(50, test.calls(t, b))); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if got := len(b.made()); got != test.made {
					t.Errorf("the server was asked %d times, want %d", got, test.made)
				}
			})
		})
	}
}

// A key names an action of one caller and of one tool.
func TestTheSameKey(t *testing.T) {
	other := tool.Caller{ID: "b", Permissions: []string{"read", "write"}}
	const note = `{"name":"n","text":"x","action_id":"k"}`
	b := open(t, func(s *server, get, put *overlay.Tool) {
		name := get.Contract.Name
		*get = *put
		get.Contract.Name = name
		answers := map[string]tool.Result{"get": unanswered(tool.ToolTimeout)}
		s.tools["get"] = then(false, answers["get"])
		s.tools["put"] = then(true, unanswered(tool.ToolTimeout))
	})
	refused(t, b.call("put", note), tool.OutcomeUnknown, tool.Unknown)
	b.observe()
	b.server.tools["put"] = then(false, unanswered(tool.ToolTimeout))
	call := tool.Call{Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(note)}, Caller: other, Approved: true}
	refused(t, b.session.Call(t.Context(), call), tool.OutcomeUnknown, tool.Unknown)
	refused(t, b.call("get", note), tool.OutcomeUnknown, tool.Unknown)
	if got := len(b.made()); got != 3 {
		t.Errorf("the server was asked %d times, want 3", got)
	}
	// Each doubt is about its own action.
	refused(t, b.session.Call(t.Context(), call), tool.OutcomeUnknown, tool.Unknown)
	refused(t, b.call("get", note), tool.OutcomeUnknown, tool.Unknown)
	refused(t, b.call("put", note), tool.AnswerLost, tool.Applied)
	if got := len(b.made()); got != 3 {
		t.Errorf("the server was asked %d times, want 3", got)
	}
}

// Arguments with two readings, and those that a server could read otherwise, do not
// reach it; what reaches it has one form, without the key that was added.
func TestWhatTheServerGets(t *testing.T) {
	long := strings.Repeat("k", 100_000)
	for arguments, want := range map[string]string{
		`{"name":"n","text":"x","action_id":"a","action_id":"b"}`:      "",
		`{"name":"n","text":"x","action_id":"a","action\u005fid":"b"}`: "",
		`{"name":"n","name":"m","text":"x","action_id":"a"}`:           "",
		`{"name":"n","text":"\ud800","action_id":"a"}`:                 "",
		`{"name":"n","text":"x","action_id":"a"} {}`:                   "",
		`{"name":"n","text":"x","action_id":1e400}`:                    "",
		`{"name":"n","text":"x","action_id":""}`:                       "",
		`{"name":"n","text":"x"}`:                                      "",
		`{"name":"n","text":"x","Action_id":"a"}`:                      "",
		`{"name":"n","text":"x","\u0430ction_id":"a"}`:                 "",
		`{"name":"n","text":"x","action_id":"a","` + long + `":1}`:     "",
		`[]`: "",
		``:   "",
		`{"text":"action_id","action\u005fid":"a","name":"\"action_id\":\"b\""}`:    `put {"name":"\"action_id\":\"b\"","text":"action_id"}`,
		`{"name":"n","text":"{\"action_id\":\"b\"}","action_id":"\",\"name\":\"m"}`: `put {"name":"n","text":"{\"action_id\":\"b\"}"}`,
		`{"name":"n","text":"x","action_id":"` + long + `"}`:                        `put {"name":"n","text":"x"}`,
	} {
		b := open(t, nil)
		result := b.call("put", arguments)
		var made string
		if calls := b.made(); len(calls) > 0 {
			made = calls[0]
		}
		if made != want || result.OK() != (want != "") || !result.OK() && result.Error.Code != tool.InvalidArguments {
			t.Errorf("%.100s: the server got %q and the caller %v, want %q", arguments, made, result.Error, want)
		}
	}
	// A key within an argument is the argument's.
	b := open(t, func(_ *server, _, put *overlay.Tool) {
		put.Contract.InputSchema = json.RawMessage(`{"type":"object","properties":{"action_id":{"type":"string"}},"required":["action_id"]}`)
	})
	ok(t, b.call("put", `{"action_id":"a","in":{"action_id":"b","l":[{"action_id":1E300}]},"name":"n","n":9007199254740993,"text":"x"}`))
	if diff := cmp.Diff([]string{`put {"in":{"action_id":"b","l":[{"action_id":1e+300}]},"n":9007199254740993,"name":"n","text":"x"}`}, b.made()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
