package schedule

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"agentlab/lab/receipt"
	"agentlab/lab/tool"
)

// actor is one call on a goroutine of its own. It runs while it has the token, and
// hands it back wherever it stops.
type actor struct {
	number    int // from 1, as schedules name it
	call      tool.Call
	key       receipt.Key
	arguments string // canonical
	fault     string // what goes wrong in its handler; empty: nothing
	slow      time.Duration

	ctx    context.Context
	cancel context.CancelFunc
	turn   chan bool     // true: go on; false: the process has died
	back   chan struct{} // the token, handed back
	free   bool          // it stops nowhere
	stops  func(name string) bool

	at      string // the step that it stands before
	begun   bool   // it has made a step
	started time.Time
	// wants is the action that it is about to claim, given is what came of a try
	// to claim it while it was held, which a store must not grant.
	wants receipt.Key
	tried int // how many claims had been opened when it was last tried
	given *attempt

	done   bool // the goroutine has ended
	dead   bool // by the death of the process
	lost   bool // it does not come back, whatever it is told
	gaveUp bool // nobody waits for its result
	result tool.Result
	broken string // a panic that nobody contained

	effects int // that it made
}

type attempt struct {
	claim receipt.Claim
	known *receipt.Receipt
}

type actorKey struct{}

// actorOf is the call that a context belongs to, or nil.
func actorOf(ctx context.Context) *actor {
	a, _ := ctx.Value(actorKey{}).(*actor)
	return a
}

// step stops the call before a step until it is its turn. Where the process has
// died meanwhile, the call ends here, whatever it holds.
func (a *actor) step(name string) {
	if a == nil || a.free || !a.stops(name) {
		return
	}
	a.at = name
	a.back <- struct{}{}
	if !<-a.turn {
		a.dead = true
		runtime.Goexit()
	}
}

// begin starts the call, which runs up to its first stop.
func (a *actor) begin(cross func(context.Context, tool.Call) tool.Result, now func() time.Time) {
	a.ctx, a.cancel = context.WithCancel(context.WithValue(context.Background(), actorKey{}, a))
	a.turn, a.back = make(chan bool), make(chan struct{})
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				a.broken = fmt.Sprint(cause)
			}
			a.done = true
			a.back <- struct{}{}
		}()
		a.step(stopStart)
		a.started = now()
		a.result = cross(a.ctx, a.call)
		a.step(stopTold)
	}()
}

// wait waits until the token is back. It reports false where the call does not
// hand it back in time, although it is told to end.
func (a *actor) wait(patience *time.Timer) bool {
	select {
	case <-a.back:
		return true
	case <-patience.C:
	}
	a.cancel()
	select {
	case <-a.back:
	case <-time.After(lastPatience):
		a.lost = true
	}
	return false
}

// longPatience is how long one schedule may take on the wall clock, which is a
// hundred times what it does; lastPatience is what a call that blocks is given to
// end.
const (
	longPatience = 5 * time.Second
	lastPatience = time.Second
)

// kill ends the call where it stands, as the death of its process does.
func (a *actor) kill() {
	if !a.done && !a.lost {
		a.turn <- false
		<-a.back
	}
	a.cancel()
}
