package main

import (
	"bytes"
	"errors"
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

// What could not be removed is told, and is no worse than what else went wrong.
func TestLeftoversAreTold(t *testing.T) {
	left := errors.New("remove a: no\nremove \x1b[31mb: no")
	lost := couldNotRun(errors.New("2 runs could not run"))
	for _, test := range []struct {
		name      string
		err, left error
		code      int
		told      string
	}{
		{"nothing", nil, nil, exitPassed, ""},
		{"alone", nil, left, exitCouldNotRun, ""},
		{"after a failed gate", errGateFailed, left, exitGateFailed, "lab: remove a: no\nlab: remove \\u001b[31mb: no\n"},
		{"after lost runs", lost, left, exitCouldNotRun, "lab: remove a: no\nlab: remove \\u001b[31mb: no\n"},
		{"lost runs alone", lost, nil, exitCouldNotRun, ""},
	} {
		var stderr bytes.Buffer
		err := withLeftovers(&stderr, test.err, test.left)
		code := exitPassed
		if exit := (*exitError)(nil); errors.As(err, &exit) {
			code = exit.code
		}
		if code != test.code || stderr.String() != test.told {
			t.Errorf("%s: the code is %d and stderr %q, want %d and %q", test.name, code, stderr.String(), test.code, test.told)
		}
		if test.err == nil && test.left != nil && !errors.Is(err, left) {
			t.Errorf("%s: the error is %v", test.name, err)
		}
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
		s := newSelection("case", []string{test.pattern})
		if got := s.selects(test.id); got != test.want {
			t.Errorf("%q selects %q: %t, want %t", test.pattern, test.id, got, test.want)
		}
		if idle := s.idle() != nil; idle == test.want {
			t.Errorf("%q, having been asked for %q, is idle: %t", test.pattern, test.id, idle)
		}
	}
}
