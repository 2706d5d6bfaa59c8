package generate

import (
	"context"

	"agentlab/lab/tool"
)

// runtime writes the cases of everything that a contract says beside its schemas.
func (s *subject) runtime(ctx context.Context, all []*subject) error {
	if !s.o.Runtime || s.input == nil {
		return nil
	}
	s.lookup()
	if s.src.Reach == Bare {
		s.readsAgain()
		return nil
	}
	if s.retired() {
		s.lifecycle()
		return nil
	}
	s.hidden()
	if s.good == nil {
		return nil
	}
	s.budget()
	s.permission(all)
	s.approval(all)
	if s.good.sure {
		s.rate()
		s.deadline()
		s.idempotency()
		s.faults()
		s.answers()
		if err := s.outputs(ctx); err != nil {
			return err
		}
		if err := s.pages(ctx); err != nil {
			return err
		}
	}
	s.order()
	return nil
}

// readsAgain is the one thing that is asked of a read without a contract: that it is
// answered as often as it is called, and changes nothing.
func (s *subject) readsAgain() {
	if s.Effect.Changes() || s.good == nil {
		return
	}
	l := s.calls(&step{OK: ptr(true)}, &step{OK: ptr(true)})
	s.add(clause{"handler", "readOnlyHint", inside}, "again", "Call "+s.Name+", which is said to only read, twice", l.come(0))
}

// worksFor reports whether the good call succeeds for a caller.
func (s *subject) worksFor(caller tool.Caller) bool {
	o, err := s.trial.play(context.Background(), s.trial.surface, &s.Contract, caller, s.proposal(s.good.arguments))
	return err == nil && o.last().OK()
}
