package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentlab/lab/dataset"
	"agentlab/lab/proposal"
	"agentlab/lab/tool"
)

// caller is who makes a proposal of a case.
func caller(c *dataset.Case, p *dataset.Proposal) tool.Caller {
	switch {
	case p != nil && p.Setting != nil && p.Caller != nil:
		return *p.Caller
	case c.Stage != nil && c.Stage.Caller != nil:
		return *c.Stage.Caller
	}
	return tool.Caller{ID: ActorID, Permissions: c.Permissions}
}

// ReadProposal returns the call that a proposal of a case is. A model's output must
// hold exactly one: with two, which of them a step is graded for is not said.
func ReadProposal(p *dataset.Proposal) (tool.Proposal, *tool.Error) {
	if p.Setting == nil || p.Raw == nil {
		return tool.Proposal{Name: p.Name, Arguments: p.Arguments}, nil
	}
	var proposals []tool.Proposal
	var err error
	if p.Format == "" {
		proposals, err = proposal.Read([]byte(*p.Raw))
	} else {
		proposals, err = proposal.ReadAs(proposal.Format(p.Format), []byte(*p.Raw))
	}
	var malformed *proposal.Malformed
	switch {
	case errors.As(err, &malformed):
		return tool.Proposal{}, unreadable(malformed.Offset, malformed.Reason)
	case err != nil:
		return tool.Proposal{}, unreadable(0, err.Error())
	case len(proposals) != 1:
		return tool.Proposal{}, unreadable(0, fmt.Sprintf("%d calls, where a step is one", len(proposals)))
	}
	return proposals[0], nil
}

func unreadable(offset int, reason string) *tool.Error {
	return tool.Refusal(tool.MalformedProposal, struct {
		Offset int    `json:"offset"`
		Reason string `json:"reason"`
	}{offset, reason}, "The output of the model is not one well-formed call.")
}

// malformedStep is what becomes of a proposal that could not be read: no call
// is made, and no control but the budget is asked.
func malformedStep(refusal *tool.Error) Step {
	return Step{Result: tool.Result{Error: refusal}, Malformed: true}
}

// callInOrder makes one call a proposal: of a case that arranges nothing, or on
// a session that knows nothing of stages.
func callInOrder(ctx context.Context, session tool.Session, run *Run, proposals []dataset.Proposal) error {
	before := session.Effects()
	for i := range proposals {
		p, refusal := ReadProposal(&proposals[i])
		if refusal != nil {
			run.Steps[i] = malformedStep(refusal)
			continue
		}
		result := session.Call(ctx, tool.Call{Proposal: p, Caller: caller(run.Case, &proposals[i]), Approved: run.Case.Approved})
		if err := ctx.Err(); err != nil {
			return err
		}
		settle(&result)
		after := session.Effects()
		run.Steps[i] = Step{Result: result, SideEffects: after - before}
		run.SideEffects += after - before
		before = after
	}
	return nil
}

// event is something that happens at a time: an approval, or an attempt of a
// proposal.
type event struct {
	at       time.Duration
	attempt  bool // approvals come first: a call brings every grant of its time
	index    int  // of the approval or the proposal
	attempts int  // made before
}

func (e event) compare(o event) int {
	attempt := func(e event) int {
		if e.attempt {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(attempt(e), attempt(o)), cmp.Compare(e.index, o.index))
}

// timeline plays a case on the simulated clock of a session: whatever is to
// happen, in the order of its time.
type timeline struct {
	arranged
	session tool.Staged
	run     *Run
	effects int
	pending []event // in their order
}

func stage(ctx context.Context, session tool.Staged, run *Run, proposals []dataset.Proposal) error {
	t := timeline{arranged: arrange(session, run.Case, proposals), session: session, run: run, effects: session.Effects()}
	t.plan()
	for len(t.pending) > 0 {
		first := t.pending[0]
		t.pending = t.pending[1:]
		session.SetTime(first.at)
		if first.attempt {
			t.attempt(ctx, first)
		} else {
			t.approve(ctx, first.index)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	run.Unshown = unshown(t.unshown)
	var ok [2]bool
	run.State, ok[0] = compact(session.State())
	run.Receipts, ok[1] = compact(session.Receipts())
	if !ok[0] || !ok[1] {
		return errors.New("the state or the receipts are not one JSON document")
	}
	return nil
}

// plan enters what has its time from the beginning. All other proposals start
// when the one before them has ended.
func (t *timeline) plan() {
	for i, a := range t.run.Case.Stage.Approvals {
		t.pending = append(t.pending, event{at: a.At, index: i})
	}
	var latest time.Duration
	for i := range t.proposals {
		setting := t.proposals[i].Setting
		switch {
		case setting != nil && setting.At != nil:
			latest = *setting.At
		case i > 0 && !t.run.Case.Stage.Parallel:
			continue
		}
		t.pending = append(t.pending, event{at: latest, attempt: true, index: i})
	}
	slices.SortFunc(t.pending, event.compare)
}

func (t *timeline) enter(e event) {
	i, _ := slices.BinarySearchFunc(t.pending, e, event.compare)
	t.pending = slices.Insert(t.pending, i, e)
}

// attempt makes a call, and enters what follows from it: the next attempt, or
// the next proposal.
func (t *timeline) attempt(ctx context.Context, e event) {
	step := &t.run.Steps[e.index]
	if t.refused[e.index] != nil {
		*step = t.unread(ctx, e.index)
		t.ended(e.index, e.at)
		return
	}
	call := t.call(e.index)
	result := t.make(ctx, call, e)
	settle(&result)
	after := t.session.Effects()
	step.Result = result
	step.SideEffects += after - t.effects
	t.run.SideEffects += after - t.effects
	t.effects = after

	end := e.at + max(result.Took, 0)
	if !t.run.Case.Stage.Recover {
		t.ended(e.index, end)
		return
	}
	next, again := t.next(call, result, e.attempts+1)
	step.Attempts = append(step.Attempts, Attempt{result, next})
	if again {
		t.enter(event{end + next.Wait, true, e.index, e.attempts + 1})
		return
	}
	t.ended(e.index, end)
}

// make makes the call. What goes wrong does so behind the first attempt.
func (t *timeline) make(ctx context.Context, call tool.Call, e event) tool.Result {
	if setting := t.proposals[e.index].Setting; setting != nil && setting.Fault != (tool.Fault{}) && e.attempts == 0 {
		return t.session.CallWith(ctx, call, setting.Fault)
	}
	return t.session.Call(ctx, call)
}

// ended enters the next proposal, where it has no time of its own.
func (t *timeline) ended(index int, at time.Duration) {
	following := index + 1
	if following == len(t.proposals) || t.run.Case.Stage.Parallel {
		return
	}
	if setting := t.proposals[following].Setting; setting == nil || setting.At == nil {
		t.enter(event{at: at, attempt: true, index: following})
	}
}

// tries is how many proposals a run had, with their further attempts.
func (r *Run) tries() int {
	tries := 0
	for i := range r.Steps {
		tries += max(1, len(r.Steps[i].Attempts))
	}
	return tries
}
