package registry

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// sightings are the versions of what calls work on, as the session saw them last:
// at its first call on it, and after each of its own.
type sightings struct {
	mu    sync.Mutex
	known map[string]*sighting // by Version.Of
	ended int                  // calls of the session that may have changed something
}

type sighting struct {
	noted    bool
	is       string
	underWay int // calls of the session that may change it
	ended    int // the count when the last of them ended
}

func (s *sightings) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
}

// at is the sighting of something; s is locked.
func (s *sightings) at(of string) *sighting {
	known := s.known[of]
	if known == nil {
		if s.known == nil {
			s.known = make(map[string]*sighting)
		}
		known = new(sighting)
		s.known[of] = known
	}
	return known
}

func (s *sightings) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// compare reports what the session saw, and whether that overlaps with a call of
// its own, whose change is not told from somebody else's. The version was read
// after the count was taken.
func (s *sightings) compare(v Version, since int) (seen string, overlaps bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.at(v.Of)
	if !known.noted {
		known.noted, known.is = true, v.Is
	}
	return known.is, known.underWay > 0 || known.ended > since
}

func (s *sightings) note(v Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.at(v.Of)
	known.noted, known.is = true, v.Is
}

func (s *sightings) begin(of string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(of).underWay++
}

// end ends a call of the session, and notes the version that it left behind; read
// is nil where it left none. One that cannot be read leaves what was noted before.
func (s *sightings) end(of string, read func() (Version, error)) {
	for {
		var v Version
		var err error
		since := s.count()
		if read != nil {
			v, err = read()
		}
		if s.ends(of, v, since, read != nil && err == nil) {
			return
		}
		// Another one ended meanwhile, and may have noted less or more than this.
	}
}

func (s *sightings) ends(of string, v Version, since int, read bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.at(of)
	if read && known.ended > since {
		return false
	}
	known.underWay--
	s.ended++
	known.ended = s.ended
	if read {
		known.noted, known.is = true, v.Is
	}
	return true
}

// version asks for the version of what the call works on. Where nobody can say,
// the operator is told why.
func (c *Crossing) version(ctx context.Context) (v Version, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
		if err != nil {
			c.fault(err)
		}
	}()
	v, err = c.registry.backend.Versions[c.entry.Name](ctx, c.canonical)
	c.worksOn, c.looked = v.Of, err == nil
	return v, err
}

// unchanged asks whether what the call works on is as the session saw it last. A
// call that is refused has seen it: who makes it again knows.
func (c *Crossing) unchanged(ctx context.Context) *tool.Error {
	since := c.registry.seen.count()
	v, err := c.version(ctx)
	if err != nil {
		if c.excuse(ctx) {
			return nil
		}
		return tool.Refusal(tool.ApprovalStale, nil, "Nobody can say whether what the call works on has changed.")
	}
	c.expectedVersion = v.Is
	seen, overlaps := c.registry.seen.compare(v, since)
	c.unsure = seen != v.Is && overlaps
	if seen == v.Is || overlaps || c.excuse(ctx) {
		return nil
	}
	c.registry.seen.note(v)
	return tool.Refusal(tool.ApprovalStale, struct {
		Of   string `json:"of"`
		Seen string `json:"seen"`
		Is   string `json:"is"`
	}{v.Of, seen, v.Is}, "What the call works on has changed since the session last saw it.")
}

// reconfirm asks once more what approval asked, when time has passed since.
func (c *Crossing) reconfirm(ctx context.Context) *tool.Error {
	if !c.entry.Precondition || c.excused || !c.met("approval") {
		return nil
	}
	if c.entry.Approval == contract.ApprovalRequired {
		return c.unchanged(ctx)
	}
	if v, err := c.version(ctx); err == nil && v.Is == c.expectedVersion || c.excuse(ctx) {
		return nil
	}
	return c.stale(ctx)
}

// changing begins what may change what the call works on, which note ends.
func (c *Crossing) changing() {
	if c.looked && c.entry.Effect.Changes() {
		c.noting = true
		c.registry.seen.begin(c.worksOn)
	}
}

// note notes what the call may have left behind. It comes when the claim is
// settled: until then others do not see it.
func (c *Crossing) note(ctx context.Context) {
	if !c.noting {
		return
	}
	of := c.worksOn // which the next look could name otherwise
	c.noting = false
	if c.outcome == tool.NotApplied {
		c.registry.seen.end(of, nil)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.entry.Timeout)
	defer cancel()
	c.registry.seen.end(of, func() (Version, error) { return c.version(ctx) })
}
