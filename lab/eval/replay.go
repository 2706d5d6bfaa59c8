package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// Plan says what is replayed on what.
type Plan struct {
	Cases     *dataset.Reader
	Baseline  tool.Surface
	Candidate tool.Surface
	// Select, where set, says which cases are replayed; Selection is how it
	// was asked for.
	Select    func(id string) bool
	Selection []string
	Workers   int // that replay at once; 0 stands for one a core
	// Progress, where set, is told now and then how many cases are done.
	Progress func(done int)
}

// Pair is a case on both surfaces.
type Pair struct {
	Case      *dataset.Case
	Baseline  Run
	Candidate Run
}

// ErrNoCase is the error of a selection that no case satisfies.
var ErrNoCase = errors.New("no case is selected")

// Replay runs every case on both surfaces, each on a fresh backend, and
// returns their comparison.
//
// The runs are streamed: render is called by several goroutines, each with a
// page of its own that came from newPage, a case at a time; deliver is called
// by one goroutine with the pages in dataset order, and a page is used again
// after it. What deliver has been given counts for nothing if Replay returns
// an error: a dataset shows its last fault only at its end.
//
// Errors: an [*dataset.Invalid] for a dataset with faults, [ErrNoCase], the
// error of ctx, of deliver, or of a surface that could not run.
func Replay[Page any](ctx context.Context, plan Plan, newPage func() Page, render func(Page, *Pair), deliver func(Page) error) (*Comparison, error) {
	defer plan.Cases.Close()
	comparison, err := newComparison(plan)
	if err != nil {
		return nil, err
	}
	workers := plan.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	r := &replay[Page]{plan: plan, render: render, pages: make(chan Page, 2*workers)}
	for range cap(r.pages) {
		r.pages <- newPage()
	}
	// Jobs are handed to workers and to the collector in the same order. The
	// pages bound how many of them are under way.
	todo := make(chan *job[Page])
	inOrder := make(chan *job[Page], cap(r.pages))
	var readErr error
	var group sync.WaitGroup
	group.Go(func() {
		defer close(todo)
		defer close(inOrder)
		readErr = r.read(ctx, todo, inOrder)
	})
	for range workers {
		group.Go(func() {
			for j := range todo {
				r.work(ctx, j)
				close(j.done)
			}
		})
	}
	ledger := dataset.NewLedger(plan.Cases)
	err = r.collect(inOrder, ledger, comparison, deliver)
	cancel()
	group.Wait()
	switch {
	case err != nil:
		return nil, err
	case readErr != nil:
		// What was wrong with the lines before is told all the same.
		return nil, errors.Join(ledger.Close(), readErr)
	}
	if err := ledger.Close(); err != nil {
		return nil, err
	}
	if comparison.Dataset.Cases == 0 {
		return nil, ErrNoCase
	}
	comparison.tellOperations()
	comparison.Dataset.SHA256 = plan.Cases.SHA256()
	comparison.judge()
	return comparison, nil
}

func newComparison(plan Plan) (*Comparison, error) {
	baseline, err := newSummary(plan.Baseline)
	if err != nil {
		return nil, err
	}
	candidate, err := newSummary(plan.Candidate)
	if err != nil {
		return nil, err
	}
	return &Comparison{
		Dataset:   Dataset{Name: plan.Cases.Name(), Selection: plan.Selection},
		Baseline:  baseline,
		Candidate: candidate,
	}, nil
}

func newSummary(surface tool.Surface) (Summary, error) {
	catalog, err := tool.Catalog(surface.Definitions())
	if err != nil {
		return Summary{}, fmt.Errorf("%s: %w", surface.Name(), err)
	}
	return Summary{Strategy: surface.Name(), ModelSchemaBytes: len(catalog)}, nil
}

type replay[Page any] struct {
	plan   Plan
	render func(Page, *Pair)
	pages  chan Page
	faulty atomic.Bool // the dataset has a fault: nothing more is run
}

// job is a batch of cases on its way from the reader to the collector.
type job[Page any] struct {
	batch   dataset.Batch
	page    Page
	done    chan struct{}
	decoded dataset.Decoded
	tally   tally
	err     error
}

// tally is what the cases of one batch add to the comparison.
type tally struct {
	baseline, candidate       Summary
	improvements, regressions []string
	operations                operations
}

func (r *replay[Page]) read(ctx context.Context, todo, inOrder chan<- *job[Page]) error {
	for {
		var page Page
		select {
		case page = <-r.pages:
		case <-ctx.Done():
			return ctx.Err()
		}
		batch, err := r.plan.Cases.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		j := &job[Page]{batch: batch, page: page, done: make(chan struct{})}
		inOrder <- j
		todo <- j
	}
}

// work decodes and replays one batch.
func (r *replay[Page]) work(ctx context.Context, j *job[Page]) {
	defer func() {
		if cause := recover(); cause != nil {
			j.err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	j.decoded = j.batch.Decode()
	if j.decoded.Total > 0 {
		r.faulty.Store(true)
	}
	for _, line := range j.decoded.Lines {
		if r.faulty.Load() {
			return
		}
		if r.plan.Select != nil && !r.plan.Select(line.Case.ID) {
			continue
		}
		pair, err := r.play(ctx, line.Case)
		if err != nil {
			j.err = err
			return
		}
		j.tally.count(pair)
		r.render(j.page, pair)
	}
}

func (r *replay[Page]) play(ctx context.Context, c *dataset.Case) (*Pair, error) {
	asked := ask(&c.Expected)
	baseline, err := play(ctx, r.plan.Baseline, c, c.Baseline, asked)
	if err != nil {
		return nil, err
	}
	candidate, err := play(ctx, r.plan.Candidate, c, c.Candidate, asked)
	if err != nil {
		return nil, err
	}
	return &Pair{c, baseline, candidate}, nil
}

func (t *tally) count(pair *Pair) {
	t.baseline.count(&pair.Baseline)
	t.candidate.count(&pair.Candidate)
	t.operations.count(pair)
	switch {
	case pair.Candidate.Passed && !pair.Baseline.Passed:
		t.improvements = append(t.improvements, pair.Case.ID)
	case pair.Baseline.Passed && !pair.Candidate.Passed:
		t.regressions = append(t.regressions, pair.Case.ID)
	}
}

// collect takes the jobs in order, adds up their tallies and delivers their
// pages. After the first fault of the dataset it only looks for more.
func (r *replay[Page]) collect(inOrder <-chan *job[Page], ledger *dataset.Ledger, c *Comparison, deliver func(Page) error) error {
	for j := range inOrder {
		<-j.done
		if j.err != nil {
			return j.err
		}
		if !ledger.Record(j.decoded) {
			r.faulty.Store(true)
		} else {
			c.Baseline.add(j.tally.baseline)
			c.Candidate.add(j.tally.candidate)
			c.operations.add(&j.tally.operations)
			c.Dataset.Cases = c.Candidate.TotalCases
			for _, id := range j.tally.improvements {
				c.Improvements.Add(id)
			}
			for _, id := range j.tally.regressions {
				c.Regressions.Add(id)
			}
			if err := deliver(j.page); err != nil {
				return err
			}
			if r.plan.Progress != nil {
				r.plan.Progress(c.Dataset.Cases)
			}
		}
		r.pages <- j.page
	}
	return nil
}
