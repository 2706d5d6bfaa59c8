package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

var errBoom = errors.New("boom")

// reader is a dataset of one file in memory.
func reader(text []byte) *dataset.Reader { return dataset.Open(source(string(text))) }

func source(text string) dataset.Source {
	return dataset.Source{
		Name: datasets.ToolCasesName,
		Path: datasets.ToolCasesName,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}
}

// copies repeats the shipped cases so many times, each time with fresh ids.
func copies(n int) []byte {
	var text []byte
	for i := range n {
		text = append(text, bytes.ReplaceAll(datasets.ToolCases, []byte(`"case_id":"`), fmt.Appendf(nil, `"case_id":"%d-`, i))...)
	}
	return text
}

// shipped returns the cases of the shipped dataset.
func shipped(t testing.TB) []*dataset.Case {
	t.Helper()
	var cases []*dataset.Case
	r := reader(datasets.ToolCases)
	for {
		batch, err := r.Next()
		if err == io.EOF {
			return cases
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range batch.Decode().Lines {
			cases = append(cases, line.Case)
		}
	}
}

func shippedCase(t testing.TB, id string) *dataset.Case {
	t.Helper()
	for _, c := range shipped(t) {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no shipped case %q", id)
	return nil
}

// plan replays a dataset on the built-in surfaces.
func plan(text []byte) eval.Plan {
	return eval.Plan{Cases: reader(text), Baseline: ticket.Wide{}, Candidate: ticket.Typed{}}
}

// page is what a worker renders in these tests: the pairs themselves.
type page struct{ pairs []*eval.Pair }

func newPage() *page { return new(page) }

func (p *page) add(pair *eval.Pair) { p.pairs = append(p.pairs, pair) }

// collector keeps what is delivered.
type collector struct{ pairs []*eval.Pair }

func (c *collector) deliver(p *page) error {
	c.pairs = append(c.pairs, p.pairs...)
	p.pairs = p.pairs[:0]
	return nil
}

func (c *collector) ids() []string {
	ids := make([]string, 0, len(c.pairs))
	for _, pair := range c.pairs {
		ids = append(ids, pair.Case.ID)
	}
	return ids
}

// replay replays a plan to its end.
func replay(t testing.TB, plan eval.Plan) (*eval.Comparison, []*eval.Pair) {
	t.Helper()
	var c collector
	comparison, err := eval.Replay(t.Context(), plan, newPage, (*page).add, c.deliver)
	if err != nil {
		t.Fatal(err)
	}
	return comparison, c.pairs
}

// script is a surface that does as a test wishes. Its zero value answers every
// call with {} and has no effect.
type script struct {
	open    func(ctx context.Context) error
	call    func(ctx context.Context, call tool.Call) tool.Result
	effects []int // of a session: before the first call, after it, and so on

	opened, called, closed atomic.Int64
}

func (s *script) Name() string { return "script" }

func (s *script) Definitions() []tool.Definition {
	return []tool.Definition{{Name: "tool", InputSchema: json.RawMessage(`{}`)}}
}

func (s *script) Open(ctx context.Context) (tool.Session, error) {
	if s.open != nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	s.opened.Add(1)
	return &scriptSession{script: s}, nil
}

type scriptSession struct {
	script *script
	calls  int
}

func (s *scriptSession) Call(ctx context.Context, call tool.Call) tool.Result {
	s.calls++
	s.script.called.Add(1)
	if s.script.call != nil {
		return s.script.call(ctx, call)
	}
	return tool.Result{Output: json.RawMessage(`{}`)}
}

func (s *scriptSession) Effects() int {
	if s.script.effects == nil {
		return 0
	}
	return s.script.effects[s.calls]
}

func (s *scriptSession) Close() error {
	s.script.closed.Add(1)
	return nil
}

// answering is a script that answers every call with the same result.
func answering(result tool.Result) *script {
	return &script{call: func(context.Context, tool.Call) tool.Result { return result }}
}

func ptr[T any](v T) *T { return &v }

func fields(text string) []string { return strings.Fields(text) }
