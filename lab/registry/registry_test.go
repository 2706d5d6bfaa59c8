package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// The tools of these tests: a read and a keyed write that needs approval. What
// their handlers do is up to each test.
var contracts = []contract.Contract{
	{
		Definition: tool.Definition{
			Name:         "look",
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","minLength":2},"n":{"type":"integer","minimum":1}},"required":["id"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","required":["seen"],"properties":{"seen":{"type":"string"}},"additionalProperties":false}`),
		},
		Permission: "read",
		Retry:      contract.RetryTransient,
	},
	{
		Definition: tool.Definition{
			Name:         "write",
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"note":{},"key":{"type":"string","minLength":2}},"required":["note","key"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","required":["done"],"properties":{"done":{"type":"integer"}},"additionalProperties":false}`),
		},
		Permission:     "write",
		Effect:         contract.Write,
		Approval:       contract.ApprovalRequired,
		IdempotencyKey: "key",
	},
}

var catalog = func() *registry.Catalog {
	c, err := registry.Compile(contracts...)
	if err != nil {
		panic(err)
	}
	return c
}()

// bench is a registry whose handlers count how often they ran.
type bench struct {
	*registry.Registry
	looks, writes atomic.Int32
}

// newBench puts handlers behind the contracts; nil stands for one that answers
// as its contract wants.
func newBench(t testing.TB, look, write registry.Handler, change ...func(*registry.Backend)) *bench {
	t.Helper()
	b := new(bench)
	counted := func(count *atomic.Int32, work, standard registry.Handler) registry.Handler {
		if work == nil {
			work = standard
		}
		return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			count.Add(1)
			return work(ctx, arguments)
		}
	}
	backend := registry.Backend{Handlers: map[string]registry.Handler{
		"look":  counted(&b.looks, look, answer(`{"seen":"x"}`)),
		"write": counted(&b.writes, write, answer(`{"done":1}`)),
	}}
	for _, c := range change {
		c(&backend)
	}
	r, err := registry.New(catalog, backend)
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = r
	return b
}

func answer(output string) registry.Handler {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(output), nil
	}
}

func simulated(latency time.Duration) func(*registry.Backend) {
	return func(b *registry.Backend) {
		b.Clock = registry.NewSimulated(time.Unix(0, 0))
		b.Latencies = map[string]registry.Latency{"look": func(context.Context, json.RawMessage) time.Duration { return latency }}
	}
}

func call(name, arguments string, permissions ...string) tool.Call {
	return tool.Call{
		Proposal: tool.Proposal{Name: name, Arguments: json.RawMessage(arguments)},
		Caller:   tool.Caller{ID: "a", Permissions: permissions},
		Approved: true,
	}
}

func write(key, note string) tool.Call {
	return call("write", `{"key":`+key+`,"note":`+note+`}`, "write")
}

// refused fails the test unless the result is a refusal with this code by this
// control.
func refused(t *testing.T, result tool.Result, control string, code tool.Code) *tool.Error {
	t.Helper()
	if result.OK() {
		t.Fatalf("the call succeeded with %s; want %s", result.Output, code)
	}
	if result.Error.Code != code {
		t.Errorf("code = %s, want %s", result.Error.Code, code)
	}
	if result.Output != nil {
		t.Errorf("a refusal has the output %s", result.Output)
	}
	if got := result.Trace.RefusedBy(); got != control {
		t.Errorf("refused by %q, want %q", got, control)
	}
	return result.Error
}

func succeeded(t *testing.T, result tool.Result) tool.Result {
	t.Helper()
	if !result.OK() {
		t.Fatalf("the call failed: %v", result.Error)
	}
	return result
}

