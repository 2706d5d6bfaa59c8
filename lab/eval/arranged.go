package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// maxAttempts is how often the harness makes one call, whatever a session
// advises.
const maxAttempts = 10

// arranged is a case that arranges something around its proposals, on a session
// that can be told of it, whatever clock that goes by.
type arranged struct {
	session   tool.Supervised
	of        *dataset.Case
	proposals []dataset.Proposal
	read      []tool.Proposal
	refused   []*tool.Error // why a proposal could not be read, or nil
	start     time.Time     // of the session's clock
	grants    []tool.Grant
	unshown   []Unshown // in the order of their time
}

func arrange(session tool.Supervised, c *dataset.Case, proposals []dataset.Proposal) arranged {
	a := arranged{
		session:   session,
		of:        c,
		proposals: proposals,
		read:      make([]tool.Proposal, len(proposals)),
		refused:   make([]*tool.Error, len(proposals)),
		start:     session.Now(),
	}
	for i := range proposals {
		a.read[i], a.refused[i] = ReadProposal(&proposals[i])
	}
	session.Arrange(c.Stage.Budget)
	return a
}

func (a *arranged) call(index int) tool.Call {
	return tool.Call{
		Proposal: a.read[index],
		Caller:   caller(a.of, &a.proposals[index]),
		Approved: a.of.Approved,
		Grants:   slices.Clone(a.grants),
	}
}

// approve shows a call to its approver, who confirms what is seen. A call that
// cannot be shown is not confirmed.
func (a *arranged) approve(ctx context.Context, index int) {
	approval := &a.of.Stage.Approvals[index]
	var call tool.Call
	switch {
	case approval.Call != nil:
		call = tool.Call{Proposal: *approval.Call, Caller: caller(a.of, nil)}
	case a.refused[approval.Proposal] != nil:
		a.unshown = append(a.unshown, Unshown{index, a.refused[approval.Proposal]})
		return
	default:
		call = a.call(approval.Proposal)
		call.Grants = nil
	}
	shown, refusal := a.session.Pending(ctx, call)
	if refusal != nil {
		a.unshown = append(a.unshown, Unshown{index, refusal})
		return
	}
	a.grants = append(a.grants, tool.Grant{
		ID:              "grant-" + strconv.Itoa(index+1),
		Digest:          shown.Digest,
		Approver:        approval.Approver,
		IssuedAt:        a.start.Add(approval.IssuedAt),
		ExpiresAt:       a.start.Add(approval.ExpiresAt),
		ResourceVersion: shown.ResourceVersion,
	})
}

// unread is the step of a proposal that could not be read.
func (a *arranged) unread(ctx context.Context, index int) Step {
	result, over := a.session.Unread(ctx, caller(a.of, &a.proposals[index]))
	if !over {
		return malformedStep(a.refused[index])
	}
	settle(&result)
	return Step{Result: result}
}

// next is what is done after so many attempts, and whether that is another one.
func (a *arranged) next(call tool.Call, result tool.Result, attempts int) (next tool.NextStep, again bool) {
	if result.OK() {
		return tool.NextStep{Action: tool.Proceed, Reason: "the call succeeded"}, false
	}
	next = a.session.Next(call, result, attempts)
	next.Wait = max(next.Wait, 0)
	again = next.Action == tool.Retry || next.Action == tool.LookUpReceipt
	if again && attempts >= maxAttempts {
		return tool.NextStep{Action: tool.Stop, Reason: fmt.Sprintf("the harness makes no more than %d attempts", maxAttempts)}, false
	}
	return next, again
}
