package mutation

import (
	"fmt"
	"slices"
	"strings"
)

// chosen are the mutants of one of some patterns, each of which some mutant is of;
// all of them where there is none.
func chosen(patterns []string, all []mutant) ([]mutant, error) {
	if len(patterns) == 0 && len(all) == 0 {
		return nil, ErrNoMutant
	}
	if len(patterns) == 0 {
		return all, nil
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(all, func(m mutant) bool { return matches(p, m.ID) }) {
			return nil, fmt.Errorf("%w: %s", ErrNoMutant, p)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool { return matches(p, m.ID) })
	}), nil
}

// matches reports whether an id is of a pattern, in which * stands for anything.
func matches(pattern, id string) bool {
	pieces := strings.Split(pattern, "*")
	last := len(pieces) - 1
	rest, ok := strings.CutPrefix(id, pieces[0])
	if !ok || last == 0 {
		return ok && rest == ""
	}
	for _, piece := range pieces[1:last] {
		at := strings.Index(rest, piece)
		if at < 0 {
			return false
		}
		rest = rest[at+len(piece):]
	}
	return strings.HasSuffix(rest, pieces[last])
}

// waive excuses the survivors that there is a waiver for, and finds the waivers that
// excuse nothing. Those of mutants that were not looked at are left alone.
func (m *Matrix) waive(waivers []Waiver, all []mutant) {
	for _, w := range waivers {
		at := slices.IndexFunc(m.Outcomes, func(o Outcome) bool { return o.ID == w.Mutant })
		switch {
		case at >= 0 && m.Outcomes[at].Status.Noticed():
			w.Why = "the mutant is noticed"
			m.Stale = append(m.Stale, w)
		case at >= 0:
			m.Outcomes[at].Status, m.Outcomes[at].Reason = Equivalent, w.Reason
		case !slices.ContainsFunc(all, func(one mutant) bool { return one.ID == w.Mutant }):
			w.Why = "there is no such mutant"
			m.Stale = append(m.Stale, w)
		}
	}
}

// count adds up the scores, and finds the cases that nothing would be lost without.
func (m *Matrix) count() {
	for i := range m.Outcomes {
		o := &m.Outcomes[i]
		if n := len(m.Controls); n == 0 || m.Controls[n-1].Control != o.Control {
			m.Controls = append(m.Controls, Score{Control: o.Control})
		}
		m.Controls[len(m.Controls)-1].add(o.Status)
		m.Total.add(o.Status)
	}
	if !m.Full {
		return
	}
	alone := make(map[string]bool)
	for i := range m.Outcomes {
		if kills := m.Outcomes[i].Kills; len(kills) == 1 {
			alone[kills[0].Case] = true
		}
	}
	for _, id := range m.Cases {
		if !alone[id] {
			m.Idle = append(m.Idle, id)
		}
	}
}

func (s *Score) add(status Status) {
	s.Mutants++
	switch {
	case status.Noticed():
		s.Noticed++
	case status == Survived:
		s.Survived++
	case status == NoCoverage:
		s.NoCoverage++
	case status == Equivalent:
		s.Equivalent++
	}
}
