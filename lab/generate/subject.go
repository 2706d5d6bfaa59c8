package generate

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"agentlab/lab/boundary"
	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// subject is the tool that cases are written for.
type subject struct {
	*writer
	contract.Contract
	input *schema.Schema
	good  *good // nil: nobody knows a call that succeeds
	// other is the good call with another value of an argument that is neither the
	// key nor a resource; nil where there is none.
	other json.RawMessage
	// otherKey is the good call as another action; nil where there is no key.
	otherKey json.RawMessage
	// withOther is how many effects the good call has and then the other one as another
	// action, withOtherKey what the good call has and then again as another action: -1
	// where nobody knows.
	withOther, withOtherKey int
	noGood                  json.RawMessage // see invalid

	cases    []Case // of the contract beside its schemas
	chosen   []Case // of these, what is taken
	probed   []Case // of the input schema
	coverage []Covered
}

// good is a call that succeeds.
type good struct {
	sure      bool // else it is only what the schema describes, and may fail
	arguments json.RawMessage
	members   map[string]any // decoded
	caller    tool.Caller
	effects   int           // -1: nobody has said
	took      time.Duration // on a simulated clock
	output    json.RawMessage
	whole     json.RawMessage // the output with nothing redacted or too large; nil: not known
}

// newSubject finds out what has to be known of a tool beside its contract.
func (w *writer) newSubject(ctx context.Context, c contract.Contract) (*subject, error) {
	s := &subject{writer: w, Contract: c, withOther: -1, withOtherKey: -1}
	compile := schema.Compile
	if c.Foreign {
		compile = func(document []byte) (*schema.Schema, error) {
			return schema.CompileForeign(document, schema.Draft202012)
		}
	}
	var err error
	if s.input, err = compile(c.InputSchema); err != nil {
		s.leaveOut("schema", err.Error())
		return s, nil
	}
	if s.retired() {
		return s, nil
	}
	if err := s.findGood(ctx); err != nil {
		return nil, err
	}
	if s.good == nil {
		if s.src.Reach > Bare {
			s.leaveOut("what succeeds", "no call is known to succeed: name cases that hold one")
			s.standIn()
		}
		return s, nil
	}
	s.findOther()
	return s, s.tryOthers(ctx)
}

// standIn is the plain call, for whatever is refused before a handler could fail.
func (s *subject) standIn() {
	plain, err := boundary.Plain(s.Definition)
	if err != nil {
		return
	}
	if arguments, members := s.valid(plain); arguments != nil {
		s.good = &good{arguments: arguments, members: members, caller: s.caller(tool.Caller{}), effects: -1}
		s.findOther()
	}
}

func (s *subject) retired() bool { return s.Lifecycle != nil && s.Lifecycle.Retired }

// caller is somebody whom the contract lets make the call: what a known caller has,
// and what the contract asks for.
func (s *subject) caller(known tool.Caller) tool.Caller {
	c := tool.Caller{ID: callerID, Permissions: []string{}, Task: known.Task, Environment: known.Environment}
	add := func(permission string) {
		if permission != "" && !slices.Contains(c.Permissions, permission) {
			c.Permissions = append(c.Permissions, permission)
		}
	}
	add(s.Permission)
	for _, p := range known.Permissions {
		add(p)
	}
	if v := s.Visibility; v != nil {
		if len(v.Permissions) > 0 && !slices.ContainsFunc(v.Permissions, func(p string) bool { return slices.Contains(c.Permissions, p) }) {
			add(v.Permissions[0])
		}
		if len(v.Tasks) > 0 && !slices.Contains(v.Tasks, c.Task) {
			c.Task = v.Tasks[0]
		}
		if len(v.Environments) > 0 && !slices.Contains(v.Environments, c.Environment) {
			c.Environment = v.Environments[0]
		}
	}
	return c
}

const (
	callerID = "agent"
	otherID  = "other-agent"
)

// somebody is who calls where nothing is known to succeed.
func (s *subject) somebody() tool.Caller {
	if s.good != nil {
		return s.good.caller
	}
	return s.caller(tool.Caller{})
}

// findGood takes the first of the known calls, and of those that could be, that
// succeeds.
func (s *subject) findGood(ctx context.Context) error {
	var found []Known
	for _, k := range s.src.Known {
		if k.Proposal.Name == s.Name {
			found = append(found, k)
		}
	}
	// A write that is known to change something says more than one that is not.
	slices.SortStableFunc(found, func(a, b Known) int {
		return worth(b, s.Effect) - worth(a, s.Effect)
	})
	if s.trial != nil {
		found = append(found, s.borrowed()...)
	}
	for _, k := range found {
		arguments, members := s.valid(k.Proposal.Arguments)
		if arguments == nil {
			continue
		}
		g := &good{sure: true, arguments: arguments, members: members, caller: s.caller(k.Caller), effects: k.Effects}
		if !s.Effect.Changes() {
			g.effects = 0
		}
		if s.src.Reach == Bare {
			g.caller = tool.Caller{}
		}
		if s.trial == nil {
			s.good = g
			return nil
		}
		o, err := s.trial.play(ctx, s.trial.surface, &s.Contract, g.caller, s.proposal(arguments))
		if err != nil {
			return err
		}
		if result := o.last(); result.OK() {
			g.effects, g.took, g.output = o.effects, result.Took, result.Output
			s.good = g
			return s.showWhole(ctx)
		}
	}
	return nil
}

