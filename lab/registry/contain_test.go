package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// nilRefusal is what a handler returns that declares its error as a *tool.Error
// and never sets it.
func nilRefusal(context.Context, json.RawMessage) (json.RawMessage, error) {
	var e *tool.Error
	return json.RawMessage(`{"done":1}`), e
}

// spiteful panics when it is looked at.
type spiteful struct{}

func (spiteful) Error() string { panic("Error") }
func (spiteful) As(any) bool   { panic("As") }

func TestNothingGetsOutOfACall(t *testing.T) {
	for name, work := range map[string]registry.Handler{
		"a nil *tool.Error":     nilRefusal,
		"an error that panics":  func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, spiteful{} },
		"the end of goroutines": func(context.Context, json.RawMessage) (json.RawMessage, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, work, func(b *registry.Backend) {
				b.OnFault = func(string, error) { panic("OnFault") }
			})
			for range 3 {
				result := b.Call(t.Context(), write(`"k1"`, `1`))
				if result.OK() || result.Error.Code != tool.HandlerFailed || result.Error.Outcome != tool.Unknown {
					t.Fatalf("got %s, %v", result.Output, result.Error)
				}
			}
			if got := b.writes.Load(); got != 1 {
				t.Errorf("the handler ran %d times, want 1", got)
			}
		})
	}
	late := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		time.Sleep(700 * time.Millisecond)
		return nilRefusal(context.Background(), nil)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, late)
		refused(t, b.Call(t.Context(), write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
		time.Sleep(time.Second)
		if again := b.Call(t.Context(), write(`"k1"`, `1`)); again.OK() || again.Error.Outcome != tool.Unknown || b.writes.Load() != 1 {
			t.Errorf("the repeat got %v after %d runs", again.Error, b.writes.Load())
		}
	})
}

func TestAPanicBeforeTheHandlerAppliesNothing(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Latencies = map[string]registry.Latency{"write": func(context.Context, json.RawMessage) time.Duration { panic("latency") }}
	})
	result := s.call(write(`"k1"`, `1`))
	if result.OK() || result.Error.Code != tool.HandlerFailed || result.Error.Outcome != tool.NotApplied || s.ran.Load() != 0 {
		t.Errorf("got %s, %v after %d runs", result.Output, result.Error, s.ran.Load())
	}
	if !strings.HasPrefix(result.Trace.Fault, "[redacted ") {
		t.Errorf("the trace says %q", result.Trace.Fault)
	}
}

func TestReceiptsShareNothing(t *testing.T) {
	buffer := []byte(`{"done":1}`)
	b := newBench(t, nil, func(context.Context, json.RawMessage) (json.RawMessage, error) { return buffer, nil })
	first := succeeded(t, b.Call(t.Context(), write(`"k1"`, `1`)))
	copy(buffer, "xxxxxxxxxx") // a handler may use its buffer again
	if string(first.Output) != `{"done":1}` {
		t.Errorf("the result became %s", first.Output)
	}

	details := json.RawMessage(`{"why":"x"}`)
	failing := newBench(t, nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, &tool.Error{Code: tool.HandlerFailed, Message: "m", Details: details, Outcome: tool.Applied}
	})
	for range 3 {
		result := failing.Call(t.Context(), write(`"k1"`, `1`))
		if result.OK() || result.Error.Message != "m" || string(result.Error.Details) != `{"why":"x"}` {
			t.Fatalf("got %+v", result.Error)
		}
		result.Error.Message = "changed"
		copy(result.Error.Details, "xxxxxxxxxxx")
	}
	if string(details) != `{"why":"x"}` {
		t.Errorf("the handler's own details became %s", details)
	}
}

func TestAKeyIsAStringThatEveryCallHas(t *testing.T) {
	for name, document := range map[string]string{
		"not required":  `{"type":"object","properties":{"key":{"type":"string"}}}`,
		"not a string":  `{"type":"object","properties":{"key":{"type":["string","null"]}},"required":["key"]}`,
		"not mentioned": `{"type":"object"}`,
		"no object":     `{"properties":{"key":{"type":"string"}},"required":["key"]}`,
	} {
		c := contracts[1]
		c.InputSchema = json.RawMessage(document)
		if _, err := registry.Compile(c); err == nil || !strings.Contains(err.Error(), `does not require "key" to be a string`) {
			t.Errorf("%s: Compile: %v", name, err)
		}
		c.IdempotencyKey, c.Resources = "", []contract.Resource{{Argument: "key"}}
		if _, err := registry.Compile(c); err == nil {
			t.Errorf("%s: such a resource was taken", name)
		}
	}
}

func TestADeliberateOutcomeOfAReadIsNotBelieved(t *testing.T) {
	b := newBench(t, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, &tool.Error{Code: tool.TicketNotFound, Outcome: tool.Applied}
	}, nil)
	if e := refused(t, b.Call(t.Context(), call("look", `{"id":"xx"}`, "read")), "handler", tool.TicketNotFound); e.Outcome != tool.NotApplied {
		t.Errorf("outcome = %s", e.Outcome)
	}
}

func TestUnreadableArgumentsMeetNoSchema(t *testing.T) {
	c := contracts[0]
	c.InputSchema = json.RawMessage(`{}`) // which takes everything that can be read
	compiled, err := registry.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.New(compiled, registry.Backend{Handlers: map[string]registry.Handler{"look": answer(`{"seen":"x"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	succeeded(t, r.Call(t.Context(), call("look", `null`, "read")))
	e := refused(t, r.Call(t.Context(), call("look", `{"a":1,"a":2}`, "read")), "input", tool.InvalidArguments)
	wantDetails(t, e, `{"violations":[{"pointer":"/a","keyword":"json","message":"duplicate key"}]}`)
	if errors.Unwrap(e) != nil {
		t.Error("the refusal wraps something")
	}
}
