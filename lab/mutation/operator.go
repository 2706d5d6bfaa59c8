package mutation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"agentlab/lab/registry"
)

// Operator is one way of weakening a registry.
type Operator struct {
	Name    string
	Control string // the one that it weakens; empty: each of them
	// Does and Unchecked are those of its mutants, where the words CONTROL, TOOL and
	// PLACE stand for what a mutant is of.
	Does      string
	Unchecked string
	// Needs says what a surface must have for the operator to have a place there;
	// empty: nothing.
	Needs string

	spots func(v *view) []spot
}

// spot is one place of a surface that an operator weakens.
type spot struct {
	control string // where the operator has none
	tool    string
	place   string
	weaker  registry.Variant
}

// mutant is a [Mutant] with what makes it.
type mutant struct {
	Mutant
	weaker registry.Variant
}

// Operators are all of them, in the order of the controls that they weaken; those
// that weaken each control come first.
func Operators() []Operator {
	return slices.Concat(everyControl, ofBudget, ofLookup, ofInput, ofPermission, ofApproval, ofRate, ofDeadline, ofIdempotency, ofHandler, ofOutput)
}

// Mutants are those that the operators make of a surface, in the order of the
// controls, of operators and of contracts. It opens one session, and calls nothing.
func Mutants(ctx context.Context, subject Subject) ([]Mutant, error) {
	made, err := mutants(ctx, subject)
	if err != nil {
		return nil, err
	}
	told := make([]Mutant, len(made))
	for i := range made {
		told[i] = made[i].Mutant
	}
	return told, nil
}

func mutants(ctx context.Context, subject Subject) ([]mutant, error) {
	v, err := look(ctx, subject)
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, o := range Operators() {
		if o.Control != "" && !slices.Contains(v.controls, o.Control) {
			continue
		}
		for _, s := range o.spots(v) {
			all = append(all, o.mutant(s))
		}
	}
	order := make(map[string]int)
	for i, name := range v.controls {
		order[name] = i
	}
	slices.SortStableFunc(all, func(a, b mutant) int { return cmp.Compare(order[a.Control], order[b.Control]) })
	taken := make(map[string]bool, len(all))
	for _, m := range all {
		if taken[m.ID] {
			return nil, fmt.Errorf("%s: two mutants are %s", subject.Name(), m.ID)
		}
		taken[m.ID] = true
	}
	return all, nil
}

func (o *Operator) mutant(s spot) mutant {
	m := Mutant{ID: o.Name, Operator: o.Name, Control: cmp.Or(o.Control, s.control), Tool: s.tool, Place: s.place}
	if who := cmp.Or(s.control, s.tool); who != "" {
		m.ID += "/" + who
	}
	if s.place != "" {
		m.ID += "/" + strings.TrimPrefix(s.place, "/")
	}
	words := strings.NewReplacer("CONTROL", m.Control, "TOOL", s.tool, "PLACE", s.place)
	m.Does, m.Unchecked = words.Replace(o.Does), words.Replace(o.Unchecked)
	return mutant{m, s.weaker}
}
