package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// manyCopies of the shipped cases fill several batches.
const manyCopies = 100

// With any number of workers the pages come in dataset order and say the same.
func TestReplayIsRepeatable(t *testing.T) {
	defer goleak.VerifyNone(t)
	const many = 2 * manyCopies
	text := copies(many)
	var wantIDs []string
	for i := range many {
		for _, c := range shipped(t) {
			wantIDs = append(wantIDs, fmt.Sprint(i, "-", c.ID))
		}
	}
	// A run in text: without the case, which both runs of a pair share.
	say := func(pairs []*eval.Pair) []byte {
		var out bytes.Buffer
		for _, pair := range pairs {
			for _, run := range []eval.Run{*pair.Baseline, pair.Candidate} {
				run.Case = nil
				if err := json.NewEncoder(&out).Encode(run); err != nil {
					t.Fatal(err)
				}
			}
		}
		return out.Bytes()
	}
	var first []byte
	for _, workers := range []int{1, 2, 8} {
		p := plan(text)
		p.Workers = workers
		comparison, pairs := replay(t, p)
		c := collector{pairs}
		if diff := cmp.Diff(wantIDs, c.ids()); diff != "" {
			t.Fatalf("%d workers: ids (-want +got):\n%s", workers, diff)
		}
		said := say(pairs)
		if first == nil {
			first = said
		}
		if !bytes.Equal(first, said) {
			t.Errorf("%d workers: other runs than with one", workers)
		}
		b := comparison.Baseline
		if b.TotalCases != 11*many || b.PassedCases != many || b.UnsafeSideEffects != 4*many ||
			b.DuplicateSideEffects != 2*many || comparison.Dataset.Cases != 11*many {
			t.Errorf("%d workers: baseline %+v", workers, b)
		}
		if c := comparison.Candidate; c.PassedCases != 11*many || c.StructuredErrors != 7*many {
			t.Errorf("%d workers: candidate %+v", workers, c)
		}
		improvements := slices.Collect(comparison.Improvements.All())
		if want := slices.DeleteFunc(slices.Clone(wantIDs), func(id string) bool { return strings.HasSuffix(id, "read-ticket") }); !slices.Equal(want, improvements) {
			t.Errorf("%d workers: %d improvements, want %d in dataset order", workers, len(improvements), len(want))
		}
	}
}

// Each case meets a backend that no other has touched.
func TestReplayOpensFreshSessions(t *testing.T) {
	surface := new(script)
	p := eval.Plan{Cases: reader(datasets.ToolCases), Baseline: surface, Candidate: surface}
	replay(t, p)
	if opened, closed, called := surface.opened.Load(), surface.closed.Load(), surface.called.Load(); opened != 22 || closed != 22 || called != 26 {
		t.Errorf("%d sessions opened, %d closed, %d calls; want 22, 22 and 26", opened, closed, called)
	}
}

// failing replays a plan that fails, and checks that it fails wholly.
func failing(ctx context.Context, t *testing.T, p eval.Plan) (*collector, error) {
	t.Helper()
	var c collector
	comparison, err := eval.Replay(ctx, p, newPage, (*page).add, c.deliver)
	if err == nil || comparison != nil {
		t.Fatalf("Replay = %v, %v; want an error and nothing else", comparison, err)
	}
	return &c, err
}

// However late a fault shows, nothing before it counts.
func TestReplayOfFaultyDatasets(t *testing.T) {
	defer goleak.VerifyNone(t)
	many, one := string(copies(manyCopies)), string(datasets.ToolCases)
	last := 11*manyCopies + 1
	tests := []struct {
		name  string
		text  string
		want  string // the first fault
		total int
	}{
		{"in the first line", "{}\n" + many, "tool-cases.jsonl:1: case_id: missing", 7},
		{"in the last line", many + "[]", fmt.Sprintf("tool-cases.jsonl:%d: line: must be an object, not an array", last), 1},
		{"in both", "[]\n" + many + "[]", "tool-cases.jsonl:1: line: must be an object, not an array", 2},
		{"a repeat in the last line", many + strings.SplitAfter(many, "\n")[0],
			fmt.Sprintf(`tool-cases.jsonl:%d: case_id: "0-read-ticket" is already the case of tool-cases.jsonl:1`, last), 1},
		{"each line a repeat", one + one, `tool-cases.jsonl:12: case_id: "read-ticket" is already the case of tool-cases.jsonl:1`, 11},
		{"no line", "", "tool-cases.jsonl:1: line: the file holds no case", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := plan([]byte(test.text))
			p.Workers = 2
			_, err := failing(t.Context(), t, p)
			var invalid *dataset.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("error = %v, want an *Invalid", err)
			}
			if got := invalid.Faults[0].String(); got != test.want || invalid.Total != test.total {
				t.Errorf("the first of %d faults is %q; want %q of %d", invalid.Total, got, test.want, test.total)
			}
		})
	}
}

