package overlay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

// lay lays a text over the tools and returns the faults.
func lay(t *testing.T, text string, definitions []tool.Definition) ([]overlay.Tool, string) {
	t.Helper()
	f, dir, faults := read(t, text)
	if faults != "" {
		t.Fatal(faults)
	}
	tools, err := f.Lay(definitions)
	if err == nil {
		return tools, ""
	}
	var invalid *yamlfile.Invalid
	if !errors.As(err, &invalid) || tools != nil {
		t.Errorf("%d tools beside %#v", len(tools), err)
	}
	return nil, strings.ReplaceAll(err.Error(), dir+"/", "")
}

func TestLayFaults(t *testing.T) {
	one := func(name, schema string) []tool.Definition {
		return append([]tool.Definition{{Name: name, InputSchema: raw(schema)}}, files...)
	}
	const open = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"},"l":{"type":"array","items":{"type":"string"}}},"required":["a","b","l"]}`
	keyed := of("idempotency: {key: action_id, add: true}")
	const cannot = "3:56: tools.t.idempotency.key: cannot be added: the server's schema has "
	tests := []struct {
		name, text  string
		definitions []tool.Definition
		want        string
	}{
		{"no such tool", "version: 1\ntools:\n  wriet_file: {permission: p, effect: read}\n  rm: {permission: p, effect: read}\n", files,
			`3:3: tools.wriet_file: the server has no such tool; did you mean "write_file"?` + "\n" +
				"4:3: tools.rm: the server has no such tool; its tools are get_file_info, move_file, read_many, read_text_file, write_file"},
		{"no tools", of("cost: 1"), nil, "3:3: tools.t: the server has no such tool, nor any other"},
		{"no effect", "version: 1\ntools:\n  rm: {permission: p}\n", one("rm", `{}`),
			`3:3: tools.rm.effect: missing: one of read, write, destructive; only a tool that is seen to read may go without (nothing tells)`},
		{"no effect of a writer", "version: 1\ntools:\n  write_file: {permission: p}\n", files,
			`3:3: tools.write_file.effect: missing: one of read, write, destructive; only a tool that is seen to read may go without (annotated destructiveHint: false)`},
		{"no schema", of("cost: 1"), []tool.Definition{{Name: "t"}}, "3:3: tools.t: the server's input schema cannot be checked: "},
		{"bad schema", of("cost: 1"), one("t", `{"type":"thing"}`), "3:3: tools.t: the server's input schema cannot be checked: "},
		{"bad output schema", of("cost: 1"), []tool.Definition{{Name: "t", InputSchema: raw(`{}`), OutputSchema: raw(`{"type":7}`)}}, "3:3: tools.t: the server's output schema cannot be checked: "},

		{"loosening", of("input: {properties: {b: {type: string}}}"), one("t", open), "3:62: tools.t.input.properties.b.type: does not tighten the server's schema: "},
		{"misspelt property", of("input: {properties: {a: {maxLength: 1}, bb: {}}, additionalProperties: false}"),
			one("t", `{"type":"object","properties":{"a":{"type":"string"},"name":{"type":"string"}}}`),
			`3:77: tools.t.input.properties.bb: the server's schema has no property "bb"; it has "a", "name"`},
		{"unknown and required", of("input: {required: [path, pathh]}"), one("t", `{"properties":{"path":{}}}`), `3:62: tools.t.input.required[1]: the server's schema has no property "pathh"; did you mean "path"?`},
		{"wider", of("input: {properties: {a: {type: [string, number]}}}"), one("t", open), `3:62: tools.t.input.properties.a.type: does not tighten the server's schema: "number" is not what the server has: string`},
		{"no keyword", of("input: {additionlProperties: false}"), one("t", open), "3:45: tools.t.input.additionlProperties: does not tighten the server's schema: "},

		{"resource", of("resource: {argument: path, within: x}"), one("t", open), "3:58: tools.t.resource.argument: the tool has no argument of this name; its arguments are a, b, l"},
		{"resource that is a number", of("resource: {argument: b, within: x}"), one("t", open), "3:58: tools.t.resource.argument: must be a string or a list of strings in the tool's schema"},
		{"resources that are anything", of("resource: {argument: b, within: x}"), one("t", `{"type":"object","properties":{"b":{"type":"array"}},"required":["b"]}`),
			"3:58: tools.t.resource.argument: must be a string or a list of strings in the tool's schema"},
		{"resource of a reference to anything", of("resource: {argument: a, within: x}"), one("t", `{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"$defs":{"t":{}}}`),
			"3:58: tools.t.resource.argument: must be a string or a list of strings in the tool's schema"},
		{"key behind a reference to anything", of("idempotency: {key: a}"), one("t", `{"$ref":"#/$defs/t","$defs":{"t":{}}}`), "3:56: tools.t.idempotency.key: must be a string in the tool's schema"},
		{"resource that is optional", of("resource: {argument: a, within: x}"), one("t", `{"type":"object","properties":{"a":{"type":"string"}}}`),
			"3:58: tools.t.resource.argument: the tool does not require this argument, and a call without it would work on who knows what; input: {required: [a]} requires it"},
		{"resource of nothing", of("resource: {argument: a, within: x}"), one("t", `{"type":"object"}`), "3:58: tools.t.resource.argument: the tool has no argument of this name, nor any other"},
		{"narrow by", of("output: {max_bytes: 1, narrow_by: [l, lll]}"), one("t", open), "3:75: tools.t.output.narrow_by[1]: the tool has no argument of this name"},
		{"key", of("idempotency: {key: id}"), one("t", open), "3:56: tools.t.idempotency.key: the tool has no argument of this name; add: true adds it to what a model sees; its arguments are a, b, l"},
		{"key where there is none", of("idempotency: {key: id}"), one("t", `{"type":"object"}`), "3:56: tools.t.idempotency.key: the tool has no argument of this name, nor any other; add: true adds it to what a model sees"},
		{"key that is a list", of("idempotency: {key: l}"), one("t", open), "3:56: tools.t.idempotency.key: must be a string in the tool's schema"},

		{"key that is there", of("idempotency: {key: a, add: true}"), one("t", open), "3:56: tools.t.idempotency.key: the server has an argument of this name; leave add out, or choose another"},
		{"key of no object", keyed, one("t", `{"properties":{}}`), `3:56: tools.t.idempotency.key: cannot be added: the server's schema does not say "type": "object"`},
		{"key of anything", keyed, one("t", `true`), `3:56: tools.t.idempotency.key: cannot be added: the server's schema is not a JSON object`},
		{"key behind a reference", keyed, one("t", `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`), cannot + "$ref,"},
		{"key in a loop", keyed, one("t", `{"type":"object","properties":{"child":{"$ref":"#"}}}`), "3:56: tools.t.idempotency.key: cannot be added: the server's schema may refer to itself as a whole, at /properties/child/$ref"},
		{"key of an anchor", keyed, one("t", `{"type":"object","$anchor":"x","properties":{"child":{"$ref":"#x"}}}`), "3:56: tools.t.idempotency.key: cannot be added: the server's schema may refer to itself as a whole, at /properties/child/$ref"},
		{"key among so many", keyed, one("t", `{"type":"object","maxProperties":3}`), cannot + "maxProperties,"},
		{"key among so few", keyed, one("t", `{"type":"object","minProperties":3}`), cannot + "minProperties,"},
		{"key of a form", keyed, one("t", `{"type":"object","propertyNames":{"maxLength":3}}`), cannot + "propertyNames,"},
		{"key of a pattern", keyed, one("t", `{"type":"object","patternProperties":{"_id$":{"type":"number"}}}`), cannot + "patternProperties,"},
		{"key of a constant", keyed, one("t", `{"type":"object","const":{"a":1}}`), cannot + "const,"},
		{"key of a list", keyed, one("t", `{"type":"object","enum":[1,{"a":1}]}`), cannot + "enum,"},
		{"key of a closed part", keyed, one("t", `{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":false}]}`), cannot + "allOf,"},
		{"key of a shut part", keyed, one("t", `{"type":"object","anyOf":[true,{"unevaluatedProperties":false}]}`), cannot + "anyOf,"},
		{"key of a choice", keyed, one("t", `{"type":"object","oneOf":[{"required":["a"]},{"required":["action_id"]}]}`), cannot + "oneOf,"},
		{"key of no", keyed, one("t", `{"type":"object","not":{"properties":{"action_id":{"type":"string"}},"required":["a"]}}`), cannot + "not,"},
		{"key of a condition", keyed, one("t", `{"type":"object","if":{"minProperties":1},"then":{"required":["a"]}}`), cannot + "if,"},
		{"key that needs", keyed, one("t", `{"type":"object","dependentRequired":{"action_id":["a"]}}`), cannot + "dependentRequired,"},
		{"key that is needed", keyed, one("t", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["action_id"]}}`), cannot + "dependencies,"},
		{"key that is looked at", keyed, one("t", `{"type":"object","dependentSchemas":{"a":{"maxProperties":2}}}`), cannot + "dependentSchemas,"},
		{"key that is asked for", keyed, one("t", `{"type":"object","required":["action_id"]}`), cannot + "required,"},

		{"precondition", of("approval: bound, precondition: {call: info, field: f}"), one("t", open), "3:75: tools.t.precondition.call: the server has no such tool; its tools are"},
		{"precondition that writes", of("approval: bound, precondition: {call: u, field: f}"), append(one("t", open), tool.Definition{Name: "u", InputSchema: raw(`{}`), Annotations: raw(`{"readOnlyHint":false}`)}),
			"3:75: tools.t.precondition.call: must only read, and the server says that it changes something"},
		{"precondition that destroys", of("approval: bound, precondition: {call: u, field: f}"), append(one("t", open), tool.Definition{Name: "u", InputSchema: raw(`{}`), Annotations: raw(`{"destructiveHint":true}`)}),
			"3:75: tools.t.precondition.call: must only read, and the server says that it changes something"},
		{"precondition's arguments", of("approval: bound, precondition: {call: get_file_info, field: f, arguments: {paths: $.p}}"), one("t", open),
			"3:75: tools.t.precondition.call: requires the argument path, which is not given\n" +
				"3:112: tools.t.precondition.arguments.paths: the tool has no argument of this name; did you mean \"path\"?\n" +
				"3:119: tools.t.precondition.arguments.paths: the tool has no argument of this name; its arguments are a, b, l"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := lay(t, tt.text, tt.definitions)
			check(t, got, tt.want)
		})
	}
}

// What is no fault: each schema is laid, and the key stands in it.
func TestLayTakes(t *testing.T) {
	tests := []struct{ name, keys, schema, want string }{
		{"nothing to add", "cost: 1", ` { "type" : "object" } `, ` { "type" : "object" } `},
		{"no properties", "idempotency: {key: k, add: true}", `{"type":"object"}`, `{"type":"object","properties":{"k":KEY},"required":["k"]}`},
		{"order", "idempotency: {key: k, add: true}", `{"required":["z","a"],"title":"T","properties":{"z":{"const":1.50},"a":{}},"type":"object","x":"<&>"}`,
			`{"required":["z","a","k"],"title":"T","properties":{"z":{"const":1.50},"a":{},"k":KEY},"type":"object","x":"<&>"}`},
		{"closed", "idempotency: {key: k, add: true}", `{"type":"object","unevaluatedProperties":false,"additionalProperties":false}`,
			`{"type":"object","unevaluatedProperties":false,"additionalProperties":false,"properties":{"k":KEY},"required":["k"]}`},
		{"combinations", "idempotency: {key: k, add: true}",
			`{"type":"object","anyOf":[{"required":["a"]},{"properties":{"b":{"$ref":"#/$defs/n"}},"additionalProperties":true}],"not":{"required":["a","b"]},"$defs":{"n":{"additionalProperties":false}},"enum":[1],"const":2,"patternProperties":{"^x":{}},"dependentSchemas":{"a":{"required":["b"]}}}`,
			`{"type":"object","anyOf":[{"required":["a"]},{"properties":{"b":{"$ref":"#/$defs/n"}},"additionalProperties":true}],"not":{"required":["a","b"]},"$defs":{"n":{"additionalProperties":false}},"enum":[1],"const":2,"patternProperties":{"^x":{}},"dependentSchemas":{"a":{"required":["b"]}},"properties":{"k":KEY},"required":["k"]}`},
		{"tightened", "input: {additionalProperties: false, properties: {a: {maxLength: 3}}, required: [a]}, idempotency: {key: k, add: true}", `{"type":"object","properties":{"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","maxLength":3},"k":KEY},"additionalProperties":false,"required":["a","k"]}`},
		{"resource behind a reference", "resource: {argument: a, within: x}", `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`},
		{"resource of a reference", "resource: {argument: a, within: x}", `{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"$defs":{"t":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"$defs":{"t":{"type":"string"}}}`},
		{"resource of a combination", "resource: {argument: a, within: x}", `{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}]}`},
		{"resources of a reference", "resource: {argument: a, within: x}", `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/t"}}},"required":["a"],"$defs":{"t":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/t"}}},"required":["a"],"$defs":{"t":{"type":"string"}}}`},
		{"resource that input requires", "resource: {argument: a, within: x}, input: {required: [a]}", `{"type":"object","properties":{"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
	}
	const key = `{"type":"string","minLength":1,"maxLength":200,"description":"A name for this action, made up by you: another for every action, and the same again where a call is repeated."}`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tools, faults := lay(t, of(tt.keys), []tool.Definition{{Name: "t", InputSchema: raw(tt.schema)}, {Name: "t", InputSchema: raw(`false`)}})
			if faults != "" {
				t.Fatal(faults)
			}
			want, got := strings.ReplaceAll(tt.want, "KEY", key), string(tools[0].Contract.InputSchema)
			if tt.name == "tightened" { // lab/schema says in what order its own keywords come
				want, got = canonical(t, want), canonical(t, got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	value, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(jsonvalue.AppendCanonical(nil, value))
}

func TestPreconditionCall(t *testing.T) {
	p := overlay.Precondition{Tool: "info", Arguments: []overlay.Argument{
		{Name: "z", From: "path"}, {Name: "fixed", Value: raw(`[1.50]`)}, {Name: "gone", From: "other"}, {Name: "a\"", From: "n"},
	}}
	tests := []struct{ arguments, want string }{
		{`{"n": 9007199254740993.10, "path": {"b" : null}, "more": 1}`, `{"z":{"b":null},"fixed":[1.50],"a\"":9007199254740993.1}`},
		{`{"path": null}`, `{"z":null,"fixed":[1.50]}`},
		{`{}`, `{"fixed":[1.50]}`},
	}
	for _, tt := range tests {
		got, err := p.Call(raw(tt.arguments))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.arguments, got, err, tt.want)
		}
	}
	for _, arguments := range []string{"", "[]", "null", `{"path":1,"path":2}`, `{`} {
		if got, err := p.Call(raw(arguments)); err == nil {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	if got, err := (&overlay.Precondition{}).Call(raw(`{"a":1}`)); err != nil || string(got) != "{}" {
		t.Errorf("%s, %v", got, err)
	}
}

// What was meant by a name takes long to find among many, and is not looked for more
// often than it can be told.
func TestLayGuessesABoundedNumberOfNames(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\ntools:\n")
	const names = 60
	for i := names; i > 0; i-- { // the last by name are told first
		fmt.Fprintf(&text, "  write_file%02d: {permission: p, effect: read}\n", i)
	}
	_, faults := lay(t, text.String(), files)
	if got, want := strings.Count(faults, "did you mean"), 2*yamlfile.MaxFaults-names; got != want {
		t.Errorf("%d guesses, want %d", got, want)
	}
	if got := strings.Count(faults, "the server has no such tool"); got != yamlfile.MaxFaults {
		t.Errorf("%d faults are told, want %d", got, yamlfile.MaxFaults)
	}
}
