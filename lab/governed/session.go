package governed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// session is a session of the upstream surface behind a registry of its own.
type session struct {
	surface  *Surface
	opening  *opening // of the session of the upstream surface
	registry *registry.Registry
	ledger   ledger

	// A write is not broken off when its caller waits no longer, but when this ends.
	life context.Context
	end  context.CancelFunc

	listChanged atomic.Bool // the server said so, and nobody was told yet

	mu     sync.Mutex
	calls  sync.WaitGroup // under way; added to under mu, and not once it is closed
	closed bool
	doubts map[doubt]*attempt
	once   sync.Once
	err    error
}

// observedSession is one over a backend that is looked at.
type observedSession struct{ *session }

// doubt names an action whose outcome is not known.
type doubt struct{ tool, caller, key string }

// outliving is the context of a write: the end of its caller's is not its own.
type outliving struct {
	context.Context // the session's life
	call            context.Context
}

func (o outliving) Value(key any) any {
	if value := o.Context.Value(key); value != nil {
		return value
	}
	return o.call.Value(key)
}

// upstream is the session of the surface behind, or nil as long as nothing needed
// it, or where it could not be opened. Handlers run only where it is there.
func (s *session) upstream() tool.Session {
	upstream, _ := s.opening.there()
	return upstream
}

// observed is upstream as one over a backend that is looked at, or nil.
func (s *session) observed() tool.Observed {
	observed, _ := s.upstream().(tool.Observed)
	return observed
}

// ask makes a call of the server.
func (s *session) ask(ctx context.Context, t *covered, arguments json.RawMessage) tool.Result {
	result := s.upstream().Call(ctx, tool.Call{
		Proposal: tool.Proposal{Name: t.Contract.Name, Arguments: arguments},
		Caller:   registry.CallerOf(ctx),
		Approved: t.Contract.Approval != contract.ApprovalNever, // it has passed that control
	})
	s.heard(&result)
	return result
}

func (s *session) heard(result *tool.Result) {
	if result.Trace.ListChanged {
		s.listChanged.Store(true)
	}
}

// lost reports whether a call came back without an answer of the server.
func (s *session) lost(result *tool.Result) bool {
	e := result.Error
	if e == nil || result.Reply != nil || e.Outcome != tool.Unknown {
		return false
	}
	return e.Code == tool.ToolTimeout || e.Code == tool.ToolFailed && s.observed() != nil
}

// errLost is wrapped by what a write comes to whose answer did not come.
var errLost = fmt.Errorf("the server gave no answer: %w", registry.ErrResponseLost)

// read is the handler of a tool that changes nothing.
func (s *session) read(ctx context.Context, t *covered, arguments json.RawMessage) (json.RawMessage, error) {
	s.opening.atWork()
	result := s.ask(ctx, t, t.upstreamArguments(arguments))
	if s.lost(&result) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errLost
	}
	output, refusal := t.take(&result)
	if refusal != nil {
		return nil, refusal
	}
	return output, nil
}

// write is the handler of a tool that changes something.
func (s *session) write(ctx context.Context, t *covered, given json.RawMessage) (json.RawMessage, error) {
	s.opening.atWork()
	caller := registry.CallerOf(ctx).ID
	ctx = outliving{s.life, ctx}
	if s.life.Err() != nil {
		return nil, refuseClosed() // it was never sent
	}
	a := s.ledger.begin(ctx)
	result := s.ask(ctx, t, t.upstreamArguments(given))
	if s.lost(&result) {
		s.remember(t, caller, given, a)
		return nil, errLost
	}
	s.ledger.answered(a)
	output, refusal := t.take(&result)
	if refusal == nil {
		s.ledger.known(a)
		return output, nil
	}
	if brokePromise(&result) {
		s.ledger.known(a)
		refusal.Outcome = tool.Applied
		return nil, refusal
	}
	outcome, err := s.ledger.settle(ctx, a)
	if refusal.Outcome = outcome; err != nil {
		s.fault(t, fmt.Errorf("what a write changed could not be looked at: %w", err))
	}
	switch refusal.Outcome {
	case tool.Unknown:
		s.remember(t, caller, given, a)
	case tool.Applied:
		// What no rule of the contract knows has no advice that fits a write that was
		// applied: most of it leads to another one.
		if refusal.Code == tool.ToolFailed || refusal.Code == tool.ProtocolError {
			refusal.NextAction = "stop: it failed, and has changed something; read what"
		}
	}
	return nil, refusal
}

func (s *session) fault(t *covered, err error) {
	if s.surface.settings.OnFault != nil {
		s.surface.settings.OnFault(t.Contract.Name, err)
	}
}

// named names the action of a call; the second value is false where it has no key.
func (t *covered) named(caller string, arguments json.RawMessage) (doubt, bool) {
	key := t.Contract.IdempotencyKey
	if key == "" {
		return doubt{}, false
	}
	value, err := jsonvalue.Decode(arguments)
	object, _ := value.(map[string]any)
	word, _ := object[key].(string)
	return doubt{t.Contract.Name, caller, word}, err == nil
}

