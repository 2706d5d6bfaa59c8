// Package shrink makes a failing case smaller as long as it fails: what is left is
// what the failure needs.
//
// Start with [Case], which takes the line of a case and a function that says
// whether a case still fails in the way that is looked into.
//
// One invariant: the result is a valid line of a dataset that fails so, no longer
// than the one given, and none of this package's steps makes it smaller, unless the
// runs were used up. The same line and the same answers give the same result.
//
// What a case expects is not bent until it fails: expectations are dropped, never
// changed. Dropped are proposals (with their steps, and approvals that point at
// them), members and items of what surrounds them, and single expectations; made
// smaller are the arguments of calls and the output of a model. The id, the intent,
// the names of tools and the values that are expected stay.
//
// The package runs nothing and knows no surface.
package shrink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"agentlab/lab/dataset"
)

// Result is a case that was made smaller.
type Result struct {
	Line []byte // without its line end
	Runs int    // how often a case was tried
	Done bool   // no step makes it smaller; else the runs were used up
}

// ErrPasses is the error of a case that does not fail.
var ErrPasses = errors.New("the case does not fail, and so there is nothing to be kept")

// Case shrinks the line of a case. Fails is asked no more than maxRuns times; it is
// handed only what is a case by the settings. Errors: [ErrPasses], that the line is
// no case, that of fails, or of ctx.
func Case(ctx context.Context, line []byte, settings dataset.Settings, maxRuns int, fails func(context.Context, *dataset.Case) (bool, error)) (Result, error) {
	root, err := parse(line)
	if err != nil {
		return Result{}, fmt.Errorf("the line is no case: %w", err)
	}
	s := &shrinking{ctx: ctx, settings: settings, fails: fails, most: maxRuns, tried: make(map[[32]byte]bool)}
	// The line as it is written here fails as it did, or nothing can be said.
	best := root.append(nil)
	failed, err := s.try(best)
	switch {
	case err != nil:
		return Result{}, err
	case !failed:
		return Result{Runs: s.runs}, ErrPasses
	}
	for shrunk := true; shrunk; {
		shrunk = false
		all := steps(root)
		for at := 0; at < len(all); {
			next := all[at]()
			text := next.append(nil)
			if !less(text, best) || s.tried[sha256.Sum256(text)] {
				at++
				continue
			}
			if s.runs >= s.most {
				return Result{best, s.runs, false}, nil
			}
			failed, err := s.try(text)
			if err != nil {
				return Result{}, err
			}
			if !failed {
				at++
				continue
			}
			// The place is kept: what comes next there has not been tried.
			root, best, shrunk = next, text, true
			all = steps(root)
		}
	}
	return Result{best, s.runs, true}, nil
}

// less is the order in which a case becomes smaller. It has no endless way down.
func less(a, b []byte) bool {
	return len(a) < len(b) || len(a) == len(b) && bytes.Compare(a, b) < 0
}

type shrinking struct {
	ctx      context.Context
	settings dataset.Settings
	fails    func(context.Context, *dataset.Case) (bool, error)
	runs     int
	most     int
	tried    map[[32]byte]bool // digests of lines that did not fail so, or are no cases
}

// try reports whether a line is a case that fails.
func (s *shrinking) try(line []byte) (bool, error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	c, err := read(line, s.settings)
	if err != nil {
		if s.runs == 0 {
			return false, err // it is the first, and the user's own
		}
		s.tried[sha256.Sum256(line)] = true
		return false, nil
	}
	s.runs++
	failed, err := s.fails(s.ctx, c)
	if err == nil && !failed {
		s.tried[sha256.Sum256(line)] = true
	}
	return failed, err
}

// read reads one line as a dataset of its own.
func read(line []byte, settings dataset.Settings) (*dataset.Case, error) {
	cases := settings.Open(dataset.Source{Name: "case", Path: "the case", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(line)), nil
	}})
	defer cases.Close()
	batch, err := cases.Next()
	if err != nil {
		return nil, err
	}
	decoded := batch.Decode()
	switch {
	case len(decoded.Faults) > 0:
		f := decoded.Faults[0]
		return nil, fmt.Errorf("%s: %s", f.Field, f.Reason)
	case len(decoded.Lines) != 1:
		return nil, errors.New("it is not one case")
	}
	return decoded.Lines[0].Case, nil
}
