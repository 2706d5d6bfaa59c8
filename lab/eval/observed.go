package eval

import (
	"context"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// callObserved makes one call a proposal, in order, and looks after each at what
// changed. A session over a backend that is not the lab's own knows nothing of
// stages.
func callObserved(ctx context.Context, session tool.Observed, run *Run, proposals []dataset.Proposal) error {
	for i := range proposals {
		step, err := observedStep(ctx, session, run.Case, &proposals[i])
		if err != nil {
			return err
		}
		run.Steps = append(run.Steps, step)
		run.SideEffects += step.SideEffects
	}
	late, err := session.Settle(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Nobody can say which call it was; the last one is the one that is graded.
	last := run.Last()
	last.Effects = append(last.Effects, late...)
	last.SideEffects += len(late)
	run.SideEffects += len(late)
	return nil
}

func observedStep(ctx context.Context, session tool.Observed, c *dataset.Case, proposal *dataset.Proposal) (Step, error) {
	none := []tool.Effect{}
	p, refusal := read(proposal)
	if refusal != nil {
		step := malformedStep(refusal)
		step.Effects = none
		return step, nil
	}
	result := session.Call(ctx, tool.Call{Proposal: p, Caller: caller(c, proposal), Approved: c.Approved})
	if err := ctx.Err(); err != nil {
		return Step{}, err
	}
	if err := session.Lost(); err != nil {
		return Step{}, err
	}
	effects, err := session.Observe(ctx)
	if err != nil {
		return Step{}, err
	}
	if err := ctx.Err(); err != nil {
		return Step{}, err
	}
	settle(&result)
	return Step{Result: result, SideEffects: len(effects), Effects: append(none, effects...)}, nil
}

// Observed reports whether the step was made on a backend that is looked at.
func (s *Step) Observed() bool { return s.Effects != nil }
