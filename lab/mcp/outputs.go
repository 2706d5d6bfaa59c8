package mcp

import (
	"encoding/json"
	"fmt"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// outputs are the compiled output schemas of a server, by tool. They do not
// change.
type outputs map[string]*schema.Schema

// expect compiles the output schemas of the tools. One that cannot be checked
// is told, and then nothing is said of what its tool puts out.
func (c *Client) expect(definitions []tool.Definition) {
	expected := make(outputs)
	for _, d := range definitions {
		if d.OutputSchema == nil {
			continue
		}
		compiled, err := schema.CompileForeign(d.OutputSchema, schema.Draft202012)
		if err != nil {
			c.server.notice("schema "+d.Name, fmt.Sprintf("%s: the outputSchema of %q is not checked: %s", c.server.Name, d.Name, err))
			continue
		}
		expected[d.Name] = compiled
	}
	c.outputs.Store(&expected)
}

// ShareSchemas takes over the output schemas that another connection to the same
// server has read.
func (c *Client) ShareSchemas(from *Client) { c.outputs.Store(from.outputs.Load()) }

// check compares structured content with the output schema of its tool.
func (c *Client) check(name string, structured json.RawMessage) (violations []tool.Violation, checked bool) {
	all := c.outputs.Load()
	if all == nil || (*all)[name] == nil {
		return nil, false
	}
	if structured == nil {
		return []tool.Violation{{Keyword: "structuredContent", Message: "is missing, though the tool has an outputSchema"}}, true
	}
	value, err := jsonvalue.Decode(structured)
	if err != nil {
		return []tool.Violation{{Keyword: "structuredContent", Message: "has no single reading"}}, true
	}
	return (*all)[name].Validate(value), true
}
