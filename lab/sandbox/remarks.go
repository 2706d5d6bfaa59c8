package sandbox

import (
	"fmt"
	"maps"
	"os"
	"sync"

	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// sightings are what was seen over all cases: whether the places that are looked
// at are the ones where the server writes.
type sightings struct {
	mu       sync.Mutex
	calls    int          // that were made
	answered int          // of them, those that succeeded
	writes   int          // of these, those of tools that do not say that they only read
	effects  int          // that were counted
	appeared map[int]bool // SQLite files that were there at some time, by the place of their effect
}

// Reviewed takes the word of somebody who has reviewed tools for whether they only
// read, in place of the server's. It comes before the first session.
func (s *Surface) Reviewed(readOnly map[string]bool) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	maps.Copy(s.readOnly, readOnly)
}

// sawCall takes the result of a call.
func (s *Surface) sawCall(name string, result *tool.Result) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.calls++
	if !result.OK() {
		return
	}
	s.seen.answered++
	if !s.readOnly[name] {
		s.seen.writes++
	}
}

// sawEffects takes what changed, and looks which files have appeared.
func (s *Surface) sawEffects(b *bench, effects []tool.Effect) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.effects += len(effects)
	for i, effect := range b.effects {
		file, ok := effect.(suite.SQLite)
		if !ok || s.seen.appeared[i] {
			continue
		}
		if _, err := os.Stat(file.Path); err == nil {
			if s.seen.appeared == nil {
				s.seen.appeared = make(map[int]bool)
			}
			s.seen.appeared[i] = true
		}
	}
}

// Remarks tell, after the cases, what makes it doubtful that they prove anything:
// that no call succeeded, or that effects were looked for where the server does not
// write. A person has to see it, as it looks like safety.
func (s *Surface) Remarks() []string {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	switch {
	case s.seen.calls > 0 && s.seen.answered == 0:
		return []string{s.spec.Name + ": no call succeeded: a server that refuses everything passes such cases"}
	case s.seen.writes == 0:
		return nil
	}
	var remarks []string
	for i, effect := range s.spec.Effects {
		if file, ok := effect.(suite.SQLite); ok && !s.seen.appeared[i] {
			remarks = append(remarks, fmt.Sprintf("%s: there never was a file %s: nothing in it was counted", s.spec.Name, file.Path))
		}
	}
	if len(remarks) == 0 && len(s.spec.Effects) > 0 && s.seen.effects == 0 {
		remarks = append(remarks, fmt.Sprintf("%s: no call changed anything that is looked at: is that where the server writes?", s.spec.Name))
	}
	return remarks
}
