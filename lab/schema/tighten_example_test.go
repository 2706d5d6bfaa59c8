package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"agentlab/lab/schema"
)

func ExampleTighten() {
	upstream := json.RawMessage(`{
		"type": "object",
		"properties": {
			"path": {"type": "string"},
			"dryRun": {"type": "boolean", "default": false}
		},
		"required": ["path"]
	}`)

	result, err := schema.Tighten(upstream, json.RawMessage(`{"additionalProperties": false, "properties": {"path": {"maxLength": 200}}}`))
	fmt.Println(string(result), err)

	_, err = schema.Tighten(upstream, json.RawMessage(`{"properties": {"path": {"type": ["string", "null"]}}}`))
	var loose *schema.Loosening
	fmt.Println(errors.As(err, &loose), err)

	_, err = schema.Tighten(upstream, json.RawMessage(`{"required": ["dry_run"]}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string","maxLength":200},"dryRun":{"type":"boolean","default":false}},"required":["path"],"additionalProperties":false} <nil>
	// true not a tighter schema: /properties/path/type: "null" is not what the server has: string
	// not a tighter schema: /required/0: the server's schema has no property "dry_run"; did you mean "dryRun"?
}