// remember keeps a write of unknown outcome for its repeat.
func (s *session) remember(t *covered, caller string, arguments json.RawMessage, a *attempt) {
	name, keyed := t.named(caller, arguments)
	if !keyed {
		s.ledger.known(a) // nobody will ask
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts[name] = a
}

// reconcile looks whether a write of unknown outcome has changed anything.
func (s *session) reconcile(ctx context.Context, t *covered, tried registry.Attempt) (json.RawMessage, bool, error) {
	name, _ := t.named(tried.Caller.ID, tried.Arguments)
	s.mu.Lock()
	a := s.doubts[name]
	s.mu.Unlock()
	if a == nil {
		return nil, false, registry.ErrStillUnknown
	}
	outcome, err := s.ledger.settle(ctx, a)
	switch {
	case err != nil:
		return nil, false, err
	case outcome == tool.Unknown:
		return nil, false, registry.ErrStillUnknown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubts, name)
	return nil, outcome == tool.Applied, nil
}

func refuseClosed() *tool.Error {
	return tool.Refusal(tool.ToolFailed, nil, "The session takes no more calls.")
}

// enter begins a call, unless there are to be no more.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

// Call implements [tool.Session]. No call begins while the session of the server is
// being opened for another, unless its ctx ends.
func (s *session) Call(ctx context.Context, call tool.Call) tool.Result {
	if !s.enter() {
		return s.answer(tool.Result{Error: refuseClosed()}, call.Proposal.Name)
	}
	defer s.calls.Done()
	defer s.opening.enter(ctx)()
	return s.answer(s.registry.Call(ctx, call), call.Proposal.Name)
}

// answer adds the answer as a gateway would send it.
func (s *session) answer(result tool.Result, name string) tool.Result {
	if s.listChanged.Load() && s.listChanged.Swap(false) {
		result.Trace.ListChanged = true
	}
	if result.Error != nil {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(result.Error); err != nil {
			panic(err) // its details were JSON when they came
		}
		document := string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
		result.Reply = &tool.Reply{IsError: true, Texts: []string{document}, Bytes: len(document)}
		return result
	}
	result.Reply = &tool.Reply{Texts: texts(result.Output), Bytes: len(result.Output)}
	if t := s.surface.tools[name]; t != nil && t.Contract.OutputSchema != nil {
		valid := true // or the registry had refused it
		result.Reply.SchemaValid = &valid
	}
	return result
}

// Effects implements [tool.Session].
func (s *session) Effects() int {
	if upstream := s.upstream(); upstream != nil {
		return upstream.Effects()
	}
	return 0 // nothing was asked of the server
}

// Effects implements [tool.Session]: each change counts once, however often was
// looked.
func (s *observedSession) Effects() int {
	if s.ledger.look == nil {
		return s.session.Effects()
	}
	return s.ledger.count()
}

// Observe implements [tool.Observed]. What was seen on the way is told with it.
// Where nothing needed the server there is nothing to see.
func (s *observedSession) Observe(ctx context.Context) ([]tool.Effect, error) {
	upstream, err := s.opening.there()
	switch {
	case upstream == nil:
		return nil, err
	case s.ledger.look == nil:
		return s.observed().Observe(ctx)
	}
	if err := s.ledger.observe(ctx); err != nil {
		return nil, err
	}
	return s.ledger.hand(), nil
}

// Settle implements [tool.Observed]. Writes that are still at work are waited for,
// as long as the server has for an answer.
func (s *observedSession) Settle(ctx context.Context) ([]tool.Effect, error) {
	s.stop()
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.calls.Wait()
		s.registry.Wait()
		s.opening.pass(context.Background()) // nobody waits for it, and life ends it
	}()
	select {
	case <-over:
	case <-ctx.Done():
		s.end() // so that nothing is left behind
		<-over
		return nil, ctx.Err()
	}
	if upstream, err := s.opening.there(); upstream == nil {
		return nil, err
	}
	effects, err := s.observed().Settle(ctx)
	if err != nil {
		return nil, err
	}
	return s.ledger.settled(effects), nil
}

// Lost implements [tool.Observed]. A session whose server could not be reached when
// it was first needed is lost too.
func (s *observedSession) Lost() error {
	upstream, err := s.opening.there()
	if upstream == nil {
		return err
	}
	return s.observed().Lost()
}

// stop lets no more calls in.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Close implements [tool.Session]. It ends what is under way, and waits for it.
func (s *session) Close() error {
	s.once.Do(func() {
		s.stop()
		s.end()
		s.calls.Wait()
		s.registry.Wait()
		s.err = s.closeUpstream()
	})
	return s.err
}

// closeUpstream ends what was opened, if anything was.
func (s *session) closeUpstream() error {
	s.end()
	s.opening.pass(context.Background())
	if upstream := s.upstream(); upstream != nil {
		return upstream.Close()
	}
	return nil
}

// Arrange implements [tool.Supervised].
func (s *session) Arrange(budget tool.Budget) {
	s.registry.SetBudget(s.surface.variant.Allowed(budget))
}

// Now implements [tool.Supervised].
func (s *session) Now() time.Time { return s.opening.Now() }

// Pending implements [tool.Supervised].
func (s *session) Pending(ctx context.Context, call tool.Call) (tool.Pending, *tool.Error) {
	if !s.enter() {
		return tool.Pending{}, refuseClosed()
	}
	defer s.calls.Done()
	return s.registry.Pending(ctx, call)
}

// Unread implements [tool.Supervised].
func (s *session) Unread(ctx context.Context, caller tool.Caller) (tool.Result, bool) {
	result, over := s.registry.Unread(ctx, caller)
	if over {
		result = s.answer(result, "")
	}
	return result, over
}

// Next implements [tool.Supervised].
func (s *session) Next(call tool.Call, result tool.Result, attempts int) tool.NextStep {
	return s.registry.Next(call, result, attempts)
}
