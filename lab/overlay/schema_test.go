package overlay

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// The JSON Schema and the tables name the same keys, and require the same.
func TestSchemaNamesTheKeys(t *testing.T) {
	type object struct {
		AdditionalProperties json.RawMessage
		Properties           map[string]struct{ Description string }
		Required             []string
	}
	var document struct {
		object
		Definitions map[string]object
	}
	if err := json.Unmarshal(Schema, &document); err != nil {
		t.Fatal(err)
	}
	tables := map[string]map[string]bool{
		"":             fileFields.Required(),
		"tool":         toolFields.Required(),
		"approver":     approverFields.Required(),
		"resource":     resourceFields.Required(),
		"idempotency":  idempotencyFields.Required(),
		"concurrency":  concurrencyFields.Required(),
		"precondition": preconditionFields.Required(),
		"rate":         rateFields.Required(),
		"visibility":   visibilityFields.Required(),
		"output":       outputFields.Required(),
		"rule":         ruleFields.Required(),
	}
	found := 0
	for name, o := range document.Definitions {
		if o.Properties != nil && tables[name] == nil {
			t.Errorf("the definition %s has no table", name)
		}
	}
	document.Definitions[""] = document.object
	for name, table := range tables {
		o := document.Definitions[name]
		if string(o.AdditionalProperties) != "false" {
			t.Errorf("%q may have unknown keys", name)
		}
		named := make(map[string]bool)
		for key, property := range o.Properties {
			named[key] = slices.Contains(o.Required, key)
			if property.Description == "" {
				t.Errorf("%s of %q has no description", key, name)
			}
			found++
		}
		if diff := cmp.Diff(table, named); diff != "" {
			t.Errorf("%q: which keys are required (-table +schema):\n%s", name, diff)
		}
	}
	if found < 40 {
		t.Errorf("only %d keys were compared", found)
	}
}

func TestSchemaNamesTheChoices(t *testing.T) {
	for _, choices := range []any{tool.Categories(), contract.Effects(), contract.Approvals(), contract.Retries()} {
		encoded, err := json.Marshal(choices)
		if err != nil {
			t.Fatal(err)
		}
		if list := `{"enum": ` + strings.ReplaceAll(string(encoded), ",", ", ") + "}"; !strings.Contains(string(Schema), list) {
			t.Errorf("the schema does not list %s", list)
		}
	}
}

