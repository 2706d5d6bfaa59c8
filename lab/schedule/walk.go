package schedule

import (
	"errors"
	"fmt"
	"slices"
)

// walk goes through the orders of the steps of a variation, each time from the
// beginning. Of orders that differ only in steps that are independent of each other
// it goes through one: where a step was tried and another, independent of it, is
// tried next, the first need not come right after it (sleep sets: Godefroid,
// Partial-Order Methods for the Verification of Concurrent Systems, 1996).
type walk struct {
	independent func(a, b choice) bool
	forks       []fork
	depth       int
}

// fork is a place at which more than one step could be next.
type fork struct {
	choices []choice
	taken   int
	asleep  []choice // steps that need not be tried here
}

// errAsleep is the end of an order that comes to the same as one before it.
var errAsleep = errors.New("every step that could be next was tried elsewhere")

func (w *walk) choose(choices []choice) (int, error) {
	if w.depth == len(w.forks) {
		f := fork{choices: choices, taken: -1}
		if w.depth > 0 {
			f.asleep = w.inherited(&w.forks[w.depth-1])
		}
		if !f.next() {
			return 0, errAsleep
		}
		w.forks = append(w.forks, f)
	}
	f := &w.forks[w.depth]
	if !slices.Equal(f.choices, choices) {
		return 0, fmt.Errorf("the same beginning of a schedule goes on with one of %v, and then of %v: something depends on more than the schedule", f.choices, choices)
	}
	w.depth++
	return f.taken, nil
}

// inherited are the steps that were tried before the one that was taken, and come
// to the same after it.
func (w *walk) inherited(f *fork) (asleep []choice) {
	taken := f.choices[f.taken]
	for _, c := range slices.Concat(f.asleep, f.choices[:f.taken]) {
		if c != taken && w.independent(c, taken) && !slices.Contains(asleep, c) {
			asleep = append(asleep, c)
		}
	}
	return asleep
}

// next turns to the next step that is not asleep.
func (f *fork) next() bool {
	for f.taken++; f.taken < len(f.choices); f.taken++ {
		if !slices.Contains(f.asleep, f.choices[f.taken]) {
			return true
		}
	}
	return false
}

// next turns to the next order. It reports false where there is none.
func (w *walk) next() bool {
	w.forks, w.depth = w.forks[:w.depth], 0
	for len(w.forks) > 0 {
		if w.forks[len(w.forks)-1].next() {
			return true
		}
		w.forks = w.forks[:len(w.forks)-1]
	}
	return false
}

// independent reports whether two steps come to the same in either order. What
// only reads its own call does so with every step but the event.
func (v *variation) independent(a, b choice) bool {
	switch {
	case a.call == b.call:
		return false
	case a.call == 0:
		return v.withEvent(b)
	case b.call == 0:
		return v.withEvent(a)
	}
	return v.alone(a) || v.alone(b)
}

// alone reports whether a step touches nothing but its own call. The output is
// looked at there; what has failed gives its grant back.
func (v *variation) alone(c choice) bool {
	switch c.step {
	case stopStart, stopTold:
		return true
	case stopAnswer:
		return c.call != 1 || v.hazard.fault == ""
	}
	return false
}

// withEvent reports whether a step is independent of the event.
func (v *variation) withEvent(c choice) bool {
	switch v.hazard.event {
	case givesUp: // one caller does, and its call is made again
		return c.call != 1
	case jumps: // the time is read when a call starts, and by the work
		return c.step != stopStart && c.step != stopHandler
	}
	return false
}
