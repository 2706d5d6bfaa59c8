package main

import (
	"fmt"
	"path"
	"strings"
	"sync/atomic"
)

// selection is the cases that --case asks for, and which of its patterns have
// found one. It is safe for concurrent use.
type selection struct {
	patterns []string
	matched  []atomic.Bool
}

func newSelection(patterns []string) (*selection, error) {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("--case %q: %w", pattern, err)
		}
	}
	return &selection{patterns, make([]atomic.Bool, len(patterns))}, nil
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

// unmatched returns the patterns that have found no case.
func (s *selection) unmatched() []string {
	var idle []string
	for i, pattern := range s.patterns {
		if !s.matched[i].Load() {
			idle = append(idle, pattern)
		}
	}
	return idle
}
