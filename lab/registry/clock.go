package registry

import (
	"sync"
	"time"
)

// Clock tells the time to the controls.
type Clock interface{ Now() time.Time }

// wall is the clock of a registry that was given none.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// Simulated is a clock that moves only when it is told to. A registry on it
// never waits: a call takes as long as its [Latency] says, and what would have
// happened in that time is worked out. It is safe for concurrent use.
type Simulated struct {
	mu  sync.Mutex
	now time.Time
}

// NewSimulated returns a clock that stands at start.
func NewSimulated(start time.Time) *Simulated { return &Simulated{now: start} }

// Now implements [Clock].
func (s *Simulated) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Set moves the clock, in either direction: calls that are under way together
// are made one after the other, each at the time at which it starts.
func (s *Simulated) Set(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}
