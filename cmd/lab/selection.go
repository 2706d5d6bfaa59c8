package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
)

// selection is what a flag asks for by patterns of ids (the cases of --case), and
// which of its patterns have found one. It is safe for concurrent use.
type selection struct {
	what     string // the flag, which is called what it selects
	patterns []string
	matched  []atomic.Bool
}

func newSelection(what string, patterns []string) *selection {
	return &selection{what, patterns, make([]atomic.Bool, len(patterns))}
}

// selects reports whether some pattern is the id or matches it as a glob.
func (s *selection) selects(id string) bool {
	selected := false
	for i, pattern := range s.patterns {
		if pattern == id || globs(pattern, id) {
			s.matched[i].Store(true)
			selected = true
		}
	}
	return selected
}

// globs matches like path.Match, but * and ? take a slash as well: an id is no
// path.
func globs(pattern, id string) bool {
	unslashed := strings.NewReplacer("/", "\x00")
	matches, _ := path.Match(unslashed.Replace(pattern), unslashed.Replace(id))
	return matches
}

// idle is the error of the patterns that have found nothing, or nil.
func (s *selection) idle() error {
	var faults []error
	for i, pattern := range s.patterns {
		if s.matched[i].Load() {
			continue
		}
		err := fmt.Errorf("no %s matches --%s %q", s.what, s.what, pattern)
		if _, bad := path.Match(pattern, ""); bad != nil {
			err = fmt.Errorf("%w: it is no id, and as a glob: %w", err, bad)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
