package shrink

import (
	"encoding/json"
	"strconv"
)

// droppedProposals drop proposals from every list of the case at once, with what is
// expected of them. Approvals that showed one of them go too, and those that showed
// a later one point at its new place.
func droppedProposals(root *node) []step {
	most := 0
	for _, l := range lists(root) {
		most = max(most, len(l.values))
	}
	var all []step
	for size := most - 1; size > 0; size /= 2 {
		for from := 0; from < most; from += size {
			all = append(all, func() *node { return withoutProposals(root, from, min(from+size, most)) })
		}
	}
	return all
}

// listNames are the members of a case that hold one list of proposals.
var listNames = []string{"proposals", "baseline_calls", "candidate_calls"}

// lists are all lists of proposals.
func lists(root *node) []*node {
	var all []*node
	for _, name := range listNames {
		if list, ok := root.member(name); ok && list.kind == '[' {
			all = append(all, list)
		}
	}
	if calls, ok := root.member("calls"); ok {
		for _, list := range calls.values {
			if list.kind == '[' {
				all = append(all, list)
			}
		}
	}
	return all
}

func withoutProposals(root *node, from, to int) *node {
	for _, name := range listNames {
		if list, ok := root.member(name); ok {
			root = root.withMember(name, withoutRange(list, from, to))
		}
	}
	if calls, ok := root.member("calls"); ok {
		for i, list := range calls.values {
			calls = calls.with(i, withoutRange(list, from, to))
		}
		root = root.withMember("calls", calls)
	}
	if expected, ok := root.member("expected"); ok {
		if steps, ok := expected.member("steps"); ok {
			root = root.withMember("expected", expected.withMember("steps", withoutRange(steps, from, to)))
		}
	}
	if approvals, ok := root.member("approvals"); ok && approvals.kind == '[' {
		root = root.withMember("approvals", mended(approvals, from, to))
	}
	return root
}

func withoutRange(n *node, from, to int) *node {
	if n.kind != '[' || from >= len(n.values) {
		return n
	}
	return n.without(from, to)
}

// mended are the approvals of what is left when some proposals are gone.
func mended(approvals *node, from, to int) *node {
	left := &node{kind: '['}
	for _, approval := range approvals.values {
		if index, ok := approval.member("proposal"); ok {
			at, err := strconv.Atoi(string(index.scalar))
			switch {
			case err != nil || at < from:
			case at < to:
				continue
			default:
				moved := strconv.Itoa(at - (to - from))
				approval = approval.withMember("proposal", &node{kind: '0', scalar: json.RawMessage(moved)})
			}
		}
		left.values = append(left.values, approval)
	}
	return left
}