func TestEveryControlPasses(t *testing.T) {
	b := newBench(t, nil, nil)
	result := succeeded(t, b.Call(t.Context(), write(`"k1"`, `"n"`)))
	want := tool.Trace{HandlerRan: true, Fingerprint: result.Trace.Fingerprint}
	for _, c := range registry.Controls() {
		verdict := tool.Pass
		if c.Name == "budget" || c.Name == "rate" {
			verdict = tool.Skip
		}
		want.Decisions = append(want.Decisions, tool.Decision{Control: c.Name, Verdict: verdict})
	}
	if diff := cmp.Diff(want, result.Trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	read := succeeded(t, b.Call(t.Context(), call("look", `{"id":"xx"}`, "read")))
	var skipped []string
	for _, d := range read.Trace.Decisions {
		if d.Verdict == tool.Skip {
			skipped = append(skipped, d.Control)
		}
	}
	if diff := cmp.Diff([]string{"budget", "approval", "rate", "idempotency"}, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestControlsAreTheOnesOfTheDesign(t *testing.T) {
	var names []string
	for _, c := range registry.Controls() {
		names = append(names, c.Name)
	}
	want := strings.Fields("budget lookup input permission approval rate deadline idempotency handler output")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("controls (-want +got):\n%s", diff)
	}
	for _, f := range tool.Failures() {
		if f.Control != "" && !slices.Contains(names, f.Control) {
			t.Errorf("code %s is refused by %q, which is no control", f.Code, f.Control)
		}
	}
}

// A call that several controls would refuse is refused by the first of them,
// and no handler runs.
func TestTheFirstRefusalEndsTheCall(t *testing.T) {
	b := newBench(t, nil, nil)
	succeeded(t, b.Call(t.Context(), write(`"used"`, `1`)))
	// From the last fault to the first, each adds one that an earlier control
	// refuses.
	c := write(`"used"`, `2`)
	refused(t, b.Call(t.Context(), c), "idempotency", tool.IdempotencyConflict)
	c.Approved = false
	refused(t, b.Call(t.Context(), c), "approval", tool.ApprovalRequired)
	c.Caller.Permissions = []string{"read"}
	refused(t, b.Call(t.Context(), c), "permission", tool.PermissionDenied)
	c.Proposal.Arguments = json.RawMessage(`{"key":"used"}`)
	refused(t, b.Call(t.Context(), c), "input", tool.InvalidArguments)
	c.Proposal.Name = "writes"
	refused(t, b.Call(t.Context(), c), "lookup", tool.ToolNotFound)

	if got := b.writes.Load(); got != 1 {
		t.Errorf("the handler ran %d times, want 1", got)
	}

	slow := newBench(t, nil, nil, simulated(time.Hour))
	look := call("look", `{"id":"xx"}`, "read")
	refused(t, slow.Call(t.Context(), look), "deadline", tool.ToolTimeout)
	look.Caller.Permissions = nil
	refused(t, slow.Call(t.Context(), look), "permission", tool.PermissionDenied)
	if got := slow.looks.Load(); got != 0 {
		t.Errorf("the handler ran %d times past its deadline", got)
	}
}

func TestLookupIsExact(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, name := range []string{"", " look", "look ", "look\n", "Look", "LOOK", "loo", "looks", "l\u043eok", "look\x00", "look/", "look_"} {
		result := b.Call(t.Context(), call(name, `{"id":"xx"}`, "read"))
		e := refused(t, result, "lookup", tool.ToolNotFound)
		if diff := cmp.Diff(`{"available_tools":["look"]}`, string(e.Details)); diff != "" {
			t.Errorf("details for %q (-want +got):\n%s", name, diff)
		}
	}
	for want, permissions := range map[string][]string{
		`{"available_tools":[]}`:               nil,
		`{"available_tools":["write"]}`:        {"write"},
		`{"available_tools":["look","write"]}`: {"write", "other", "read"},
	} {
		e := refused(t, b.Call(t.Context(), call("no", `{}`, permissions...)), "lookup", tool.ToolNotFound)
		if string(e.Details) != want {
			t.Errorf("a caller with %v is told %s, want %s", permissions, e.Details, want)
		}
	}
}

func TestInputTellsEveryViolation(t *testing.T) {
	b := newBench(t, nil, nil)
	e := refused(t, b.Call(t.Context(), call("look", `{"n":0,"no":1,"id":"x"}`, "read")), "input", tool.InvalidArguments)
	var details struct {
		Violations []tool.Violation `json:"violations"`
	}
	if err := json.Unmarshal(e.Details, &details); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range details.Violations {
		got = append(got, v.Pointer+" "+v.Keyword)
	}
	if diff := cmp.Diff([]string{" additionalProperties", "/id minLength", "/n minimum"}, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func TestInputRefusesWhatHasNoOneReading(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, arguments := range []string{
		"", "null", "[]", `"{}"`, "{", `{"id":"xx"} {}`, `{"id":"xx","id":"yy"}`, `{"id":"xx","\u0069d":"xx"}`,
		"{\"id\":\"x\xff\"}", `{"id":"\ud800x"}`, `{"id":"xx","n":1e401}`, `{"id":"xx","n":1` + strings.Repeat("0", 400) + `}`,
		`{'id':'xx'}`, `{"id":"xx",}`, `{"id":"xx","n":NaN}`, `{"id":"xx"}//`,
	} {
		result := b.Call(t.Context(), call("look", arguments, "read"))
		refused(t, result, "input", tool.InvalidArguments)
	}
	if got := b.looks.Load(); got != 0 {
		t.Errorf("the handler ran %d times", got)
	}
	// A caller that passes no arguments at all passes none.
	refused(t, b.Call(t.Context(), tool.Call{Proposal: tool.Proposal{Name: "look"}}), "input", tool.InvalidArguments)
}

func TestPermissionAndApprovalDoNotStandForEachOther(t *testing.T) {
	b := newBench(t, nil, nil)
	c := write(`"k1"`, `1`)
	c.Caller.Permissions = []string{"writ", "writes", "WRITE", "write ", "read", "*"}
	e := refused(t, b.Call(t.Context(), c), "permission", tool.PermissionDenied)
	if want := `{"required_permission":"write"}`; string(e.Details) != want {
		t.Errorf("details = %s, want %s", e.Details, want)
	}
	c = write(`"k1"`, `{"approved":true,"role":"admin"}`)
	c.Approved = false
	result := b.Call(t.Context(), c)
	e = refused(t, result, "approval", tool.ApprovalRequired)
	if want := `{"tool":"write","fingerprint":"` + result.Trace.Fingerprint + `"}`; string(e.Details) != want {
		t.Errorf("details = %s, want %s", e.Details, want)
	}
	if e.Retryable || e.Outcome != tool.NotApplied {
		t.Errorf("retryable %t, outcome %s; want neither a retry nor an effect", e.Retryable, e.Outcome)
	}
}

func TestSimulatedDeadline(t *testing.T) {
	for latency, inTime := range map[time.Duration]bool{
		0: true, 499 * time.Millisecond: true, 500 * time.Millisecond: true, 501 * time.Millisecond: false, 900 * time.Millisecond: false,
	} {
		b := newBench(t, nil, nil, simulated(latency))
		result := b.Call(t.Context(), call("look", `{"id":"xx"}`, "read"))
		if inTime {
			succeeded(t, result)
			continue
		}
		e := refused(t, result, "deadline", tool.ToolTimeout)
		if !e.Retryable || result.Trace.HandlerRan {
			t.Errorf("%v: retryable %t, handler ran %t", latency, e.Retryable, result.Trace.HandlerRan)
		}
		if latency == 900*time.Millisecond && string(e.Details) != `{"timeout_ms":500,"observed_ms":900}` {
			t.Errorf("details = %s", e.Details)
		}
	}
}

func TestARepeatIsReplayed(t *testing.T) {
	b := newBench(t, nil, nil)
	first := succeeded(t, b.Call(t.Context(), write(`"k1"`, `{"b":1,"a":[1.0]}`)))
	want := string(first.Output)
	for i := range first.Output {
		first.Output[i] = '!' // what a caller does with its bytes is its own affair
	}
	for _, spelling := range []string{`{"b":1,"a":[1.0]}`, `{ "a" : [1] , "b" : 1e0 }`, `{"\u0061":[10e-1],"b":1.00}`} {
		result := succeeded(t, b.Call(t.Context(), write(`"k1"`, spelling)))
		if !result.Replayed || string(result.Output) != want || result.Trace.HandlerRan {
			t.Errorf("%s: replayed %t, output %s, handler ran %t", spelling, result.Replayed, result.Output, result.Trace.HandlerRan)
		}
		last := result.Trace.Decisions[len(result.Trace.Decisions)-1]
		if diff := cmp.Diff(tool.Decision{Control: "idempotency", Verdict: tool.Replay}, last); diff != "" {
			t.Errorf("last decision (-want +got):\n%s", diff)
		}
		result.Output[0] = '!'
	}
	if got := b.writes.Load(); got != 1 {
		t.Errorf("the handler ran %d times, want 1", got)
	}
}

func TestAKeyWithOtherArgumentsIsAConflict(t *testing.T) {
	b := newBench(t, nil, nil)
	succeeded(t, b.Call(t.Context(), write(`"k1"`, `9007199254740992`)))
	for _, note := range []string{`9007199254740993`, `"9007199254740992"`, `null`, `"\u00e9"`, `"e\u0301"`} {
		e := refused(t, b.Call(t.Context(), write(`"k1"`, note)), "idempotency", tool.IdempotencyConflict)
		if want := `{"idempotency_key":"key"}`; string(e.Details) != want {
			t.Errorf("details = %s, want %s", e.Details, want)
		}
	}
	if got := b.writes.Load(); got != 1 {
		t.Errorf("the handler ran %d times, want 1", got)
	}
}

func TestAReceiptBelongsToItsCaller(t *testing.T) {
	b := newBench(t, nil, nil)
	succeeded(t, b.Call(t.Context(), write(`"k1"`, `1`)))
	for _, note := range []string{`1`, `2`} {
		other := write(`"k1"`, note)
		other.Caller.ID = "caller of " + note
		if result := succeeded(t, b.Call(t.Context(), other)); result.Replayed {
			t.Errorf("another caller's action was replayed: %s", result.Output)
		}
	}
	if got := b.writes.Load(); got != 3 {
		t.Errorf("the handler ran %d times, want 3", got)
	}
}

func TestAReceiptBelongsToItsTool(t *testing.T) {
	twins := []contract.Contract{contracts[1], contracts[1]}
	twins[1].Name = "rewrite"
	compiled, err := registry.Compile(twins...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.New(compiled, registry.Backend{Handlers: map[string]registry.Handler{
		"write": answer(`{"done":1}`), "rewrite": answer(`{"done":2}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	succeeded(t, r.Call(t.Context(), write(`"k1"`, `1`)))
	other := write(`"k1"`, `1`)
	other.Proposal.Name = "rewrite"
	if result := succeeded(t, r.Call(t.Context(), other)); result.Replayed || string(result.Output) != `{"done":2}` {
		t.Errorf("the other tool answered %s, replayed %t", result.Output, result.Replayed)
	}
}

func TestConcurrentCallsWithOneKeyApplyOneEffect(t *testing.T) {
	for name, change := range map[string]func(*registry.Backend){
		"on the wall clock": func(*registry.Backend) {},
		"simulated":         simulated(0),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
				time.Sleep(10 * time.Millisecond)
				return json.RawMessage(`{"done":1}`), nil
			}, change)
			var group sync.WaitGroup
			var replayed atomic.Int32
			const callers = 16
			for range callers {
				group.Go(func() {
					result := b.Call(t.Context(), write(`"k1"`, `1`))
					if !result.OK() || string(result.Output) != `{"done":1}` {
						t.Errorf("got %s, %v", result.Output, result.Error)
					}
					if result.Replayed {
						replayed.Add(1)
					}
				})
			}
			group.Wait()
			if b.writes.Load() != 1 || replayed.Load() != callers-1 {
				t.Errorf("%d effects and %d replays, want 1 and %d", b.writes.Load(), replayed.Load(), callers-1)
			}
		})
	}
}

// A write that was applied stays applied, however bad its answer is.
func TestAppliedWithABadOutput(t *testing.T) {
	for _, output := range []string{`{"done":"yes"}`, `{}`, `{"done":1,"more":2}`, `not json`, ``, `{"done":1} {}`, `{"done":1,"done":2}`} {
		b := newBench(t, nil, answer(output))
		first := b.Call(t.Context(), write(`"k1"`, `1`))
		e := refused(t, first, "output", tool.InvalidToolOutput)
		if e.Outcome != tool.Applied || e.Retryable {
			t.Errorf("%q: outcome %s, retryable %t; want applied and no retry", output, e.Outcome, e.Retryable)
		}
		again := b.Call(t.Context(), write(`"k1"`, `1`))
		if again.OK() || again.Error.Code != tool.InvalidToolOutput || again.Error.Outcome != tool.Applied || !again.Replayed {
			t.Errorf("%q: the repeat got %s, %v, replayed %t", output, again.Output, again.Error, again.Replayed)
		}
		refused(t, b.Call(t.Context(), write(`"k1"`, `2`)), "idempotency", tool.IdempotencyConflict)
		if got := b.writes.Load(); got != 1 {
			t.Errorf("%q: the handler ran %d times, want 1", output, got)
		}
	}
	read := newBench(t, answer(`{"seen":1}`), nil)
	e := refused(t, read.Call(t.Context(), call("look", `{"id":"xx"}`, "read")), "output", tool.InvalidToolOutput)
	if e.Outcome != tool.NotApplied {
		t.Errorf("a read's outcome is %s", e.Outcome)
	}
}

func TestAFailureThatAppliedNothingFreesTheKey(t *testing.T) {
	var attempts atomic.Int32
	b := newBench(t, nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		if attempts.Add(1) == 1 {
			return nil, tool.Refusal(tool.TicketNotFound, nil, "none")
		}
		return json.RawMessage(`{"done":1}`), nil
	})
	e := refused(t, b.Call(t.Context(), write(`"k1"`, `1`)), "handler", tool.TicketNotFound)
	if e.Outcome != tool.NotApplied {
		t.Errorf("outcome = %s", e.Outcome)
	}
	if result := succeeded(t, b.Call(t.Context(), write(`"k1"`, `2`))); result.Replayed {
		t.Error("a failure was replayed")
	}
}

const secret = "s3cret-token"

// What a handler says when it breaks is for the operator, not for the caller.
func TestABrokenHandlerIsContained(t *testing.T) {
	for name, breakdown := range map[string]registry.Handler{
		"panic with an error": func(context.Context, json.RawMessage) (json.RawMessage, error) { panic(errors.New(secret)) },
		"panic with a string": func(context.Context, json.RawMessage) (json.RawMessage, error) { panic(secret) },
		"nil dereference":     func(context.Context, json.RawMessage) (json.RawMessage, error) { var p *int; *p = 1; return nil, nil },
		"an error":            func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New(secret) },
	} {
		for mode, change := range map[string]func(*registry.Backend){"wall clock": func(*registry.Backend) {}, "simulated": simulated(0)} {
			t.Run(name+" "+mode, func(t *testing.T) {
				var faults []string
				b := newBench(t, breakdown, breakdown, change, func(b *registry.Backend) {
					b.OnFault = func(tool string, cause error) { faults = append(faults, tool+": "+cause.Error()) }
				})
				e := refused(t, b.Call(t.Context(), call("look", `{"id":"xx"}`, "read")), "handler", tool.HandlerFailed)
				if e.Outcome != tool.NotApplied {
					t.Errorf("a read's outcome is %s", e.Outcome)
				}
				first := b.Call(t.Context(), write(`"k1"`, `1`))
				e = refused(t, first, "handler", tool.HandlerFailed)
				if e.Outcome != tool.Unknown {
					t.Errorf("a write's outcome is %s, want unknown", e.Outcome)
				}
				told, err := json.Marshal(first.Error)
				if err != nil {
					t.Fatal(err)
				}
				for _, leak := range []string{secret, "goroutine", ".go:", "runtime error"} {
					if strings.Contains(string(told), leak) {
						t.Errorf("the caller is told %q: %s", leak, told)
					}
				}
				if f := first.Trace.Fault; f == "" || strings.Contains(f, ".go:") || strings.Contains(f, "goroutine") {
					t.Errorf("the trace says %q; want one line without the stack", f)
				}
				if len(faults) != 2 {
					t.Fatalf("the operator was told %q", faults)
				}
				if !strings.HasPrefix(name, "nil") && !strings.Contains(faults[1], secret) {
					t.Errorf("the operator was told %q", faults[1])
				}
				if strings.HasPrefix(name, "panic") && !strings.Contains(faults[0], ".go:") {
					t.Errorf("a panic came without its stack: %q", faults[0])
				}
				// Nobody knows what became of the write: it is not done again.
				again := b.Call(t.Context(), write(`"k1"`, `1`))
				if again.OK() || again.Error.Outcome != tool.Unknown || b.writes.Load() != 1 {
					t.Errorf("the repeat got %v after %d runs", again.Error, b.writes.Load())
				}
			})
		}
	}
}

func TestADeliberateFailureTellsItsOutcome(t *testing.T) {
	b := newBench(t, nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		e := tool.Refusal(tool.HandlerFailed, nil, "half done")
		e.Outcome = tool.Applied
		return nil, e
	})
	for range 2 {
		result := b.Call(t.Context(), write(`"k1"`, `1`))
		if result.OK() || result.Error.Outcome != tool.Applied {
			t.Errorf("got %v", result.Error)
		}
	}
	if got := b.writes.Load(); got != 1 {
		t.Errorf("the handler ran %d times, want 1", got)
	}
}

func TestAHangingReadIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-release // it does not listen to its context
			return json.RawMessage(`{"seen":"late"}`), nil
		}, nil)
		started := time.Now()
		result := b.Call(t.Context(), call("look", `{"id":"xx"}`, "read"))
		if waited := time.Since(started); waited != 500*time.Millisecond {
			t.Errorf("the caller waited %v, want the timeout", waited)
		}
		e := refused(t, result, "handler", tool.ToolTimeout)
		if !e.Retryable || e.Outcome != tool.NotApplied || string(e.Details) != `{"timeout_ms":500,"observed_ms":500}` {
			t.Errorf("got %+v with %s", e, e.Details)
		}
		close(release)
	})
}

func TestAHandlerIsToldOfItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		refused(t, b.Call(t.Context(), call("look", `{"id":"xx"}`, "read")), "handler", tool.ToolTimeout)
	})
}

// A write that outlives its timeout is neither told as not applied nor done a
// second time.
func TestAHangingWriteIsSettledWhenItEnds(t *testing.T) {
	for name, test := range map[string]struct {
		late registry.Handler
		want func(*testing.T, tool.Result)
	}{
		"applied in the end": {answer(`{"done":7}`), func(t *testing.T, r tool.Result) {
			if !succeeded(t, r).Replayed || string(r.Output) != `{"done":7}` {
				t.Errorf("the repeat got %s, replayed %t", r.Output, r.Replayed)
			}
		}},
		"applied with a bad output": {answer(`{}`), func(t *testing.T, r tool.Result) {
			if r.OK() || r.Error.Code != tool.InvalidToolOutput || r.Error.Outcome != tool.Applied {
				t.Errorf("the repeat got %s, %v", r.Output, r.Error)
			}
		}},
		"broken in the end": {func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("late") }, func(t *testing.T, r tool.Result) {
			if r.OK() || r.Error.Code != tool.HandlerFailed || r.Error.Outcome != tool.Unknown {
				t.Errorf("the repeat got %s, %v", r.Output, r.Error)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
					time.Sleep(1200 * time.Millisecond)
					return test.late(ctx, arguments)
				})
				e := refused(t, b.Call(t.Context(), write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
				if e.Outcome != tool.Unknown || e.Retryable {
					t.Errorf("outcome %s, retryable %t; want unknown and no retry", e.Outcome, e.Retryable)
				}
				// The repeat waits its own time for the first, and is not run.
				e = refused(t, b.Call(t.Context(), write(`"k1"`, `1`)), "idempotency", tool.ActionInProgress)
				if e.Outcome != tool.Unknown {
					t.Errorf("outcome of the waiting repeat = %s", e.Outcome)
				}
				test.want(t, b.Call(t.Context(), write(`"k1"`, `1`)))
				if got := b.writes.Load(); got != 1 {
					t.Errorf("the handler ran %d times, want 1", got)
				}
			})
		})
	}
}

func TestACancelledCallIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return json.RawMessage(`{"seen":"x"}`), nil
		}, nil)
		time.AfterFunc(100*time.Millisecond, cancel)
		e := refused(t, b.Call(ctx, call("look", `{"id":"xx"}`, "read")), "handler", tool.HandlerFailed)
		if !strings.Contains(e.Message, "cancelled") {
			t.Errorf("message = %q", e.Message)
		}
		time.Sleep(time.Second) // the handler ends too
	})
}

func TestCompileRefuses(t *testing.T) {
	bad := func(change func(*contract.Contract)) []contract.Contract {
		c := contracts[0]
		change(&c)
		return []contract.Contract{c}
	}
	for name, test := range map[string]struct {
		contracts []contract.Contract
		says      string
	}{
		"a contract":      {bad(func(c *contract.Contract) { c.Permission = "" }), `tool "look": permission is empty`},
		"an input schema": {bad(func(c *contract.Contract) { c.InputSchema = json.RawMessage(`{"type":"strin"}`) }), `tool "look": input schema: `},
		"an output schema": {bad(func(c *contract.Contract) {
			c.OutputSchema = json.RawMessage(`{"$ref":"#"}`)
		}), `tool "look": output schema: `},
		"a name twice": {[]contract.Contract{contracts[0], contracts[0]}, `tool "look": the name is taken`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := registry.Compile(test.contracts...)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Compile: %v; want %q", err, test.says)
			}
		})
	}
}

func TestNewWantsOneHandlerAContract(t *testing.T) {
	for says, handlers := range map[string]map[string]registry.Handler{
		`tool "write" has no handler`:     {"look": answer("1")},
		`handler "other" has no contract`: {"look": answer("1"), "write": answer("1"), "other": answer("1")},
	} {
		_, err := registry.New(catalog, registry.Backend{Handlers: handlers})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("New: %v; want %q", err, says)
		}
	}
}

func TestDefinitionsAreSortedAndACopy(t *testing.T) {
	definitions := catalog.Definitions()
	definitions[0].Name = "changed"
	var names []string
	for _, d := range catalog.Definitions() {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"look", "write"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// BenchmarkCall is one call that all eight controls decide.
func BenchmarkCall(b *testing.B) {
	arguments := []byte(`{"key":"k-0000000","note":"Customer asked for a callback."}`)
	bench := newBench(b, nil, nil, simulated(0))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for at, n := 15, i; n > 0; at, n = at-1, n/10 {
			arguments[at] = '0' + byte(n%10)
		}
		c := call("write", "", "write")
		c.Proposal.Arguments = arguments
		if result := bench.Call(b.Context(), c); !result.OK() {
			b.Fatal(result.Error)
		}
	}
}
