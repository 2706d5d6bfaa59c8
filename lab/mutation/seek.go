package mutation

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"agentlab/lab/dataset"
)

// Seek looks for a case that would kill each of some mutants: the first of those
// given that passes on the surface itself and not on the mutant, by its index. A
// mutant that none of them kills is not in the answer, and one that the surface does
// not have is an error. Every case has the [DefaultTimeout]; one that does not end
// on a mutant kills it.
func Seek(ctx context.Context, subject Subject, wanted []Mutant, cases []*dataset.Case) (map[string]int, error) {
	all, err := mutants(ctx, subject)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*mutant, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	s := seeker{subject: subject, cases: cases, passes: make([]func() (bool, error), len(cases))}
	for i, c := range cases {
		s.passes[i] = sync.OnceValues(func() (bool, error) {
			p, err := play(ctx, subject, c, DefaultTimeout)
			return err == nil && p.grader == "" && p.run.Ran() && p.run.Passed, err
		})
	}
	first := make([]int, len(wanted))
	err = each(ctx, runtime.GOMAXPROCS(0), len(wanted), func(ctx context.Context, i int) (err error) {
		m := byID[wanted[i].ID]
		if m == nil {
			return fmt.Errorf("%s has no mutant %s", subject.Name(), wanted[i].ID)
		}
		if first[i], err = s.seek(ctx, m); err != nil {
			return fmt.Errorf("mutant %s: %w", m.ID, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := make(map[string]int)
	for i, at := range first {
		if at >= 0 {
			found[wanted[i].ID] = at
		}
	}
	return found, nil
}

type seeker struct {
	subject Subject
	cases   []*dataset.Case
	passes  []func() (bool, error) // on the surface itself, played once
}

// seek is the index of the first case that kills a mutant, or -1.
func (s *seeker) seek(ctx context.Context, m *mutant) (int, error) {
	surface, err := s.subject.Vary(m.weaker)
	if err != nil {
		return -1, nil // it is refused, and needs no case
	}
	for i, c := range s.cases {
		p, err := play(ctx, surface, c, DefaultTimeout)
		if err != nil {
			return -1, err
		}
		if c.Todo != "" || len(p.failed()) == 0 {
			continue
		}
		passes, err := s.passes[i]()
		if err != nil {
			return -1, err
		}
		if passes {
			return i, nil
		}
		if p.grader == graderTimeout {
			return -1, nil // every further case could take as long
		}
	}
	return -1, nil
}
