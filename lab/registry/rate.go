package registry

import (
	"context"
	"sync"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// buckets are the token buckets of a registry, by tool and caller.
type buckets struct {
	mu   sync.Mutex
	full map[[2]string]time.Time // when the bucket will be full again
}

func (b *buckets) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.full)
}

// take takes a token, or returns how long it is until there is one. A bucket is
// kept as the time at which it is full: each token taken moves that by Every.
func (b *buckets) take(key [2]string, rate *contract.Rate, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.full[key]
	if full.Before(now) {
		full = now
	}
	full = full.Add(rate.Every)
	if wait := full.Sub(now) - time.Duration(rate.Burst)*rate.Every; wait > 0 {
		return wait
	}
	if b.full == nil {
		b.full = make(map[[2]string]time.Time)
	}
	b.full[key] = full
	return 0
}

func rate(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if c.entry.Rate == nil {
		return tool.Skip, nil
	}
	wait := c.registry.buckets.take([2]string{c.entry.Name, c.call.Caller.ID}, c.entry.Rate, c.now)
	if wait > 0 {
		if every := c.entry.Rate.Every; !c.registry.simulated() {
			// What a wall clock leaves of a token's time is another at every run.
			wait = (wait + every - 1) / every * every
		}
		// Rounded up: a call that waits as long as it is told is let through.
		milliseconds := (wait + time.Millisecond - 1).Milliseconds()
		return tool.Refuse, tool.Refusal(tool.RateLimited, struct {
			RetryAfter int64 `json:"retry_after_ms"`
		}{milliseconds}, "The caller makes more calls of %s than it may.", c.entry.Name)
	}
	return tool.Pass, nil
}
