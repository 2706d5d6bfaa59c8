package boundary

import (
	"encoding/json"
	"maps"
	"slices"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Limits of a search.
const (
	maxAttempts = 100 // for each depth
	maxReport   = 20  // faults of one attempt that are answered
)

// depths are how deep values may lie inside of values, tried in turn: most
// schemas are shallow, and one that is not often only loops.
var depths = []int{8, 32}

// plain is a valid call, and how it was found.
type plain struct {
	arguments object
	builder   *builder
	root      *demand
}

// Plain builds the smallest call of a tool that its input schema allows and
// that says something; the package comment tells by which rules. The arguments
// are a JSON object in canonical form. An error is of lab/schema, where the
// schema cannot be used, or an [*Unmet] that names the place for which no value
// was found.
func Plain(d tool.Definition) (arguments json.RawMessage, err error) {
	c, err := study(d, true)
	if err != nil {
		return nil, err
	}
	p, err := c.plain()
	if err != nil {
		return nil, err
	}
	return jsonvalue.AppendCanonical(nil, p.arguments), nil
}

// plain searches for a valid call.
func (c *check) plain() (*plain, error) {
	var first error
	for _, depth := range depths {
		p, err := c.search(depth)
		if err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// anObject is what the arguments of a call are, whatever the schema says.
var anObject = object{"type": "object"}

func (c *check) search(depth int) (*plain, error) {
	options := newChoices()
	schemas := []any{c.doc.root, anObject}
	var first error
	for range maxAttempts {
		options.begin()
		b := newBuilder(c.doc, options, depth)
		value, err := b.value(site{}, schemas)
		var places []string
		switch fault := err.(type) {
		case nil:
			if !c.spend(value) {
				if first == nil {
					first = unmet("", "finding a value takes too much work")
				}
				return nil, first
			}
			found := c.faults(value)
			if found == nil {
				return c.found(value, options, schemas)
			}
			err = unmet(found[0].Pointer, "%s", "no value was found that the schema allows: "+clip(found[0].Message, 200))
			for _, violation := range found[:min(len(found), maxReport)] {
				places = append(places, violation.Pointer)
			}
		case *Unmet:
			places = []string{fault.Place}
		}
		if first == nil {
			first = err
		}
		moved := false
		for _, place := range slices.Compact(places) {
			moved = options.advance(place) || moved
		}
		if !moved {
			break
		}
	}
	return nil, first
}

// found settles on a valid call. Its choices stay as they are.
func (c *check) found(value any, options *choices, schemas []any) (*plain, error) {
	members, ok := value.(object)
	if !ok {
		return nil, unmet("", "the arguments are no object")
	}
	// An example can be nested so deep that no case could hold it.
	form := append(jsonvalue.AppendCanonical([]byte(`[[[`), members), `]]]`...)
	if _, err := jsonvalue.Decode(form); err != nil {
		return nil, unmet("", "no case can hold them: %s", err)
	}
	settled := &choices{picked: maps.Clone(options.picked)}
	settled.begin()
	b := newBuilder(c.doc, settled, depths[len(depths)-1])
	root, err := b.gather("", schemas)
	if err != nil {
		return nil, err
	}
	if _, root, err = b.present(site{}, root, schemas); err != nil {
		return nil, err
	}
	return &plain{members, b, root}, nil
}