// The JSON Schema and the reader judge alike. What only the reader can know is in
// a row of its own.
func TestSchemaAgrees(t *testing.T) {
	compiled, err := schema.Compile(Schema)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		text             string
		bySchema, byRead bool
	}
	var rows []row
	whole := func(good bool, texts ...string) {
		for _, text := range texts {
			rows = append(rows, row{text, good, good})
		}
	}
	keys := func(good bool, texts ...string) {
		for _, text := range texts {
			rows = append(rows, row{"version: 1\ntools: {t: {permission: p, effect: write, " + text + "}}\n", good, good})
		}
	}
	only := func(bySchema, byRead bool, text string) {
		rows = append(rows, row{"version: 1\ntools: {t: {permission: p, effect: write, " + text + "}}\n", bySchema, byRead})
	}
	const one = "tools: {t: {permission: p, effect: read}}\n"
	whole(true, "version: 1\n"+one, "version: 1.0\npin: a/b\ndefault: deny\n"+one, "version: 1\ndefault: '${GONE:-deny}'\n"+one)
	whole(false, "[]", "x", one, "version: 1\n", "version: 2\n"+one, "version: '1'\n"+one, "version: 1\npin: ''\n"+one, "version: 1\npin:\n"+one, "version: 1\ndefault: allow\n"+one,
		"version: 1\ndefault:\n"+one, "version: 1\ntools: {}\n", "version: 1\ntools: []\n", "version: 1\ntools: {'': {permission: p, effect: read}}\n", "version: 1\ntools: {t: }\n", "version: 1\ntools: {t: {}}\n",
		"version: 1\ntools: {t: {permission: '', effect: read}}\n", "version: 1\ntools: {t: {effect: read}}\n", "version: 1\ntools: {t: {permission: p, effect: none}}\n",
		"version: 1\nmore: 1\n"+one, "version: 1\ntools: {t: {permission: p, effect: read, idempotency: {key: k}}}\n")
	keys(true, "approval: never", "approval: required", "approval: bound, approver: {permission: q}", "approval: bound, approver: {permission: q, not_caller: false}")
	keys(false, "approval: none", "approval: ", "approver: {permission: q}", "approval: required, approver: {permission: q}", "approval: bound, approver: {}", "approval: bound, approver: {permission: q, not_caller: 1}",
		"approval: bound, approver: {permission: q, other: 1}", "approval: bound, approver: q")
	keys(true, "resource: {argument: a, within: b}", "resource: [{argument: a, within: '${SANDBOX}/x'}, {argument: b, within: /}]")
	keys(false, "resource: []", "resource: a", "resource: {argument: a}", "resource: {within: b}", "resource: {argument: '', within: b}", "resource: {argument: a, within: ''}", "resource: {argument: a, within: 1}", "resource: [a]")
	only(true, false, "resource: [{argument: a, within: b}, {argument: a, within: b}]")
	only(true, false, "resource: {argument: a, within: 'b/${SANDBOX}'}")
	keys(true, "idempotency: {key: k}", "idempotency: {key: 'a b', add: false}", "idempotency: {key: k, add: true, expires: 1h}")
	keys(false, "idempotency: k", "idempotency: {}", "idempotency: {key: ''}", "idempotency: {key: 'a b', add: true}", "idempotency: {key: k, add: 'yes'}", "idempotency: {key: k, expires: 1}")
	only(true, false, "idempotency: {key: k, expires: 1ms}")
	keys(true, "approval: bound, precondition: {call: a, field: b}", "approval: required, precondition: {call: a, field: b.c, arguments: {x: $.y, z: [1]}}")
	keys(false, "precondition: {call: a, field: b}", "approval: never, precondition: {call: a, field: b}", "approval: bound, precondition: {call: a}", "approval: bound, precondition: {field: a}", "approval: bound, precondition: a",
		"approval: bound, precondition: {call: a, field: ''}", "approval: bound, precondition: {call: a, field: .b}", "approval: bound, precondition: {call: a, field: b..c}", "approval: bound, precondition: {call: a, field: b, arguments: [x]}", "approval: bound, precondition: {call: '', field: b}")
	only(true, false, "approval: bound, precondition: {call: t, field: b}")
	only(true, false, "approval: bound, precondition: {call: a, field: b, arguments: {x: [$.y]}}")
	keys(true, "timeout: 1s", "retry: never", "retry: transient", "rate: {burst: 1, every: 1ms}", "concurrency: 1", "concurrency: 10000", "concurrency: {of: a, limit: 1}", "approval: required, precondition: {call: a, field: [b, c.d]}", "cost: 0", "cost: 1000000", "visibility: {}", "visibility: {permissions: [], tasks: [a], environments: [b, c]}")
	keys(false, "timeout: 1", "timeout: soon", "retry: always", "retry: 1", "rate: {burst: 1}", "rate: {every: 1s}", "rate: {burst: 0, every: 1s}", "rate: {burst: 10001, every: 1s}", "rate: 1", "concurrency: 0", "concurrency: 10001", "concurrency: {of: a}", "concurrency: {of: '', limit: 1}", "approval: required, precondition: {call: a, field: []}", "concurrency: 1.5",
		"concurrency: '1'", "cost: -1", "cost: 1000001", "cost: ", "visibility: []", "visibility: {tasks: a}", "visibility: {tasks: ['']}", "visibility: {task: [a]}")
	only(true, false, "timeout: 11m")
	only(true, false, "rate: {burst: 1, every: 25h}")
	keys(true, "input: {}", "input: {additionalProperties: false, x: [1, ~]}", "output: {}", "output: {max_bytes: 1, narrow_by: [a], redact: [b], credentials: true}", "description: a")
	keys(false, "input: true", "input: ", "input: []", "output: []", "output: {max_bytes: 0}", "output: {narrow_by: [a]}", "output: {max_bytes: 1, narrow_by: a}", "output: {redact: ['']}", "output: {credentials: 1}", "output: {max: 1}", "description: ''", "description: 1")
	keys(true, "errors: []", "errors: [{match: a, code: rate_limited}]", "errors: [{match: a, code: b_2, category: unknown, retryable: true, next_action: c}]", "errors: [{result: a, code: b, category: policy}]", "errors: [{result: {a: {}}, match: x, code: b, category: not_found}]")
	keys(false, "errors: {}", "errors: [{code: b, category: policy}]", "errors: [{match: a}]", "errors: [{match: a, code: B, category: policy}]", "errors: [{match: a, code: b_, category: policy}]", "errors: [{match: '', code: b, category: policy}]",
		"errors: [{result: {}, code: b, category: policy}]", "errors: [{result: '', code: b, category: policy}]", "errors: [{result: 1, code: b, category: policy}]", "errors: [{match: a, code: b, category: none}]",
		"errors: [{match: a, code: b, category: policy, retryable: 1}]", "errors: [{match: a, code: b, category: policy, next_action: ''}]", "errors: [{match: a, code: b, category: policy, to: c}]")
	only(true, false, "errors: [{match: a, code: own}]")
	only(true, false, "errors: [{match: a, code: rate_limited, category: policy}]")

	for _, row := range rows {
		_, faults := parse([]byte(row.text), "contract.yaml", func(string) (string, bool) { return "", false })
		var tree any
		if err := yaml.Unmarshal([]byte(row.text), &tree); err != nil {
			t.Fatalf("%s\n%v", row.text, err)
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatalf("%s\n%v", row.text, err)
		}
		value, err := jsonvalue.Decode(text)
		if err != nil {
			t.Fatalf("%s\n%v", row.text, err)
		}
		violations := compiled.Validate(value)
		if (len(violations) == 0) != row.bySchema || (faults == nil) != row.byRead {
			t.Errorf("%s\nthe schema should take it: %v, Read: %v\n%v\n%v", row.text, row.bySchema, row.byRead, violations, faults)
		}
	}
}
