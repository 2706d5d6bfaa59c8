package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// Plan says what is replayed on what.
type Plan struct {
	Cases     *dataset.Reader
	Baseline  tool.Surface // nil: the candidate is replayed alone
	Candidate tool.Surface
	// Select, where set, says which cases are replayed; Selection is how it
	// was asked for.
	Select    func(id string) bool
	Selection []string
	// Shard, where set, is the part of them that is replayed. The others are read and
	// checked all the same.
	Shard *Shard
	// Repeat is how often each case is replayed on each surface; 0 and 1 are once.
	Repeat  int
	Workers int // that replay at once; 0 stands for one a core
	// Started, where set, is told before the first case what is compared.
	Started func(*Comparison) error
	// Progress, where set, is told now and then how many cases are done.
	Progress func(done int)
}

// Pair is a case on both surfaces. The runs of a todo case were not played.
type Pair struct {
	Case      *dataset.Case
	Baseline  *Run // nil where the candidate is replayed alone
	Candidate Run
	Source    int    // the index of the source that the case stands in
	File      string // the name of it
	Line      int    // of it, counted from 1
}

// Runs are those of the pair, that on the baseline first, where there is one.
func (p *Pair) Runs() []*Run {
	if p.Baseline == nil {
		return []*Run{&p.Candidate}
	}
	return []*Run{p.Baseline, &p.Candidate}
}

// ErrNoCase is the error of a selection that no case satisfies.
var ErrNoCase = errors.New("no case is selected")

// ErrOnlyTodo is the error of a selection in which no case is ready.
var ErrOnlyTodo = errors.New("every selected case is still a todo: say in it what must come of its calls, and take its todo away")

// Replay runs every case on both surfaces, or on the candidate alone, each on a
// fresh backend, and returns their comparison. A run whose backend is a
// [tool.Unavailable] could not run, and all others go on.
//
// The runs are streamed: render is called by several goroutines, each with a
// page of its own that came from newPage, a case at a time; deliver is called
// by one goroutine with the pages in dataset order, and a page is used again
// after it. What deliver has been given counts for nothing if Replay returns
// an error: a dataset shows its last fault only at its end.
//
// Errors: an [*dataset.Invalid] for a dataset with faults, [ErrNoCase],
// [ErrOnlyTodo], the error of ctx, of deliver, or of a surface in any other
// trouble.
func Replay[Page any](ctx context.Context, plan Plan, newPage func() Page, render func(Page, *Pair), deliver func(Page) error) (*Comparison, error) {
	defer plan.Cases.Close()
	comparison, err := newComparison(plan)
	if err == nil && plan.Started != nil {
		err = plan.Started(comparison)
	}
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
	if err := anyCase(r.ready, r.todo); err != nil {
		return nil, err
	}
	if err := comparison.Finish(plan.Cases.SHA256()); err != nil {
		return nil, err
	}
	return comparison, nil
}

func newComparison(plan Plan) (*Comparison, error) {
	c := &Comparison{Dataset: Dataset{Name: plan.Cases.Name(), Selection: plan.Selection, Shard: plan.Shard}}
	if files := plan.Cases.Files(); len(files) > 1 {
		c.Dataset.Files = files
	}
	if plan.Repeat > 1 {
		c.Repeat = plan.Repeat
	}
	compared := ""
	if plan.Baseline != nil {
		compared = plan.Baseline.Name()
		baseline, err := newSummary(plan.Baseline)
		if err != nil {
			return nil, err
		}
		c.Baseline = &baseline
	}
	var err error
	if c.Candidate, err = newSummary(plan.Candidate); err != nil {
		return nil, err
	}
	plan.Cases.Replay(compared, plan.Candidate.Name())
	return c, nil
}

func newSummary(surface tool.Surface) (Summary, error) {
	catalog, err := tool.Catalog(surface.Definitions())
	if err != nil {
		return Summary{}, fmt.Errorf("%s: %w", surface.Name(), err)
	}
	s := Summary{Strategy: surface.Name(), ModelSchemaBytes: len(catalog)}
	for _, d := range surface.Definitions() {
		alone, err := tool.Catalog([]tool.Definition{d})
		if err != nil {
			return Summary{}, fmt.Errorf("%s: %w", surface.Name(), err)
		}
		size := ToolSize{Name: d.Name, Bytes: len(alone) - len("[]")}
		if versioned, ok := surface.(tool.Versioned); ok {
			size.Version = versioned.ToolVersion(d.Name)
		}
		s.Tools = append(s.Tools, size)
	}
	slices.SortFunc(s.Tools, func(a, b ToolSize) int { return cmp.Compare(a.Name, b.Name) })
	if foreign, ok := surface.(tool.Foreign); ok {
		s.Foreign, s.Blind = true, foreign.Blind()
		if foreign.Down() != nil {
			s.ModelSchemaBytes, s.CatalogUnknown = 0, true
		}
	}
	return s, nil
}

type replay[Page any] struct {
	plan   Plan
	render func(Page, *Pair)
	pages  chan Page
	faulty atomic.Bool // the dataset has a fault: nothing more is run

	ready, todo int // selected cases, in whatever shard
}

// job is a batch of cases on its way from the reader to the collector.
type job[Page any] struct {
	batch   dataset.Batch
	page    Page
	done    chan struct{}
	decoded dataset.Decoded
	tally   tally
	err     error
	// elsewhere are the cases that are selected and fall to other shards.
	elsewhere struct{ ready, todo int }
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
		if shard := r.plan.Shard; shard != nil && !shard.Has(line.Case.ID) {
			if line.Case.Todo == "" {
				j.elsewhere.ready++
			} else {
				j.elsewhere.todo++
			}
			continue
		}
		pair, err := r.play(ctx, line.Case)
		if err != nil {
			j.err = err
			return
		}
		pair.Source, pair.File, pair.Line = j.batch.Source(), j.batch.Name(), line.Number
		j.tally.count(pair)
		r.render(j.page, pair)
	}
}

func (r *replay[Page]) play(ctx context.Context, c *dataset.Case) (*Pair, error) {
	asked := ask(&c.Expected)
	// One allocation holds a pair and both its runs.
	held := &struct {
		Pair
		baseline Run
	}{Pair: Pair{Case: c}}
	pair := &held.Pair
	if r.plan.Baseline != nil {
		var err error
		if held.baseline, err = playRepeated(ctx, r.plan.Baseline, c, c.Baseline, asked, r.plan.Repeat); err != nil {
			return nil, err
		}
		pair.Baseline = &held.baseline
	}
	var err error
	if pair.Candidate, err = playRepeated(ctx, r.plan.Candidate, c, c.Candidate, asked, r.plan.Repeat); err != nil {
		return nil, err
	}
	return pair, nil
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
			c.add(&j.tally)
			r.ready += j.tally.cases + j.elsewhere.ready
			r.todo += j.tally.todo + j.elsewhere.todo
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
