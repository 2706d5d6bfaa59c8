package governed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agentlab/lab/governed"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/overlay"
	"agentlab/lab/registry"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// bare is a server that does as little as one can.
type bare struct{ output json.RawMessage }

func (b bare) Name() string                                { return "bare" }
func (b bare) Definitions() []tool.Definition              { return nil }
func (b bare) Open(context.Context) (tool.Session, error)  { return b, nil }
func (b bare) Effects() int                                { return 0 }
func (b bare) Close() error                                { return nil }
func (b bare) Call(context.Context, tool.Call) tool.Result { return tool.Result{Output: b.output} }

const benchOutput = `{"content":[{"type":"text","text":"ok"}]}`

func governedBare(t testing.TB) tool.Session {
	get, put := contracts()
	for _, covered := range []*overlay.Tool{&get, &put} {
		covered.Contract.OutputSchema = json.RawMessage(`{"type":"object","required":["content"]}`)
	}
	surface, err := governed.Over(bare{json.RawMessage(benchOutput)}, []overlay.Tool{get, put}, governed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := surface.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func read() tool.Call {
	return tool.Call{
		Proposal: tool.Proposal{Name: "get", Arguments: json.RawMessage(`{"name":"n"}`)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"read", "write"}},
	}
}

// write is a keyed write, each with a key of its own.
func write(i int) tool.Call {
	return tool.Call{
		Proposal: tool.Proposal{Name: "put", Arguments: fmt.Appendf(nil, `{"name":"n","text":"x","action_id":"k%09d"}`, i)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"read", "write"}},
		Approved: true,
	}
}

// BenchmarkCall tells what the registry adds to a call, as the difference to the
// same call without it in the same run: receipts in memory, no precondition, and
// nobody who looks.
func BenchmarkCall(b *testing.B) {
	ctx := context.Background()
	alone, _ := bare{json.RawMessage(benchOutput)}.Open(ctx)
	for _, kind := range []struct {
		name string
		call func(i int) tool.Call
	}{{"read", func(int) tool.Call { return read() }}, {"write", write}} {
		b.Run(kind.name, func(b *testing.B) {
			session := governedBare(b)
			b.ReportAllocs()
			var without, with time.Duration
			i := 0
			for b.Loop() {
				call := kind.call(i)
				began := time.Now()
				alone.Call(ctx, call)
				between := time.Now()
				result := session.Call(ctx, call)
				without, with = without+between.Sub(began), with+time.Since(between)
				if !result.OK() || result.Replayed {
					b.Fatal(result.Error)
				}
				i++
			}
			b.ReportMetric(float64(without.Nanoseconds())/float64(i), "bare-ns/op")
			b.ReportMetric(float64((with-without).Nanoseconds())/float64(i), "added-ns/op")
		})
	}
}

// maxAdded is how much longer a call may take, on a machine that has nothing else to
// do: the best of some runs counts.
const maxAdded = 50 * time.Microsecond

func TestTimeAdded(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes its time")
	}
	ctx := context.Background()
	alone, _ := bare{json.RawMessage(benchOutput)}.Open(ctx)
	session := governedBare(t)
	const calls = 500
	best := time.Hour
	for run := range 20 {
		var added time.Duration
		for i := range calls {
			call := write(run*calls + i)
			began := time.Now()
			alone.Call(ctx, call)
			between := time.Now()
			if result := session.Call(ctx, call); !result.OK() || result.Replayed {
				t.Fatal(result.Error)
			}
			added += time.Since(between) - between.Sub(began)
		}
		best = min(best, added/calls)
	}
	t.Logf("%s a write", best)
	if best >= maxAdded {
		t.Errorf("%s are added to a write, want less than %s", best, maxAdded)
	}
}

// maxAllocations is what a control may come to, beyond the reading and checking of
// documents that schema validation is.
const maxAllocations = 5

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx := context.Background()
	get, put := contracts()
	session := governedBare(t)
	allowed := float64(maxAllocations * len(registry.Controls()))
	// What the schemas cost: a document is read and checked.
	checking := func(document, output json.RawMessage) float64 {
		in, err := schema.CompileForeign(document, schema.Draft202012)
		if err != nil {
			t.Fatal(err)
		}
		out, err := schema.CompileForeign(json.RawMessage(`{"type":"object","required":["content"]}`), schema.Draft202012)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(200, func() {
			for s, document := range map[*schema.Schema]json.RawMessage{in: output, out: json.RawMessage(benchOutput)} {
				value, err := jsonvalue.Decode(document)
				if err != nil || len(s.Validate(value)) > 0 {
					t.Fatal(err, s.Validate(value))
				}
			}
		})
	}
	i := 0
	for name, test := range map[string]struct {
		call   func() tool.Call
		schema json.RawMessage
	}{
		"read":  {read, get.Contract.InputSchema},
		"write": {func() tool.Call { i++; return write(i) }, put.Contract.InputSchema},
	} {
		made := testing.AllocsPerRun(200, func() { test.call() })
		own := checking(test.schema, test.call().Proposal.Arguments)
		all := testing.AllocsPerRun(200, func() {
			if result := session.Call(ctx, test.call()); !result.OK() {
				t.Fatal(result.Error)
			}
		})
		added := all - made - own
		t.Logf("%s: %.0f allocations, of which the schemas have %.0f; the rest is %.1f a control", name, all-made, own, added/float64(len(registry.Controls())))
		if added > allowed {
			t.Errorf("%s: the controls allocate %.0f times beyond the schemas, want at most %.0f", name, added, allowed)
		}
	}
}
