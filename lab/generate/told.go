package generate

import (
	"bytes"
	"maps"
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// What a refusal tells of the call that it refuses: without it nobody can do better.

// violation is what is told of one thing that is wrong with arguments, but for the words.
type violation struct {
	Pointer string `json:"pointer"`
	Keyword string `json:"keyword"`
}

// Few things are wrong, so that a person can read what has to be told.
const (
	mostBroken     = 3
	mostViolations = 8
)

// violations is of a call with which several things are wrong: all of them have to be
// told. It reports whether there is one.
func (s *subject) violations() bool {
	if s.good == nil || s.src.Reach == Bare {
		return false
	}
	broken, told := s.several()
	if len(told) < 2 {
		return false
	}
	l := line{Caller: ptr(s.somebody()), Approved: true, Proposals: []proposal{{Name: &s.Name, Arguments: broken}}}
	l.Expected.Steps = []*step{refused("input", tool.InvalidArguments).with("violations", detail{told})}
	s.probed = s.write(s.probed, clause{"input", "violations", outside}, "several", "Call "+s.Name+" with several things wrong, and be told of all", l.come(0))
	return true
}

// several are arguments with which more is wrong than with others that were tried, and
// what the schema says of them.
func (s *subject) several() (broken []byte, told []violation) {
	names := slices.Sorted(maps.Keys(s.good.members))
	names = names[:min(len(names), mostBroken)]
	for _, value := range []any{nil, []any{}, false} {
		members := maps.Clone(s.good.members)
		for _, name := range names {
			members[name] = value
		}
		members["unexpected_property"] = true
		found := s.input.Validate(members)
		if len(found) <= len(told) || len(found) > mostViolations {
			continue
		}
		told = asked(found)
		broken = jsonvalue.AppendCanonical(nil, members)
	}
	return broken, told
}

// available are the tools that somebody is told of who has called one that is not there.
func (s *subject) available(caller tool.Caller) []string {
	var names []string
	for i := range s.src.Contracts {
		c := &s.src.Contracts[i]
		if (c.Lifecycle == nil || !c.Lifecycle.Retired) && c.Visibility.Admits(caller) && slices.Contains(caller.Permissions, c.Permission) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// pends tells which call has yet to be confirmed: the good one. What stands for the
// folder of a case is another text in every run, and so is the digest of such a call.
func (s *subject) pends(refusal *step) *step {
	if bytes.Contains(s.good.arguments, []byte("${SANDBOX}")) {
		return refusal
	}
	return refusal.with("digest", text(contract.CallDigest(s.Name, s.Version, s.good.arguments)))
}

// keyed tells which argument holds the key of an action of which nobody knows.
func (s *subject) keyed(refusal *step) *step {
	if s.IdempotencyKey == "" {
		return refusal
	}
	return refusal.with("idempotency_key", text(s.IdempotencyKey))
}
