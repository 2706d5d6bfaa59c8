package governed

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"agentlab/lab/tool"
)

// opening is the session of the upstream surface, which is opened when something
// first needs it: most calls that are refused never do, and a server takes seconds
// to start.
//
// It is opened once, for all that need it meanwhile and later. Who needed it first
// may give up; it is then opened all the same, for whoever comes next, unless the
// session behind the contracts ends. One that could not be opened is not tried
// again.
//
// Nothing else is to see that it took time. The clock of the controls stands still
// meanwhile, by which rates, budgets and grants go. And calls go through the controls
// one at a time until the one that needed it first is at work, or looks at something:
// calls that are made at once would meet it with a grant and without a claim for
// seconds, where they hardly can otherwise. While it looks they always could.
type opening struct {
	open func(ctx context.Context) (tool.Session, error)
	life context.Context

	turn    chan struct{} // held by a call that may be the first to need it
	through chan struct{} // closed when there can be none any more
	once    sync.Once

	mu    sync.Mutex
	over  chan struct{} // closed when it was opened or could not be; nil as long as nothing has needed it
	began time.Time
	ended time.Time // zero before over is closed

	// Written before over is closed, and read after.
	session tool.Session
	err     error
}

// errNotOpened is wrapped by what a call comes to that needed a session that could
// not be opened. [observedSession.Lost] tells why; it is told once.
var errNotOpened = errors.New("the session of the server could not be opened")

// openedLater is a session that is opened when something needs it, or life ends.
func openedLater(life context.Context, open func(context.Context) (tool.Session, error)) *opening {
	return &opening{open: open, life: life, turn: make(chan struct{}, 1), through: make(chan struct{})}
}

// openedAtOnce is a session that was there from the beginning.
func openedAtOnce(session tool.Session) *opening {
	over := make(chan struct{})
	close(over)
	return &opening{over: over, through: over, session: session}
}

// enter waits until it is a call's turn to go through the controls. What it returns
// is to be called when the call has ended.
func (o *opening) enter(ctx context.Context) (leave func()) {
	select {
	case <-o.through:
		return func() {}
	default:
	}
	select {
	case <-o.through:
	case <-ctx.Done(): // the call comes to nothing
	case o.turn <- struct{}{}:
		return func() {
			if session, err := o.there(); session != nil || err != nil {
				o.atWork()
			}
			<-o.turn
		}
	}
	return func() {}
}

// atWork lets all calls in: one is at work at the server, or looks at something there.
func (o *opening) atWork() {
	select {
	case <-o.through:
	default:
		o.once.Do(func() { close(o.through) })
	}
}

// need returns the session, and opens it where nothing has before. It waits no
// longer than ctx.
func (o *opening) need(ctx context.Context) (tool.Session, error) {
	over, err := o.begun(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-over:
	case <-ctx.Done():
		select {
		case <-over: // in this very moment
		default:
			return nil, ctx.Err()
		}
	}
	if o.err != nil {
		return nil, fmt.Errorf("%w: %w", errNotOpened, o.err)
	}
	return o.session, nil
}

// begun is closed when the session was opened. Nothing is begun for who has given
// up before.
func (o *opening) begun(ctx context.Context) (<-chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over != nil {
		return o.over, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := o.life.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotOpened, err)
	}
	o.over, o.began = make(chan struct{}), time.Now()
	go o.run(outliving{o.life, ctx})
	return o.over, nil
}

func (o *opening) run(ctx context.Context) {
	// It may end its goroutine without returning.
	o.err = errors.New("opening the session did not return")
	defer func() {
		if cause := recover(); cause != nil {
			o.err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended = time.Now()
		close(o.over)
	}()
	session, err := o.open(ctx)
	if err != nil {
		o.err = err
		return
	}
	if _, sees := session.(tool.Observed); !sees {
		o.err = errors.Join(errors.New("a session over a server that is not the lab's own is not looked at"), session.Close())
		return
	}
	o.session, o.err = session, nil
}

// there returns the session where it was opened, or why it could not be. It waits
// for nothing, and returns neither where nothing has come of it yet.
func (o *opening) there() (tool.Session, error) {
	o.mu.Lock()
	over := o.over
	o.mu.Unlock()
	select { // where over is nil, never
	case <-over:
		return o.session, o.err
	default:
		return nil, nil
	}
}

// pass waits as long as the session is being opened, and no longer than ctx.
func (o *opening) pass(ctx context.Context) {
	o.mu.Lock()
	over := o.over
	o.mu.Unlock()
	if over == nil {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Now implements [registry.Clock]: it stands still while the session is being opened.
func (o *opening) Now() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.began.IsZero():
		return time.Now()
	case o.ended.IsZero():
		return o.began
	}
	return time.Now().Add(-o.ended.Sub(o.began))
}
