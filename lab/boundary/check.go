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
	compiled *schema.Schema
	doc      *document
	left     int // how many more subschemas may meet values
}

// maxMeetings bounds the work of all checks for one tool: a check looks at
// every value of the data with the schemas that meet there.
const maxMeetings = 2_000_000

// compile is the one place where a tool's schema is compiled.
func compile(input []byte) (*schema.Schema, error) { return schema.Compile(input) }

// study reads a tool's input schema and compiles the check of it.
func study(d tool.Definition) (*check, error) {
	compiled, err := compile(d.InputSchema)
	if err != nil {
		return nil, err
	}
	root, err := jsonvalue.Decode(d.InputSchema)
	if err != nil {
		return nil, err
	}
	return &check{compiled, newDocument(root), maxMeetings}, nil
}

// spend takes a check of a value off what is left of the work.
func (c *check) spend(value any) bool {
	if c.left <= 0 {
		return false
	}
	c.left -= size(value)*c.doc.thick + c.doc.nodes
	return true
}

// faults lists what is wrong with arguments as a tool would see them.
func (c *check) faults(arguments any) []tool.Violation {
	return c.compiled.Validate(seen(arguments))
}

// refuses reports whether arguments are invalid, with a stand-in for the
// sandbox and as they are written.
func (c *check) refuses(arguments any) bool {
	return c.faults(arguments) != nil && c.compiled.Validate(arguments) != nil
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
