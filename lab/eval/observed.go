package eval

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// outside plays a case on a session over a backend that is not the lab's own, on
// the real clock. What the case arranges is known to a session that is
// [tool.Supervised] too, because the lab's own controls stand before the server;
// any other knows nothing of it. What is to go wrong behind a call is known to
// neither.
type outside struct {
	session   tool.Observed
	run       *Run
	proposals []dataset.Proposal

	arranged *arranged // nil where nothing is, or where nobody can be told of it
	toCome   []int     // approvals, in the order of their time
	at       time.Duration
	// Nothing waits for the time of a proposal: the time of the case is so far ahead
	// of the clock.
	ahead time.Duration
}

// proposed is a proposal that is about to be made.
type proposed struct {
	index   int
	call    tool.Call
	refused *tool.Error // why it could not be read, or nil
}

// callObserved makes the calls of the proposals, and looks at what changed.
func callObserved(ctx context.Context, session tool.Observed, run *Run, proposals []dataset.Proposal) error {
	o := outside{session: session, run: run, proposals: proposals}
	stage := run.Case.Stage
	if supervised, ok := session.(tool.Supervised); ok && stage != nil {
		a := arrange(supervised, run.Case, proposals)
		o.arranged = &a
		for i := range stage.Approvals {
			o.toCome = append(o.toCome, i)
		}
		slices.SortStableFunc(o.toCome, func(i, j int) int { return cmp.Compare(stage.Approvals[i].At, stage.Approvals[j].At) })
	}
	play := o.inOrder
	if stage != nil && stage.Parallel {
		play = o.atOnce
	}
	if err := play(ctx); err != nil {
		return err
	}
	if o.arranged != nil {
		run.Unshown = unshown(o.arranged.unshown)
	}
	late, err := session.Settle(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Nobody can say which call it was; the last one is the one that is graded.
	run.Last().changed(late)
	run.SideEffects += len(late)
	return nil
}

// inOrder makes one call after the other, and looks after each at what changed.
func (o *outside) inOrder(ctx context.Context) error {
	for i := range o.proposals {
		step, err := o.play(ctx, o.prepare(ctx, i), o.look)
		if err != nil {
			return err
		}
		o.run.Steps = append(o.run.Steps, step)
		o.run.SideEffects += step.SideEffects
	}
	return nil
}

// atOnce makes all calls at the same time, and looks when all have ended. Whose
// effects those are nobody can say: they are the last one's, which is graded.
func (o *outside) atOnce(ctx context.Context) error {
	prepared := make([]proposed, len(o.proposals))
	for i := range prepared {
		prepared[i] = o.prepare(ctx, i)
	}
	steps, errs := make([]Step, len(prepared)), make([]error, len(prepared))
	causes := make([]any, len(prepared))
	var ready, group sync.WaitGroup
	ready.Add(len(prepared))
	for i := range prepared {
		group.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					causes[i] = fmt.Sprintf("%v\n%s", cause, debug.Stack())
				}
			}()
			ready.Done()
			ready.Wait()
			steps[i], errs[i] = o.play(ctx, prepared[i], func(context.Context, *Step) error { return nil })
		})
	}
	group.Wait()
	for _, cause := range causes {
		if cause != nil {
			panic(cause) // on the goroutine of the case, which is prepared for it
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if err := o.ended(ctx); err != nil {
		return err
	}
	if err := o.look(ctx, &steps[len(steps)-1]); err != nil {
		return err
	}
	o.run.Steps = steps
	o.run.SideEffects = o.run.Last().SideEffects
	return nil
}

// prepare shows what is to be approved before a proposal, and returns it with the
// grants that there are then.
func (o *outside) prepare(ctx context.Context, index int) proposed {
	proposal := &o.proposals[index]
	if o.arranged == nil {
		p, refusal := ReadProposal(proposal)
		return proposed{index, tool.Call{Proposal: p, Caller: caller(o.run.Case, proposal), Approved: o.run.Case.Approved}, refusal}
	}
	a := o.arranged
	if proposal.Setting != nil && proposal.At != nil {
		o.at = *proposal.At
	}
	for len(o.toCome) > 0 && o.run.Case.Stage.Approvals[o.toCome[0]].At <= o.at {
		a.approve(ctx, o.toCome[0])
		o.toCome = o.toCome[1:]
	}
	if a.refused[index] != nil {
		return proposed{index: index, refused: a.refused[index]}
	}
	// The grants are as old as the case says, or older.
	o.ahead = max(o.ahead, o.at-a.session.Now().Sub(a.start))
	call := a.call(index)
	for i := range call.Grants {
		grant := &call.Grants[i]
		grant.IssuedAt, grant.ExpiresAt = grant.IssuedAt.Add(-o.ahead), grant.ExpiresAt.Add(-o.ahead)
	}
	return proposed{index: index, call: call}
}

// play makes a call, and what further attempts the session advises, and looks
// after each. It is called by several goroutines.
func (o *outside) play(ctx context.Context, p proposed, look func(context.Context, *Step) error) (Step, error) {
	var step Step
	if p.refused != nil {
		if step = malformedStep(p.refused); o.arranged != nil {
			step = o.arranged.unread(ctx, p.index)
		}
		step.changed(nil)
		return step, nil
	}
	for attempts := 1; ; attempts++ {
		result := o.session.Call(ctx, p.call)
		if err := o.ended(ctx); err != nil {
			return Step{}, err
		}
		step.changed(nil)
		if err := look(ctx, &step); err != nil {
			return Step{}, err
		}
		settle(&result)
		step.Result = result
		if o.arranged == nil || !o.run.Case.Stage.Recover {
			return step, nil
		}
		next, again := o.arranged.next(p.call, result, attempts)
		step.Attempts = append(step.Attempts, Attempt{result, next})
		if !again {
			return step, nil
		}
		if err := wait(ctx, next.Wait); err != nil {
			return Step{}, err
		}
	}
}

// ended is why the case cannot go on, or nil.
func (o *outside) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.session.Lost()
}

// look counts to a step what has changed since the last look.
func (o *outside) look(ctx context.Context, step *Step) error {
	effects, err := o.session.Observe(ctx)
	if err != nil {
		return err
	}
	step.changed(effects)
	return ctx.Err()
}

// changed adds effects that were seen. The step is then one on a backend that is
// looked at, whether there are any or not.
func (s *Step) changed(effects []tool.Effect) {
	if s.Effects == nil {
		s.Effects = []tool.Effect{}
	}
	s.Effects = append(s.Effects, effects...)
	s.SideEffects += len(effects)
}

func wait(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// governed reports whether the lab's own controls decided on a call to a backend
// that is not its own.
func (s *Step) governed() bool { return s.Observed() && len(s.Trace.Decisions) > 0 }

// Observed reports whether the step was made on a backend that is looked at.
func (s *Step) Observed() bool { return s.Effects != nil }
