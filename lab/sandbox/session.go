package sandbox

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"agentlab/lab/mcp"
	"agentlab/lab/probe"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// session is one case on a bench. Its calls are under way at the same time, and
// what they change can be looked at meanwhile.
type session struct {
	surface *Surface
	bench   *bench
	life    context.Context // ends with the session, and so do its calls
	end     context.CancelFunc
	once    sync.Once
	err     error

	looking sync.Mutex // held by whoever uses the watcher
	watcher *probe.Watcher

	mu      sync.Mutex
	effects int
	calls   int  // under way
	busy    bool // a server may still work on what it was asked
	over    bool // no call may begin
}

// session looks at the backend for the first time.
func (s *Surface) session(ctx context.Context, b *bench) (*session, error) {
	if err := s.settle(ctx, b); err != nil {
		return nil, err
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	probes, err := s.probes(ctx, b)
	if err != nil {
		return nil, err
	}
	watcher, err := probe.Watch(ctx, probes...)
	if err != nil {
		return nil, s.unseen(ctx, err)
	}
	s.learn(watcher)
	opened := &session{surface: s, bench: b, watcher: watcher}
	opened.life, opened.end = context.WithCancel(s.life)
	return opened, nil
}

const notCounted = "the effects could not be counted"

// unseen is the error of a backend that could not be looked at. Where that is
// because a server died, its own words are the better ones.
func (s *Surface) unseen(ctx context.Context, err error) error {
	var lost *tool.Unavailable
	var unseen *probe.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &lost):
		return lost
	case errors.As(err, &unseen):
		detail := strings.Trim(unseen.Target+"\n"+unseen.Detail, "\n")
		return &tool.Unavailable{Surface: s.spec.Name, Reason: notCounted + ": " + unseen.Kind + ": " + unseen.Reason, Detail: detail}
	}
	return &tool.Unavailable{Surface: s.spec.Name, Reason: notCounted, Detail: err.Error()}
}

// Call implements [tool.Session].
func (s *session) Call(ctx context.Context, call tool.Call) tool.Result {
	if !s.begin() {
		return tool.Result{Error: tool.Refusal(tool.ToolFailed, nil, "The session is over.")}
	}
	ctx, cancel := within(ctx, s.life)
	defer cancel()
	s.bench.turn.RLock()
	defer s.bench.turn.RUnlock()
	unanswered := false
	defer func() { s.ended(unanswered) }()
	shown := &s.bench.folder.shown
	proposal := call.Proposal
	proposal.Arguments = shown.enter(proposal.Arguments)
	result := s.bench.client.Call(ctx, proposal)
	s.surface.sawCall(proposal.Name, &result)
	if !bytes.Equal(proposal.Arguments, call.Proposal.Arguments) {
		result.Trace.Fingerprint = mcp.Fingerprint(call.Proposal.Arguments)
	}
	if e := result.Error; e != nil {
		unanswered = e.Code == tool.ToolTimeout || ctx.Err() != nil
		// The answer was shown without the path; what an error says need not be of it.
		e.Message = shown.leaveText(e.Message)
		e.Details = shown.leave(e.Details)
	}
	return result
}

// begin counts a call that begins. Where the session is over it may not: the bench
// may be that of another case by now.
func (s *session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.calls++
	}
	return !s.over
}

// ended counts a call that has ended, and keeps in mind where the server may still
// work on it.
func (s *session) ended(unanswered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	s.busy = s.busy || unanswered
}

// Effects implements [tool.Session].
func (s *session) Effects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects
}

// Observe implements [tool.Observed]. It waits for no call that is under way, and
// shows what that one has changed so far.
func (s *session) Observe(ctx context.Context) ([]tool.Effect, error) {
	ctx, cancel := within(ctx, s.life)
	defer cancel()
	effects, err := s.look(ctx, nil)
	if err != nil {
		s.mu.Lock()
		s.busy = true
		s.mu.Unlock()
		return nil, s.surface.overtaken(s.surface.unseen(ctx, err))
	}
	return effects, nil
}

// look is one look at the backend, which no other comes between. It counts what has
// changed, but for what is passed over, by resource.
func (s *session) look(ctx context.Context, passedOver map[string]bool) ([]tool.Effect, error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	s.bench.turn.RLock()
	defer s.bench.turn.RUnlock()
	effects, err := s.watcher.Observe(ctx)
	if err != nil {
		return nil, err
	}
	effects = slices.DeleteFunc(effects, func(e tool.Effect) bool { return passedOver[e.Resource] })
	return s.count(effects), nil
}

// endsWithCase reports whether a server can be ended and looked at once more. One
// that goes on with the next case, or that is not ours, cannot be waited for; and
// one that is asked what its state is cannot be asked when it has ended.
func (s *Surface) endsWithCase() bool {
	return s.settings.Isolation == suite.PerCase && !s.Remote() && !s.Blind() &&
		!slices.ContainsFunc(s.spec.Effects, func(e suite.Effect) bool {
			call, ok := e.(suite.Call)
			return ok && call.Server == nil
		})
}

// learnEnd ends the server of a bench that nobody has called, and remembers what
// that changes: a file with its pid that it takes away is no effect of a call. It
// reports whether the server has ended.
func (s *Surface) learnEnd(ctx context.Context, b *bench) (ended bool) {
	if s.settled == nil || !s.endsWithCase() {
		return false
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	b.client.Close()
	effects, err := s.settled.Observe(ctx)
	if err != nil {
		return true
	}
	s.atEnd = make(map[string]bool, len(effects))
	for _, e := range effects {
		s.atEnd[e.Resource] = true
	}
	return true
}

// Settle implements [tool.Observed]. It ends a server that is the case's own, with
// the calls that are under way, and looks once more. What cannot be looked at without
// it, such as an address at which it answered itself, tells nothing.
func (s *session) Settle(ctx context.Context) ([]tool.Effect, error) {
	if !s.surface.endsWithCase() {
		return nil, nil
	}
	s.bench.client.Close()
	ctx, cancel := within(ctx, s.life)
	defer cancel()
	effects, err := s.look(ctx, s.surface.atEnd)
	if err != nil {
		return nil, s.surface.overtaken(ctx.Err())
	}
	return effects, nil
}

// count takes what was seen to change, and takes the path out of it.
func (s *session) count(effects []tool.Effect) []tool.Effect {
	for i := range effects {
		effects[i].Resource = s.bench.folder.shown.leaveText(effects[i].Resource)
	}
	s.mu.Lock()
	s.effects += len(effects)
	s.mu.Unlock()
	s.surface.sawEffects(s.bench, effects)
	return effects
}

// Lost implements [tool.Observed].
func (s *session) Lost() error {
	if err := s.bench.client.Lost(); err != nil {
		return err
	}
	return s.surface.overtaken(s.surface.life.Err())
}

// Expand puts the folder of a session into a text in place of
// [suite.SandboxVariable]. The text of any other session than one of a [Surface]
// stays as it is.
func Expand(opened tool.Session, text string) string {
	s, ok := opened.(*session)
	if !ok {
		return text
	}
	return strings.ReplaceAll(text, suite.SandboxVariable, s.bench.folder.path)
}

// Close implements [tool.Session]. Calls that are under way end.
func (s *session) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.over = true
		whole := !s.busy && s.calls == 0
		s.mu.Unlock()
		s.end()
		s.err = s.surface.put(s.bench, whole && s.bench.lost() == nil)
	})
	return s.err
}
