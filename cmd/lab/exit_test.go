package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// brokenWriter panics, as nothing that lab writes to should.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("broken") }

func TestAPanicCouldNotRun(t *testing.T) {
	var stderr bytes.Buffer
	if code := run([]string{"version"}, brokenWriter{}, &stderr); code != exitCouldNotRun {
		t.Errorf("exit code is %d, want %d", code, exitCouldNotRun)
	}
	if !strings.HasPrefix(stderr.String(), "lab: panic: broken\n") {
		t.Errorf("stderr is %q", stderr.String())
	}
	if code := run([]string{"version"}, io.Discard, io.Discard); code != exitPassed {
		t.Errorf("exit code is %d, want %d", code, exitPassed)
	}
}

func TestSelection(t *testing.T) {
	for _, test := range []struct {
		pattern, id string
		want        bool
	}{
		{"read-ticket", "read-ticket", true},
		{"read-ticket", "read-tickets", false},
		{"read-*", "read-ticket", true},
		{"*", "a/b/c", true}, // an id is no path
		{"a?b", "a/b", true},
		{"[a-c]x", "bx", true},
		{"a[b", "a[b", true}, // no glob, but an id
		{"a[b", "ab", false},
		{"", "", true},
		{"READ-*", "read-ticket", false},
	} {
		s := newSelection([]string{test.pattern})
		if got := s.selects(test.id); got != test.want {
			t.Errorf("%q selects %q: %t, want %t", test.pattern, test.id, got, test.want)
		}
		if idle := s.idle() != nil; idle == test.want {
			t.Errorf("%q, having been asked for %q, is idle: %t", test.pattern, test.id, idle)
		}
	}
}
