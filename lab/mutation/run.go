package mutation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// Plan says what is replayed on what.
type Plan struct {
	Subject Subject
	// Cases are those that should notice. Their Candidate proposals are replayed.
	Cases   []*dataset.Case
	Waivers []Waiver
	// Select are patterns of ids, in which * stands for anything; a mutant is looked at
	// where it is of one of them. None stands for every mutant.
	Select  []string
	Workers int  // mutants at once; 0 stands for one a core
	Full    bool // every case on every mutant, also when one has noticed
	// Timeout is how long a case may take on a mutant, on the wall clock; 0 stands for
	// [DefaultTimeout].
	Timeout time.Duration
	// Progress, where set, is told how many mutants are done. It is called by several
	// goroutines.
	Progress func(done, of int)
}

// DefaultTimeout is how long a case may take on a mutant.
const DefaultTimeout = 10 * time.Second

// grace is how long one that was told to end may take to do so.
const grace = time.Second

var (
	// ErrNoMutant is the error of a pattern that no mutant is of, and of a surface of
	// which there is none.
	ErrNoMutant = errors.New("there is no such mutant")
	// ErrNoCase is the error where no case passes on the surface itself.
	ErrNoCase = errors.New("no case passes on the surface itself, so none can notice a mutant")
)

// What stands in the place of graders where there are no grades.
const (
	graderPanic       = "panic"
	graderTimeout     = "timeout"
	graderUnavailable = "could not run"
)

// Run replays the cases on the surface itself and then, those that pass there, on
// one mutant after the other.
//
// A mutant's cases are tried in one fixed order, first those that reach what is
// weakened, and but for a full run the first that notices ends it. A case that does
// not end is the last that is tried, in a full run too.
//
// Errors: [ErrNoMutant], [ErrNoCase], the error of ctx, or of a surface in trouble,
// which says on which mutant.
func Run(ctx context.Context, plan Plan) (*Matrix, error) {
	all, err := mutants(ctx, plan.Subject)
	if err != nil {
		return nil, err
	}
	chosen, err := chosen(plan.Select, all)
	if err != nil {
		return nil, err
	}
	r := &runner{Plan: plan}
	if r.Timeout <= 0 {
		r.Timeout = DefaultTimeout
	}
	if r.Workers <= 0 {
		r.Workers = runtime.GOMAXPROCS(0)
	}
	matrix := &Matrix{Surface: plan.Subject.Name(), Full: plan.Full}
	if err := r.unweakened(ctx, matrix); err != nil {
		return nil, err
	}
	matrix.Outcomes = make([]Outcome, len(chosen))
	var done atomic.Int64
	err = each(ctx, r.Workers, len(chosen), func(ctx context.Context, i int) (err error) {
		matrix.Outcomes[i], err = r.outcome(ctx, &chosen[i])
		if err == nil && plan.Progress != nil {
			plan.Progress(int(done.Add(1)), len(chosen))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	matrix.waive(plan.Waivers, all)
	matrix.count()
	return matrix, nil
}

type runner struct {
	Plan
	cases []able // that pass on the surface itself, in their order
}

// able is a case that can notice a mutant, and what it reaches on the surface itself.
type able struct {
	*dataset.Case
	reaches map[reached]bool
}

// unweakened replays the cases on the surface itself.
func (r *runner) unweakened(ctx context.Context, matrix *Matrix) error {
	cases := make([]*able, len(r.Cases))
	err := each(ctx, r.Workers, len(r.Cases), func(ctx context.Context, i int) error {
		p, err := play(ctx, r.Subject, r.Cases[i], r.Timeout)
		if err != nil {
			return err
		}
		if p.grader == "" && p.run.Ran() && p.run.Passed {
			cases[i] = &able{r.Cases[i], reach(&p.run, r.Cases[i].Candidate)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, c := range cases {
		if c == nil {
			matrix.LeftOut = append(matrix.LeftOut, r.Cases[i].ID)
			continue
		}
		matrix.Cases = append(matrix.Cases, c.ID)
		r.cases = append(r.cases, *c)
	}
	if len(r.cases) == 0 {
		return ErrNoCase
	}
	return nil
}

func (r *runner) outcome(ctx context.Context, m *mutant) (Outcome, error) {
	o := Outcome{Mutant: m.Mutant, Kills: []Kill{}}
	weakened := reached{m.Control, m.Tool}
	var order, others []int
	for i := range r.cases {
		if r.cases[i].reaches[weakened] {
			order = append(order, i)
		} else {
			others = append(others, i)
		}
	}
	o.Reached = len(order)
	surface, err := r.Subject.Vary(m.weaker)
	if err != nil {
		o.Status = Refused
		return o, nil
	}
	killed := make([]*Kill, len(r.cases))
	for _, i := range append(order, others...) {
		c := r.cases[i].Case
		p, err := play(ctx, surface, c, r.Timeout)
		if err != nil {
			return o, fmt.Errorf("mutant %s: %w", m.ID, err)
		}
		if graders := p.failed(); len(graders) > 0 {
			killed[i] = &Kill{c.ID, graders}
			o.Status = Killed
		}
		if p.grader == graderTimeout {
			if !slices.ContainsFunc(killed, func(k *Kill) bool { return k != nil && k.Case != c.ID }) {
				o.Status = TimedOut
			}
			break
		}
		if o.Status == Killed && !r.Full {
			break
		}
	}
	for _, k := range killed {
		if k != nil {
			o.Kills = append(o.Kills, *k)
		}
	}
	switch {
	case o.Status != "":
	case o.Reached == 0:
		o.Status = NoCoverage
	default:
		o.Status = Survived
	}
	return o, nil
}

// played is one case on one surface.
type played struct {
	run    eval.Run
	grader string // what stands in the place of grades; empty where there are some
}

// failed are the graders that do not pass.
func (p *played) failed() []string {
	if p.grader != "" {
		return []string{p.grader}
	}
	var failed []string
	for _, g := range p.run.Grades {
		if !g.Passed {
			failed = append(failed, g.Name)
		}
	}
	return failed
}

// play plays one case. A panic is contained, and a case that does not end is left
// alone: its goroutine ends when it looks at its context.
func play(ctx context.Context, surface tool.Surface, c *dataset.Case, limit time.Duration) (played, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		run      eval.Run
		err      error
		panicked bool
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if cause := recover(); cause != nil {
				a = answer{err: fmt.Errorf("panic: %v\n%s", cause, debug.Stack()), panicked: true}
			}
			answers <- a
		}()
		a.run, a.err = eval.Play(bounded, surface, c, c.Candidate)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-bounded.Done():
		select {
		case a = <-answers:
		case <-time.After(grace):
			a.err = bounded.Err()
		}
	}
	switch {
	case ctx.Err() != nil:
		return played{}, ctx.Err()
	case a.panicked:
		return played{grader: graderPanic}, nil
	case a.err != nil && bounded.Err() != nil:
		return played{grader: graderTimeout}, nil
	case a.err != nil:
		return played{}, a.err
	case a.run.Unavailable != nil:
		return played{grader: graderUnavailable}, nil
	}
	return played{run: a.run}, nil
}

// each does something for each of n things, so many at once. The error is the first
// of those that there are, by the order of the things.
func each(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if errs[i] = do(ctx, i); errs[i] != nil {
					cancel()
					return
				}
			}
		})
	}
	group.Wait()
	var interrupted error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			interrupted = err // by another one's error, or by who asked
		default:
			return err
		}
	}
	if interrupted == nil {
		interrupted = ctx.Err()
	}
	return interrupted
}
