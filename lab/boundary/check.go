package boundary

import (
	"maps"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// check judges arguments by a tool's own input schema.
type check struct {
	validate validator
	doc      *document
	left     int // how many more subschemas may meet values
}

// validator lists what is wrong with a decoded value.
type validator func(value any) []tool.Violation

// maxMeetings bounds the work of all checks for one tool: a check looks at
// every value of the data with the schemas that meet there.
const maxMeetings = 2_000_000

// compile is the one place where a tool's schema is compiled. A foreign one
// without a $schema is of the dialect that MCP has as its default.
func compile(input []byte, foreign bool) (validator, error) {
	compiled, err := (*schema.Schema)(nil), error(nil)
	if foreign {
		compiled, err = schema.CompileForeign(input, schema.Draft202012)
	} else {
		compiled, err = schema.Compile(input)
	}
	if err != nil {
		return nil, err
	}
	return compiled.Validate, nil
}

// study reads a tool's input schema and compiles the check of it.
func study(d tool.Definition, foreign bool) (*check, error) {
	validate, err := compile(d.InputSchema, foreign)
	if err != nil {
		return nil, err
	}
	root, err := jsonvalue.Decode(d.InputSchema)
	if err != nil {
		return nil, err
	}
	return &check{validate, newDocument(root), maxMeetings}, nil
}

// spend takes a check of a value off what is left of the work.
func (c *check) spend(value any) bool {
	if c.left <= 0 {
		return false
	}
	c.left -= size(value)*c.doc.thick + c.doc.nodes
	if c.doc.steps > 0 {
		c.left -= letters(value) * c.doc.steps / perStep
	}
	return true
}

// perStep is how many steps of a pattern are taken in the time that one
// subschema takes to meet a value.
const perStep = 10

// letters is how many bytes of text a value has.
func letters(value any) int {
	n := 0
	switch v := value.(type) {
	case string:
		n = len(v)
	case []any:
		for _, item := range v {
			n += letters(item)
		}
	case object:
		for _, member := range v {
			n += letters(member)
		}
	}
	return n
}

// faults lists what is wrong with arguments as a tool would see them.
func (c *check) faults(arguments any) []tool.Violation {
	return c.validate(seen(arguments))
}

// refuses reports whether arguments are invalid, with a stand-in for the
// sandbox and as they are written.
func (c *check) refuses(arguments any) bool {
	return proven(c.faults(arguments)) && proven(c.validate(arguments))
}

// proven tells what a schema forbids from what lab/schema will not judge, which
// it tells as a violation of the keyword schema.
func proven(found []tool.Violation) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(v tool.Violation) bool { return v.Keyword == "schema" })
}

func size(value any) int {
	n := 1
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			n += size(item)
		}
	case object:
		for _, member := range v {
			n += 1 + size(member)
		}
	}
	return n
}

// seen is a value with the sandbox's stand-in, as a tool would see it.
func seen(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, sandbox, standIn)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = seen(item)
		}
		return items
	case object:
		members := make(object, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members[name] = seen(v[name])
		}
		return members
	}
	return value
}