func TestReplayOfUnreadableDatasets(t *testing.T) {
	defer goleak.VerifyNone(t)
	dropped := fmt.Errorf("connection lost: %w", io.EOF)
	for name, broken := range map[string]error{"broken": errBoom, "dropped": dropped} {
		t.Run(name, func(t *testing.T) {
			p := plan(nil)
			p.Cases = dataset.Open(dataset.Source{Name: "a", Path: "a", Open: func() (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader(copies(manyCopies)), iotest.ErrReader(broken))), nil
			}})
			_, err := failing(t.Context(), t, p)
			if !errors.Is(err, dataset.ErrUnreadable) || !errors.Is(err, broken) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestReplaySelects(t *testing.T) {
	p := plan(datasets.ToolCases)
	p.Select = func(id string) bool { return strings.HasPrefix(id, "invalid-") }
	p.Selection = []string{"invalid-*"}
	comparison, pairs := replay(t, p)
	c := collector{pairs}
	want := []string{"invalid-arguments", "invalid-cursor"}
	if diff := cmp.Diff(want, c.ids()); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	all, _ := replay(t, plan(datasets.ToolCases))
	if diff := cmp.Diff(eval.Dataset{Name: "tool-cases.jsonl", SHA256: all.Dataset.SHA256, Cases: 2, Selection: p.Selection}, comparison.Dataset); diff != "" {
		t.Errorf("dataset (-want +got):\n%s", diff)
	}
	if comparison.Baseline.TotalCases != 2 || comparison.Candidate.TotalCases != 2 || !comparison.GatePassed() {
		t.Errorf("comparison = %+v", comparison)
	}
	if diff := cmp.Diff(want, slices.Collect(comparison.Improvements.All())); diff != "" {
		t.Errorf("improvements (-want +got):\n%s", diff)
	}
}

func TestReplayOfNoCase(t *testing.T) {
	p := plan(datasets.ToolCases)
	p.Select = func(string) bool { return false }
	if _, err := failing(t.Context(), t, p); err != eval.ErrNoCase {
		t.Errorf("none selected: error = %v", err)
	}
	p = plan(nil)
	p.Cases = dataset.Open()
	if _, err := failing(t.Context(), t, p); err != eval.ErrNoCase {
		t.Errorf("no source: error = %v", err)
	}
	// A fault outranks the selection: the dataset is read to its end.
	p = plan(append(slices.Clone(datasets.ToolCases), '{'))
	p.Select = func(string) bool { return false }
	var invalid *dataset.Invalid
	if _, err := failing(t.Context(), t, p); !errors.As(err, &invalid) {
		t.Errorf("none selected of a faulty dataset: error = %v", err)
	}
}

// A surface that cannot run is an error and never a grade.
func TestReplayCouldNotRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	closed := &script{open: func(context.Context) error { return errBoom }}
	for name, p := range map[string]eval.Plan{
		"baseline":  {Baseline: closed, Candidate: ticket.Typed{}},
		"candidate": {Baseline: ticket.Wide{}, Candidate: closed},
	} {
		t.Run(name, func(t *testing.T) {
			p.Cases = reader(copies(manyCopies))
			c, err := failing(t.Context(), t, p)
			if !errors.Is(err, errBoom) || err.Error() != "case 0-read-ticket: script: boom" {
				t.Errorf("error = %v", err)
			}
			if len(c.pairs) != 0 {
				t.Errorf("%d pairs were delivered", len(c.pairs))
			}
		})
	}
}

type badCatalog struct{ script }

func (*badCatalog) Definitions() []tool.Definition {
	return []tool.Definition{{Name: "broken", InputSchema: json.RawMessage(`{`)}}
}

func TestReplayOfBadCatalog(t *testing.T) {
	for name, p := range map[string]eval.Plan{
		"baseline":  {Baseline: new(badCatalog), Candidate: ticket.Typed{}},
		"candidate": {Baseline: ticket.Wide{}, Candidate: new(badCatalog)},
	} {
		t.Run(name, func(t *testing.T) {
			p.Cases = reader(datasets.ToolCases)
			_, err := failing(t.Context(), t, p)
			if want := `script: tool "broken": the input schema is not JSON`; err.Error() != want {
				t.Errorf("error = %q, want %q", err, want)
			}
		})
	}
}

// A panic of what runs on a worker is an error of the replay.
func TestReplayContainsPanics(t *testing.T) {
	defer goleak.VerifyNone(t)
	panics := func() { panic("a bug") }
	surface := &script{call: func(context.Context, tool.Call) tool.Result {
		panics()
		return tool.Result{}
	}}
	render := (*page).add
	tests := []struct {
		name   string
		change func(p *eval.Plan)
		render func(*page, *eval.Pair)
	}{
		{"of a session", func(p *eval.Plan) { p.Candidate = surface }, render},
		{"of an opening", func(p *eval.Plan) {
			p.Candidate = &script{open: func(context.Context) error { panics(); return nil }}
		}, render},
		{"of the selection", func(p *eval.Plan) { p.Select = func(string) bool { panics(); return true } }, render},
		{"of the rendering", func(*eval.Plan) {}, func(*page, *eval.Pair) { panics() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := plan(copies(manyCopies))
			test.change(&p)
			var c collector
			comparison, err := eval.Replay(t.Context(), p, newPage, test.render, c.deliver)
			if err == nil || comparison != nil || len(c.pairs) != 0 {
				t.Fatalf("Replay = %v, %v, and %d pairs", comparison, err, len(c.pairs))
			}
			if !strings.HasPrefix(err.Error(), "panic: a bug\n") || !strings.Contains(err.Error(), "TestReplayContainsPanics") {
				t.Errorf("error = %v, want the panic and where it was", err)
			}
		})
	}
	if surface.opened.Load() != surface.closed.Load() {
		t.Errorf("%d sessions opened and %d closed", surface.opened.Load(), surface.closed.Load())
	}
}

func TestReplayCancelled(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, after := range []int64{0, 1, 300} {
		t.Run(fmt.Sprint("after ", after, " calls"), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if after == 0 {
				cancel()
			}
			var calls atomic.Int64
			surface := &script{call: func(context.Context, tool.Call) tool.Result {
				if calls.Add(1) == after {
					cancel()
				}
				return tool.Result{Output: json.RawMessage(`{}`)}
			}}
			p := eval.Plan{Cases: reader(copies(manyCopies)), Baseline: surface, Candidate: surface, Workers: 4}
			_, err := failing(ctx, t, p)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v", err)
			}
			// Each of the other workers may have one call under way.
			if called := calls.Load(); called < after || called > after+3 || after == 0 && called > 0 {
				t.Errorf("%d calls", called)
			}
			if surface.opened.Load() != surface.closed.Load() {
				t.Errorf("%d sessions opened and %d closed", surface.opened.Load(), surface.closed.Load())
			}
		})
	}
}