func worth(k Known, e contract.Effect) int {
	if e.Changes() && k.Effects > 0 {
		return 1
	}
	return 0
}

// showWhole asks for the answer of the good call as the handler gives it.
func (s *subject) showWhole(ctx context.Context) error {
	if s.trial.whole == nil || s.Output == nil {
		return nil
	}
	o, err := s.trial.play(ctx, s.trial.whole, &s.Contract, s.good.caller, s.proposal(s.good.arguments))
	if err == nil && o.last().OK() {
		s.good.whole = o.last().Output
	}
	return err
}

func (s *subject) proposal(arguments json.RawMessage) tool.Proposal {
	return tool.Proposal{Name: s.Name, Arguments: arguments}
}

// borrowed are calls that could succeed: the plain one, with what known calls of
// other tools have as arguments of the same names.
func (s *subject) borrowed() []Known {
	plain, err := boundary.Plain(s.Definition)
	if err != nil {
		return nil
	}
	decoded, err := jsonvalue.Decode(plain)
	members, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	calls := []Known{{Proposal: s.proposal(plain), Effects: -1}}
	for _, k := range s.src.Known {
		lent, _ := jsonvalue.Decode(k.Proposal.Arguments)
		lender, _ := lent.(map[string]any)
		mine, changed := maps.Clone(members), false
		for name := range mine {
			if value, has := lender[name]; has {
				mine[name], changed = value, true
			}
		}
		if changed {
			calls = append(calls, Known{s.proposal(jsonvalue.AppendCanonical(nil, mine)), k.Caller, -1})
		}
	}
	return calls
}

// valid returns the canonical form of arguments that the input schema allows, and
// their tree; nil for others.
func (s *subject) valid(arguments json.RawMessage) (json.RawMessage, map[string]any) {
	decoded, err := jsonvalue.Decode(arguments)
	members, ok := decoded.(map[string]any)
	if err != nil || !ok || len(s.input.Validate(decoded)) > 0 {
		return nil, nil
	}
	return jsonvalue.AppendCanonical(nil, members), members
}

// findOther makes other calls of the good one.
func (s *subject) findOther() {
	fixed := func(name string) bool {
		return name == s.IdempotencyKey ||
			slices.ContainsFunc(s.Resources, func(r contract.Resource) bool { return r.Argument == name })
	}
	if key, ok := s.good.members[s.IdempotencyKey].(string); ok && s.IdempotencyKey != "" {
		s.otherKey = s.changed(s.IdempotencyKey, key+"-2", "2-"+key, flipped(key))
	}
	for _, name := range slices.Sorted(maps.Keys(s.good.members)) {
		if s.other != nil || fixed(name) {
			continue
		}
		switch v := s.good.members[name].(type) {
		case string:
			if boundary.NamesPath(name) {
				continue
			}
			s.other = s.changed(name, v+"!", v+" again", flipped(v))
		case json.Number:
			s.other = s.changed(name, json.Number("1"), json.Number("2"), json.Number("3"))
		case bool:
			s.other = s.changed(name, !v)
		}
	}
}

// flipped is a text of the same length that ends otherwise.
func flipped(text string) string {
	if text == "" {
		return "x"
	}
	last := "0"
	if strings.HasSuffix(text, last) {
		last = "1"
	}
	runes := []rune(text)
	return string(runes[:len(runes)-1]) + last
}

// changed is the good call with the first of some values of an argument that makes
// it another one that is valid; nil where none does.
func (s *subject) changed(name string, values ...any) json.RawMessage {
	for _, value := range values {
		members := maps.Clone(s.good.members)
		members[name] = value
		form := jsonvalue.AppendCanonical(nil, members)
		if string(form) == string(s.good.arguments) {
			continue
		}
		if len(s.input.Validate(members)) == 0 {
			return form
		}
	}
	return nil
}

// tryOthers asks what the good call and another come to.
func (s *subject) tryOthers(ctx context.Context) error {
	if s.trial == nil || !s.Effect.Changes() {
		return nil
	}
	for _, one := range []struct {
		arguments json.RawMessage
		effects   *int
	}{{s.withKeyOf(s.other), &s.withOther}, {s.otherKey, &s.withOtherKey}} {
		if one.arguments == nil {
			continue
		}
		o, err := s.trial.play(ctx, s.trial.surface, &s.Contract, s.good.caller, s.proposal(s.good.arguments), s.proposal(one.arguments))
		if err != nil {
			return err
		}
		if o.results[0].OK() && o.results[1].OK() {
			*one.effects = o.effects
		}
	}
	return nil
}

// withKeyOf is a call as another action, so that it is done beside the good one.
func (s *subject) withKeyOf(arguments json.RawMessage) json.RawMessage {
	if arguments == nil || s.otherKey == nil {
		return arguments
	}
	decoded, _ := jsonvalue.Decode(arguments)
	other, _ := jsonvalue.Decode(s.otherKey)
	members, _ := decoded.(map[string]any)
	members[s.IdempotencyKey] = other.(map[string]any)[s.IdempotencyKey]
	return jsonvalue.AppendCanonical(nil, members)
}

// times is how many effects so many calls of the good one have, all with one key: -1
// where nobody knows.
func (s *subject) times(n int) int {
	switch {
	case !s.good.sure:
		return -1
	case !s.Effect.Changes():
		return 0
	case s.good.effects < 0:
		return -1
	case s.IdempotencyKey != "":
		return s.good.effects
	case n == 1:
		return s.good.effects
	}
	return -1
}
