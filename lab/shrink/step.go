package shrink

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/jsonvalue"
)

// step makes a smaller case of the one that it was made for, or at least another.
type step func() *node

// steps are all that can be tried of a case, the greatest first.
func steps(root *node) []step {
	all := droppedProposals(root)
	rest := within(root, rootRule)
	return append(all, rest...)
}

// rule says what may be done with a value.
type rule struct {
	drop    bool             // its members or items may go
	scalars bool             // what is in it may be made smaller, however deep
	members map[string]*rule // rules of particular members
	others  *rule            // of all other members, and of items
	keep    map[string]bool  // members that stay as they are
}

var (
	// whole is what stays as it is, or goes with what it is in.
	whole = &rule{}
	// free is what a proposal says: anything may be made of it.
	free = func() *rule {
		r := &rule{drop: true, scalars: true}
		r.others = r
		return r
	}()
	// text is one string that may be made shorter.
	text = &rule{scalars: true}
	// around is what surrounds a call: parts of it may go.
	around = func() *rule {
		r := &rule{drop: true}
		r.others = r
		return r
	}()
	// part is what an output has to hold: members may go, as less is expected then.
	// Items may not: those of an array are all that there have to be.
	part = func() *rule {
		r := &rule{drop: true}
		r.others = r
		return r
	}()

	proposalRule = &rule{drop: true, others: around, keep: map[string]bool{"name": true},
		members: map[string]*rule{"arguments": free, "raw": text, "name": whole, "format": whole}}
	listRule     = &rule{drop: true, others: proposalRule}
	approvalRule = &rule{drop: true, others: around, keep: map[string]bool{"proposal": true},
		members: map[string]*rule{"call": proposalRule}}
	stepRule = &rule{drop: true, others: whole, members: map[string]*rule{"output": part, "details": part}}
	rootRule = &rule{drop: true, others: around,
		keep: map[string]bool{"case_id": true, "intent": true, "expected": true},
		members: map[string]*rule{
			"case_id": whole, "intent": whole, "todo": whole, "clause": whole,
			"proposals": listRule, "baseline_calls": listRule, "candidate_calls": listRule,
			"calls":     {drop: true, others: listRule},
			"approvals": {drop: true, others: approvalRule},
			"expected": {drop: true, others: whole, members: map[string]*rule{
				"steps": {others: stepRule}, "state": part,
			}},
		}}
)

func (r *rule) of(name string) *rule {
	if m := r.members[name]; m != nil {
		return m
	}
	if r.others != nil {
		return r.others
	}
	return whole
}

// within are the steps inside of a value, by its rule.
func within(n *node, r *rule) []step {
	var all []step
	switch {
	case n.kind == '{' && r.drop:
		for i, name := range n.names {
			if !r.keep[name] {
				all = append(all, func() *node { return n.without(i, i+1) })
			}
		}
	case n.kind == '[' && r.drop && r != part:
		all = append(all, ranges(n)...)
	case r.scalars:
		all = append(all, smallerScalars(n)...)
	}
	for i, value := range n.values {
		inner := r.of("")
		if n.kind == '{' {
			inner = r.of(n.names[i])
		}
		for _, one := range within(value, inner) {
			all = append(all, func() *node { return n.with(i, one()) })
		}
	}
	return all
}

// ranges drop items: all, halves, quarters, down to each alone.
func ranges(n *node) []step {
	var all []step
	for size := len(n.values); size > 0; size /= 2 {
		for from := 0; from < len(n.values); from += size {
			all = append(all, func() *node { return n.without(from, from+size) })
		}
	}
	return all
}

// smallerScalars are shorter strings and simpler numbers.
func smallerScalars(n *node) []step {
	var all []step
	add := func(literal []byte) {
		all = append(all, func() *node { return &node{kind: n.kind, scalar: literal} })
	}
	switch n.kind {
	case '"':
		add([]byte(`""`))
		quoted, err := jsontext.AppendUnquote(nil, n.scalar)
		if err != nil {
			break // it cannot be written otherwise than it is
		}
		for _, shorter := range shorterTexts(string(quoted)) {
			add(jsonvalue.AppendString(nil, shorter))
		}
	case '0':
		add([]byte("0"))
		add([]byte("1"))
		if value, err := jsonvalue.Decode(n.scalar); err == nil {
			add(jsonvalue.AppendCanonical(nil, value))
		}
		if whole, err := strconv.ParseFloat(string(n.scalar), 64); err == nil && whole > -1e15 && whole < 1e15 {
			add(strconv.AppendInt(nil, int64(whole), 10))
			add(strconv.AppendInt(nil, int64(whole)/2, 10))
			add(strconv.AppendInt(nil, int64(whole)/10, 10))
		}
	}
	return all
}

// maxSingles is how long a text may be for each of its characters to be tried.
const maxSingles = 200

// shorterTexts are a text without one of its halves, quarters and so on.
func shorterTexts(text string) []string {
	runes := []rune(text)
	if !utf8.ValidString(text) {
		return nil
	}
	var all []string
	for size := (len(runes) + 1) / 2; size > 0; size /= 2 {
		if size == 1 && len(runes) > maxSingles {
			// The last alone: a bound on a length is found, and no long way to it.
			all = append(all, string(runes[:len(runes)-1]))
			break
		}
		for from := 0; from < len(runes); from += size {
			all = append(all, string(runes[:from])+string(runes[min(from+size, len(runes)):]))
		}
	}
	return all
}