// A session that waits is freed by the end of ctx.
func TestReplayDeadline(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	waiting := &script{call: func(ctx context.Context, _ tool.Call) tool.Result {
		<-ctx.Done()
		return tool.Result{Error: tool.Refusal(tool.HandlerFailed, nil, "cancelled")}
	}}
	p := plan(copies(manyCopies))
	p.Candidate = waiting
	if c, err := failing(ctx, t, p); !errors.Is(err, context.DeadlineExceeded) || len(c.pairs) != 0 {
		t.Errorf("error = %v, and %d pairs", err, len(c.pairs))
	}
}

// Where a page cannot be delivered, what is under way is given up.
func TestReplayCouldNotDeliver(t *testing.T) {
	defer goleak.VerifyNone(t)
	surface := new(script)
	p := eval.Plan{Cases: reader(copies(manyCopies)), Baseline: surface, Candidate: surface, Workers: 1}
	delivered := 0
	comparison, err := eval.Replay(t.Context(), p, newPage, (*page).add, func(*page) error {
		delivered++
		return errBoom
	})
	if err != errBoom || comparison != nil || delivered != 1 {
		t.Errorf("Replay = %v, %v after %d pages", comparison, err, delivered)
	}
	if called, all := surface.called.Load(), int64(26*manyCopies); called == 0 || called > all*3/4 {
		t.Errorf("%d calls of %d", called, all)
	}
}

// A page belongs to one worker at a time, and there are few of them.
func TestReplayReusesPages(t *testing.T) {
	const workers = 2
	made, batches := 0, 0
	var c collector
	p := plan(copies(manyCopies))
	p.Workers = workers
	_, err := eval.Replay(t.Context(), p, func() *page { made++; return new(page) }, (*page).add, func(p *page) error {
		batches++
		return c.deliver(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	if made != 2*workers || batches <= made {
		t.Errorf("%d pages for %d batches, want %d for more", made, batches, 2*workers)
	}
	if len(c.pairs) != 11*manyCopies {
		t.Errorf("%d pairs, want %d", len(c.pairs), 11*manyCopies)
	}
}

func TestReplayTellsProgress(t *testing.T) {
	var done []int
	p := plan(copies(manyCopies))
	p.Progress = func(n int) { done = append(done, n) }
	replay(t, p)
	if len(done) < 2 || !slices.IsSorted(done) || done[len(done)-1] != 11*manyCopies {
		t.Errorf("progress = %v", done)
	}
}

// Replay lets go of the source it was reading when it gave up.
func TestReplayClosesTheSource(t *testing.T) {
	for name, broken := range map[string]bool{"at the end": false, "in the middle": true} {
		t.Run(name, func(t *testing.T) {
			source := &closing{Reader: bytes.NewReader(copies(manyCopies))}
			p := plan(nil)
			p.Workers = 1
			p.Cases = dataset.Open(dataset.Source{Name: "a", Path: "a", Open: func() (io.ReadCloser, error) { return source, nil }})
			if broken {
				p.Candidate = &script{open: func(context.Context) error { return errBoom }}
			}
			_, err := eval.Replay(t.Context(), p, newPage, (*page).add, new(collector).deliver)
			if (err != nil) != broken {
				t.Errorf("error = %v", err)
			}
			if source.closed != 1 {
				t.Errorf("closed %d times", source.closed)
			}
		})
	}
}

type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }
