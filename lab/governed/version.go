package governed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// absent is the version of what is not there.
const absent = "(not there)"

// maxVersion bounds what a refusal shows of a version, in bytes.
const maxVersion = 200

// version asks the server for the version of what a call works on. Where the
// contract's own rules say that what is answered means that it is not there, that
// is its version: what a tool is about to make has one too.
func (s *session) version(ctx context.Context, t *covered, arguments json.RawMessage) (v registry.Version, err error) {
	upstream, err := s.opening.need(ctx) // which is no part of its time
	if err != nil {
		return v, err
	}
	s.opening.atWork()
	ctx, cancel := context.WithTimeout(ctx, t.Contract.Timeout)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	asked, err := t.Precondition.Call(arguments)
	if err != nil {
		return v, fmt.Errorf("the precondition has no arguments: %w", err)
	}
	if _, hidden := t.hidden.inText(string(asked), 0); hidden {
		return v, errors.New("the precondition's arguments hold what is redacted")
	}
	// Two tools may list the same arguments in another order.
	of, err := jsonvalue.Decode(asked)
	if err != nil {
		return v, fmt.Errorf("the precondition has no arguments: %w", err)
	}
	v.Of = short(string(jsonvalue.AppendCanonical([]byte(t.Precondition.Tool+" "), of)))
	result := upstream.Call(ctx, tool.Call{
		Proposal: tool.Proposal{Name: t.Precondition.Tool, Arguments: asked},
	})
	s.heard(&result)
	if s.lost(&result) {
		return v, fmt.Errorf("the precondition's call of %s got no answer", t.Precondition.Tool)
	}
	output, refusal := t.take(&result)
	switch {
	case refusal != nil && refusal.Category == tool.NotFound:
		v.Is = absent
		return v, nil
	case refusal != nil:
		return v, fmt.Errorf("the precondition's call of %s: %w", t.Precondition.Tool, refusal)
	}
	all := make([]string, len(t.Precondition.Fields))
	for i, name := range t.Precondition.Fields {
		var found bool
		if all[i], found = field(output, said(&result), name); !found {
			return v, fmt.Errorf("the answer of %s has no %q", t.Precondition.Tool, name)
		}
		// A refusal shows it.
		if _, hidden := t.hidden.inText(all[i], 0); hidden {
			return v, fmt.Errorf("the %q of %s holds what is redacted", name, t.Precondition.Tool)
		}
		if len(all) > 1 {
			all[i] = name + ": " + short(all[i])
		}
	}
	v.Is = short(strings.Join(all, ", "))
	return v, nil
}

// short is a text, or what stands for one that is too long to be shown.
func short(text string) string {
	if len(text) <= maxVersion {
		return text
	}
	return contract.Fingerprint([]byte(text))
}

// field finds a member of an output, by its way through objects, or else a line
// "name: value" in its texts.
func field(output json.RawMessage, texts []string, name string) (string, bool) {
	value, err := jsonvalue.Decode(output)
	if err == nil {
		if found, ok := member(value, name); ok {
			return found, true
		}
		texts = append(slices.Clone(texts), strs(value)...)
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
				return strings.TrimSpace(value), true
			}
		}
	}
	return "", false
}

func member(value any, name string) (string, bool) {
	for step := range strings.SplitSeq(name, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return "", false
		}
		if value, ok = object[step]; !ok {
			return "", false
		}
	}
	if text, ok := value.(string); ok {
		return text, true
	}
	return string(jsonvalue.AppendCanonical(nil, value)), true
}

// strs are the strings of a value, in a fixed order.
func strs(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			all = append(all, strs(item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, strs(v[name])...)
		}
	}
	return all
}
