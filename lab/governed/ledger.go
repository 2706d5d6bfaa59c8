package governed

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"agentlab/lab/tool"
)

// ledger knows what the looks at the backend have shown, and which writes may have
// been what they have shown.
//
// A change is put down to a write only where the look before it showed all that
// came earlier, and no other write of the session was at work meanwhile. What
// somebody else changes in that time cannot be told from it.
type ledger struct {
	// look tells what changed since the last time, and how much that is; nil where
	// nobody looks.
	look func(ctx context.Context) ([]tool.Effect, int, error)

	looking sync.Mutex // one look at a time

	mu     sync.Mutex
	ended  int               // writes that have ended
	seen   int               // how many had when the last look began
	atWork map[*attempt]bool // writes that the server may still be at work on
	open   map[*attempt]bool // those of which it is not known whether they were applied
	kept   []tool.Effect     // what was seen, and is still to be handed on
	looks  int               // that have shown it
	handed int               // how much was
}

// attempt is one write on its way.
type attempt struct {
	clear   bool // nothing that came before it was still to be seen
	alone   bool // no other write was at work since it began
	done    bool // the server is at work on it no more
	changes int  // that can only be its own
}

// begin begins a write. What has not been looked at is looked at first, so that it
// is not put down to the write.
func (l *ledger) begin(ctx context.Context) *attempt {
	l.mu.Lock()
	unseen := l.ended != l.seen && len(l.atWork) == 0
	l.mu.Unlock()
	if unseen {
		_ = l.observe(ctx) // a write is not kept waiting for what cannot be seen
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &attempt{clear: l.ended == l.seen, alone: len(l.atWork) == 0}
	for other := range l.open {
		other.alone = false
	}
	if l.atWork == nil {
		l.atWork, l.open = make(map[*attempt]bool), make(map[*attempt]bool)
	}
	l.atWork[a], l.open[a] = true, true
	return a
}

// answered ends a write that the server has answered.
func (l *ledger) answered(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.done {
		return
	}
	a.done = true
	delete(l.atWork, a)
	l.ended++
}

// known ends the doubt about a write.
func (l *ledger) known(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, a)
}

// settle looks at what became of a write.
func (l *ledger) settle(ctx context.Context, a *attempt) (tool.Outcome, error) {
	if l.look == nil {
		return tool.Unknown, nil
	}
	if err := l.observe(ctx); err != nil {
		return tool.Unknown, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !a.clear:
	case a.changes > 0:
		delete(l.open, a)
		return tool.Applied, nil
	case a.alone && a.done:
		delete(l.open, a)
		return tool.NotApplied, nil
	}
	return tool.Unknown, nil
}

// observe looks, and keeps what is seen.
func (l *ledger) observe(ctx context.Context) error {
	if l.look == nil {
		return nil
	}
	l.looking.Lock()
	defer l.looking.Unlock()
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	effects, changes, err := l.look(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = ended
	l.take(effects, changes)
	return nil
}

// take takes in what a look has shown; l is locked.
func (l *ledger) take(effects []tool.Effect, changes int) {
	for a := range l.open {
		if a.alone && a.clear {
			a.changes += changes
		}
	}
	if len(effects) > 0 {
		l.looks++
	}
	for _, e := range effects {
		l.keep(e)
	}
}

// keep adds a change. Two looks may show two changes of one thing where one look
// would have shown one.
func (l *ledger) keep(e tool.Effect) {
	for i := len(l.kept) - 1; i >= 0; i-- {
		before := &l.kept[i]
		if before.Resource != e.Resource {
			continue
		}
		switch {
		case before.Change == tool.Added && e.Change == tool.Changed:
			before.After = e.After
		case before.Change == tool.Changed && e.Change == tool.Changed:
			before.After = e.After
		case before.Change == tool.Changed && e.Change == tool.Removed:
			before.Change, before.After = tool.Removed, 0
		case before.Change == tool.Removed && e.Change == tool.Added:
			before.Change, before.After = tool.Changed, e.After
		default: // it came and went: both were seen
			l.kept = append(l.kept, e)
		}
		return
	}
	l.kept = append(l.kept, e)
}

// hand hands on what was kept, in the order of the look, or of the resources where
// there were several.
func (l *ledger) hand() []tool.Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	effects := l.kept
	if l.looks > 1 {
		slices.SortStableFunc(effects, func(a, b tool.Effect) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	l.kept, l.looks = nil, 0
	l.handed += len(effects)
	return effects
}

// settled hands on what was kept, and the last of what was seen.
func (l *ledger) settled(last []tool.Effect) []tool.Effect {
	l.mu.Lock()
	l.take(last, len(last))
	l.mu.Unlock()
	return l.hand()
}

// count is how much was seen since the session was opened.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handed + len(l.kept)
}
