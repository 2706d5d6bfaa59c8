package overlay_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

func lookup(name string) (string, bool) {
	value, set := map[string]string{"TOKEN": "s3cr3t", "EFFECT": "write", "DOLLAR": "$.path", "SANDBOX": "/not/this", "EMPTY": ""}[name]
	return value, set
}

// read reads a text as a contract file in a folder that faults do not tell.
func read(t *testing.T, text string) (*overlay.File, string, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "contract.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := overlay.Read(file, lookup)
	if err != nil {
		if f != nil {
			t.Errorf("a file beside the error %v", err)
		}
		return nil, dir, strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	return f, dir, ""
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// files is a server as server-filesystem is one.
var files = []tool.Definition{
	{Name: "write_file", Description: "Writes.", Annotations: raw(`{"title":"W","destructiveHint":false}`),
		InputSchema:  raw(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`),
		OutputSchema: raw(`{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`)},
	{Name: "move_file", Description: "Moves.", InputSchema: raw(`{"type":"object","properties":{"source":{"type":"string"},"destination":{"type":"string"}},"required":["source","destination"],"additionalProperties":false}`)},
	{Name: "read_text_file", Description: "Reads.", InputSchema: raw(`{"type": "object", "properties": {"path": {"type": "string"}, "head": {"type": "number"}}, "required": ["path"]}`)},
	{Name: "get_file_info", Annotations: raw(`{"readOnlyHint":true}`), InputSchema: raw(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "read_many", InputSchema: raw(`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"}}},"required":["paths"]}`)},
}

const example = `version: 1
pin: catalog.lock                 # names, descriptions, schemas, annotations by digest
default: deny                     # tools not named here are not exposed
tools:
  write_file:
    permission: files:write
    effect: write                 # read | write | destructive
    approval: required
    resource: {argument: path, within: "${SANDBOX}"}      # lexical and symlink-safe containment
    idempotency: {key: action_id, add: true}              # adds the key to the model's schema, strips it upstream
    precondition: {call: get_file_info, arguments: {path: $.path}, field: modified}
    timeout: 2s
    retry: never
    input: {additionalProperties: false}                  # may only tighten the upstream schema
    output: {max_bytes: 20000, redact: [content]}
    errors:                                               # upstream text -> stable code
      - {match: "ENOENT", code: file_not_found, category: not_found}
    description: "…"                                      # replaces the upstream text in the model's view
  move_file: {permission: files:write, effect: destructive, approval: required}
  read_text_file: {permission: files:read}
`

func TestExample(t *testing.T) {
	f, dir, faults := read(t, example)
	if faults != "" {
		t.Fatal(faults)
	}
	if diff := cmp.Diff([]string{"move_file", "read_text_file", "write_file"}, f.Names()); diff != "" || f.Pin != dir+"/catalog.lock" || f.Path != dir+"/contract.yaml" {
		t.Errorf("%s, %s, %s", f.Path, f.Pin, diff)
	}
	got, err := f.Lay(files)
	if err != nil {
		t.Fatal(err)
	}
	want := []overlay.Tool{
		{Contract: contract.Contract{
			Definition: tool.Definition{Name: "move_file", Description: "Moves.", InputSchema: files[1].InputSchema, Annotations: raw(`{"readOnlyHint":false,"destructiveHint":true}`)},
			Permission: "files:write", Effect: "destructive", Approval: "required", Retry: "never", Timeout: 10 * time.Second, Foreign: true,
		}},
		{Contract: contract.Contract{
			Definition: tool.Definition{Name: "read_text_file", Description: "Reads.", InputSchema: files[2].InputSchema, Annotations: raw(`{"readOnlyHint":true,"destructiveHint":false}`)},
			Permission: "files:read", Effect: "read", Approval: "never", Retry: "never", Timeout: 10 * time.Second, Foreign: true,
		}},
		{
			Contract: contract.Contract{
				Definition: tool.Definition{Name: "write_file", Description: "…", OutputSchema: files[0].OutputSchema, Annotations: raw(`{"readOnlyHint":false,"destructiveHint":false}`),
					InputSchema: raw(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},` +
						`"action_id":{"type":"string","minLength":1,"maxLength":200,"description":"A name for this action, made up by you: another for every action, and the same again where a call is repeated."}},` +
						`"required":["path","content","action_id"],"additionalProperties":false}`)},
				Permission: "files:write", Effect: "write", Approval: "required", Retry: "never", Timeout: 2 * time.Second, Foreign: true,
				IdempotencyKey: "action_id", Precondition: true,
				Resources: []contract.Resource{{Argument: "path"}},
				Output:    &contract.Output{MaxBytes: 20000, Secret: []string{"content"}},
			},
			AddedKey:     "action_id",
			Within:       map[string]string{"path": "${SANDBOX}"},
			Precondition: &overlay.Precondition{Tool: "get_file_info", Arguments: []overlay.Argument{{Name: "path", From: "path"}}, Fields: []string{"modified"}},
			Rules:        []overlay.ErrorRule{{Match: "ENOENT", Code: "file_not_found", Category: "not_found"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, laid := range got {
		c := laid.Contract
		if c.OutputSchema == nil {
			c.OutputSchema = raw(`{}`) // which only a foreign tool may lack
		}
		if complete, err := c.Complete(); err != nil || cmp.Diff(c, complete) != "" {
			t.Errorf("%v\n%s", err, cmp.Diff(c, complete))
		}
	}
	again, err := f.Lay(files)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Errorf("laid again: %v\n%s", err, diff)
	}
}

func TestEveryKey(t *testing.T) {
	f, dir, faults := read(t, `{"version": 1.0, "tools": {
"read_text_file": {
  "permission": "${TOKEN}", "effect": "read", "timeout": "1m", "retry": "transient", "concurrency": {"of": "disk", "limit": 3}, "cost": 7,
  "rate": {"burst": 5, "every": "1s"},
  "visibility": {"permissions": ["a", "b"], "tasks": ["c"], "environments": ["d"]},
  "resource": {"argument": "path", "within": "sub/../folder"},
  "output": {"max_bytes": 5, "narrow_by": ["head"], "redact": ["x"], "credentials": true},
  "errors": [
    {"match": "no", "code": "invalid_arguments"},
    {"match": "later", "code": "rate_limited", "retryable": false},
    {"match": "busy", "code": "rate_limited", "next_action": "wait"},
    {"result": {"status": "error", "n": 1.50, "deep": {"a": []}}, "match": "gone", "code": "own_code", "category": "conflict", "retryable": true},
    {"result": "Error:", "code": "other", "category": "unknown"}]},
"move_file": {
  "permission": "p", "effect": "${EFFECT}", "approval": "bound", "approver": {"permission": "q", "not_caller": true},
  "resource": [{"argument": "source", "within": "${SANDBOX}/a"}, {"argument": "destination", "within": "/b"}],
  "idempotency": {"key": "destination", "add": false, "expires": "24h"},
  "precondition": {"call": "read_many", "field": ["a.b", "c"], "arguments": {"paths": ["${SANDBOX}", 1e2, "$x"]}}},
"write_file": {"permission": "p", "effect": "destructive", "approval": "required", "idempotency": {"key": "content"},
  "precondition": {"call": "get_file_info", "field": "f", "arguments": {"path": "$$.x"}}},
"read_many": {"permission": "p", "effect": "read", "resource": {"argument": "paths", "within": "."},
  "approval": "bound", "precondition": {"call": "get_file_info", "field": "f", "arguments": {"path": "${DOLLAR}"}}}
}}`)
	if faults != "" {
		t.Fatal(faults)
	}
	tools, err := f.Lay(files)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tools {
		tools[i].Contract.Definition = tool.Definition{Name: tools[i].Contract.Name}
	}
	named := func(name string) tool.Definition { return tool.Definition{Name: name} }
	want := []overlay.Tool{
		{
			Contract: contract.Contract{Definition: named("move_file"), Permission: "p", Effect: "write", Approval: "bound", Retry: "never", Timeout: 10 * time.Second, Foreign: true,
				Approver: &contract.Approver{Permission: "q", NotCaller: true}, Resources: []contract.Resource{{Argument: "source"}, {Argument: "destination"}},
				IdempotencyKey: "destination", ReceiptTTL: 24 * time.Hour, Precondition: true},
			Within:       map[string]string{"source": "${SANDBOX}/a", "destination": "/b"},
			Precondition: &overlay.Precondition{Tool: "read_many", Fields: []string{"a.b", "c"}, Arguments: []overlay.Argument{{Name: "paths", Value: raw(`["${SANDBOX}",1e2,"$x"]`)}}},
		},
		{
			Contract: contract.Contract{Definition: named("read_many"), Permission: "p", Effect: "read", Approval: "bound", Retry: "never", Timeout: 10 * time.Second, Foreign: true,
				Resources: []contract.Resource{{Argument: "paths"}}, Precondition: true},
			Within:       map[string]string{"paths": dir},
			Precondition: &overlay.Precondition{Tool: "get_file_info", Fields: []string{"f"}, Arguments: []overlay.Argument{{Name: "path", Value: raw(`"$.path"`)}}},
		},
		{
			Contract: contract.Contract{Definition: named("read_text_file"), Permission: "s3cr3t", Effect: "read", Approval: "never", Retry: "transient", Timeout: time.Minute, Foreign: true,
				Concurrency: 3, Turn: "disk", Cost: 7, Rate: &contract.Rate{Burst: 5, Every: time.Second},
				Visibility: &contract.Visibility{Permissions: []string{"a", "b"}, Tasks: []string{"c"}, Environments: []string{"d"}},
				Resources:  []contract.Resource{{Argument: "path"}},
				Output:     &contract.Output{MaxBytes: 5, NarrowBy: []string{"head"}, Secret: []string{"x"}, Credentials: true}},
			Within: map[string]string{"path": dir + "/folder"},
			Rules: []overlay.ErrorRule{
				{Match: "no", Code: "invalid_arguments", Category: "validation"},
				{Match: "later", Code: "rate_limited", Category: "dependency"},
				{Match: "busy", Code: "rate_limited", Category: "dependency", Retryable: true, NextAction: "wait"},
				{Match: "gone", Part: raw(`{"status":"error","n":1.50,"deep":{"a":[]}}`), Code: "own_code", Category: "conflict", Retryable: true},
				{Begins: "Error:", Code: "other", Category: "unknown"},
			},
		},
		{
			Contract: contract.Contract{Definition: named("write_file"), Permission: "p", Effect: "destructive", Approval: "required", Retry: "never", Timeout: 10 * time.Second, Foreign: true,
				IdempotencyKey: "content", Precondition: true},
			Precondition: &overlay.Precondition{Tool: "get_file_info", Fields: []string{"f"}, Arguments: []overlay.Argument{{Name: "path", Value: raw(`"$.x"`)}}},
		},
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The server may be started elsewhere.
func TestFoldersAreAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("contract.yaml", []byte("version: 1\npin: lock\ntools: {read_many: {permission: p, effect: read, resource: {argument: paths, within: sub}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := overlay.Read("contract.yaml", lookup)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := f.Lay(files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"paths": filepath.Join(dir, "sub")}, tools[0].Within); diff != "" || f.Pin != "lock" {
		t.Errorf("%s, %s", f.Pin, diff)
	}
}

func TestReadWithoutAFile(t *testing.T) {
	_, err := overlay.Read(filepath.Join(t.TempDir(), "contract.yaml"), lookup)
	var invalid *yamlfile.Invalid
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &invalid) {
		t.Errorf("the error is %v", err)
	}
}

// of is a file with one tool of these keys, in its third line.
func of(keys string) string {
	return "version: 1\ntools:\n  t: {permission: p, effect: write, " + keys + "}\n"
}

func TestFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "1:1: is empty"},
		{"nothing", "{}", "1:1: tools: missing\n1:1: version: missing"},
		{"no tools", "version: 1\ntools: {}\n", "2:8: tools: must name at least one tool"},
		{"later version", "version: 2\ntools: {t: {permission: p, effect: read}}\n", "1:10: version: must be 1, the version of the format, as a number"},
		{"another default", "version: 1\ndefault: allow\ntools: {t: {permission: p, effect: read}}\n", "2:10: default: must be deny"},
		{"empty pin", "version: 1\npin: ''\ntools: {t: {permission: p, effect: read}}\n", "2:6: pin: must be a path, not an empty string"},
		{"sandbox pin", "version: 1\npin: ${SANDBOX}/a\ntools: {t: {permission: p, effect: read}}\n", "2:6: pin: ${SANDBOX} is not known here, but in within and the arguments of a precondition"},
		{"unknown key", "version: 1\npins: a\ntools: {t: {permission: p, effect: read}}\n", `2:1: pins: unknown key; did you mean "pin"?`},
		{"a nameless tool", "version: 1\ntools: {'': {permission: p, effect: read}}\n", "2:9: tools.\"\": must be the name of a tool, not an empty string"},
		{"a tool of nothing", "version: 1\ntools: {t: }\n", "2:12: tools.t: must be a mapping, such as {permission: items:write, effect: write}, not null"},
		{"an empty tool", "version: 1\ntools: {t: {}}\n", "2:12: tools.t.permission: missing: what a caller needs, such as items:read"},
		{"a tool twice", "version: 1\ntools: {t: {permission: p, effect: read}, t: {}}\n", "2:43: tools.t: duplicate key, first in line 2"},

		{"misspelt key", of("idempotence: {}"), "3:37: tools.t.idempotence: unknown key; did you mean \"idempotency\"?"},
		{"no permission", "version: 1\ntools: {t: {permission: '', effect: read}}\n", "2:25: tools.t.permission: must be a permission, not an empty string"},
		{"effect", "version: 1\ntools: {t: {permission: p, effect: wirte}}\n", "2:36: tools.t.effect: must be one of read, write, destructive"},
		{"effect of a variable", "version: 1\ntools: {t: {permission: p, effect: '${TOKEN}'}}\n", "2:36: tools.t.effect: must be one of read, write, destructive"},
		{"approval", of("approval: true"), "3:47: tools.t.approval: must be a string, not a boolean"},
		{"approver alone", of("approver: {permission: q}"), "3:47: tools.t.approver: may only stand beside approval: bound"},
		{"approver of required", of("approval: required, approver: {permission: q}"), "3:67: tools.t.approver: may only stand beside approval: bound"},
		{"approver by name", of("approval: bound, approver: x"), "3:64: tools.t.approver: must be a mapping, such as {permission: items:admin}, not a string"},
		{"approver of nothing", of("approval: bound, approver: {not_caller: 'yes'}"), "3:64: tools.t.approver.permission: missing\n3:77: tools.t.approver.not_caller: must be true or false, not a string"},

		{"no resources", of("resource: []"), "3:47: tools.t.resource: must name at least one argument"},
		{"resource by name", of("resource: path"), `3:47: tools.t.resource: must be a mapping, such as {argument: path, within: "${SANDBOX}"}, not a string`},
		{"resource within nothing", of("resource: {argument: path}"), "3:47: tools.t.resource.within: missing"},
		{"resource twice", of("resource: [{argument: a, within: b}, {argument: a, within: c}]"), "3:85: tools.t.resource[1].argument: is named twice"},
		{"sandbox in the middle", of("resource: {argument: a, within: 'b/${SANDBOX}'}"), "3:69: tools.t.resource.within: ${SANDBOX} may only be the first folder of a path"},
		{"within nothing", of("resource: {argument: a, within: ''}"), "3:69: tools.t.resource.within: must be a path, not an empty string"},

		{"no key", of("idempotency: {add: true}"), "3:50: tools.t.idempotency.key: missing"},
		{"key by name", of("idempotency: action_id"), "3:50: tools.t.idempotency: must be a mapping, such as {key: action_id, add: true}, not a string"},
		{"empty key", of("idempotency: {key: ''}"), "3:56: tools.t.idempotency.key: must be the name of an argument, not an empty string"},
		{"odd key", of("idempotency: {key: 'a b', add: true}"), "3:56: tools.t.idempotency.key: must be a name of 1 to 64 letters"},
		{"expires", of("idempotency: {key: a, expires: 24}"), "3:68: tools.t.idempotency.expires: must be a duration with its unit, from 1s to 8760h, such as 24h"},
		{"key of a read", "version: 1\ntools: {t: {permission: p, effect: read, idempotency: {key: a}}}\n", "2:55: tools.t.idempotency: has no place with effect: read, as a tool has without an effect: a repeat would be told what was read before"},

		{"precondition unapproved", of("precondition: {call: a, field: b}"), "3:51: tools.t.precondition: needs an approval: it is about what was confirmed"},
		{"precondition of nothing", of("approval: bound, precondition: {}"), "3:68: tools.t.precondition.call: missing\n3:68: tools.t.precondition.field: missing"},
		{"precondition by name", of("approval: bound, precondition: a"), "3:68: tools.t.precondition: must be a mapping, such as {call: get_item, arguments: {id: $.id}, field: version}, not a string"},
		{"precondition of itself", of("approval: bound, precondition: {call: t, field: b}"), "3:75: tools.t.precondition.call: names the tool itself, which is not called to look\n3:75: tools.t.precondition.call: must only read, and here its effect is write"},
		{"precondition that writes", of("approval: bound, precondition: {call: u, field: b}}\n  u: {permission: p, effect: destructive"), "3:75: tools.t.precondition.call: must only read, and here its effect is destructive"},
		{"precondition's dots", of("approval: bound, precondition: {call: a, field: b..c}"), "3:85: tools.t.precondition.field: must be names with dots between them"},
		{"argument of nothing", of("approval: bound, precondition: {call: a, field: b, arguments: {x: $.}}"), "3:103: tools.t.precondition.arguments.x: must name an argument after $."},
		{"argument below", of("approval: bound, precondition: {call: a, field: b, arguments: {x: [{y: $.z}]}}"), "3:105: tools.t.precondition.arguments.x[0].y: an argument of the call may only stand for a whole value, not within one"},
		{"argument number", of("approval: bound, precondition: {call: a, field: b, arguments: {x: 0x1}}"), "3:103: tools.t.precondition.arguments.x: is not how JSON writes a number"},
		{"argument null", of("approval: bound, precondition: {call: a, field: b, arguments: }"), "3:99: tools.t.precondition.arguments: must be a mapping, not null"},
		{"sandbox argument", of("approval: bound, precondition: {call: a, field: b, arguments: {'${SANDBOX}': 1}}"), "3:100: tools.t.precondition.arguments.\"${SANDBOX}\": variables are not expanded in keys"},

		{"timeout", of("timeout: 11m"), "3:46: tools.t.timeout: must be a duration with its unit, from 1ms to 10m, such as 2s"},
		{"retry", of("retry: always"), "3:44: tools.t.retry: must be one of never, transient"},
		{"rate", of("rate: {burst: 0, every: 1us}"), "3:51: tools.t.rate.burst: must be a whole number from 1 to 10000\n3:61: tools.t.rate.every: must be a duration with its unit, from 1ms to 24h, such as 1s"},
		{"rate of a number", of("rate: 5"), "3:43: tools.t.rate: must be a mapping, such as {burst: 5, every: 1s}, not a number"},
		{"half a rate", of("rate: {burst: 1}"), "3:43: tools.t.rate.every: missing"},
		{"field", of("precondition: {call: a, field: []}, approval: required"), "3:68: tools.t.precondition.field: must name at least one field"},
		{"fields", of("precondition: {call: a, field: [b, c..d]}, approval: required"), "3:72: tools.t.precondition.field[1]: must be names with dots between them"},
		{"turn", of("concurrency: {of: a}"), "3:50: tools.t.concurrency.limit: missing"},
		{"turns", "version: 1\ntools:\n  a: {permission: p, effect: write, concurrency: {of: x, limit: 1}}\n  b: {permission: p, effect: write, concurrency: {of: x, limit: 2}}\n",
			"4:55: tools.b.concurrency.of: has another limit at a: 1"},
		{"concurrency", of("concurrency: 0"), "3:50: tools.t.concurrency: must be a whole number from 1 to 10000"},
		{"cost", of("cost: '1'"), "3:43: tools.t.cost: must be a whole number from 0 to 1000000"},
		{"visibility", of("visibility: {tasks: a, environments: ['']}"), "3:57: tools.t.visibility.tasks: must be a list of strings, not a string\n3:75: tools.t.visibility.environments[0]: must be an environment, not an empty string"},
		{"input", of("input: true"), "3:44: tools.t.input: must be a mapping, not a boolean"},
		{"input number", of("input: {maximum: 0x1}"), "3:54: tools.t.input.maximum: is not how JSON writes a number"},
		{"input sandbox", of("input: {const: '${SANDBOX}'}"), "3:52: tools.t.input.const: ${SANDBOX} is not known here"},
		{"output of a number", of("output: 5"), "3:45: tools.t.output: must be a mapping, such as {max_bytes: 20000, redact: [password]}, not a number"},
		{"visibility by name", of("visibility: x"), "3:49: tools.t.visibility: must be a mapping, such as {tasks: [review]}, not a string"},
		{"rule by name", of("errors: [ENOENT]"), "3:46: tools.t.errors[0]: must be a mapping, such as {match: ENOENT, code: file_not_found, category: not_found}, not a string"},
		{"output", of("output: {max_bytes: 0, redact: [1]}"), "3:57: tools.t.output.max_bytes: must be a whole number from 1 to 1073741824\n3:69: tools.t.output.redact[0]: must be a string, not a number"},
		{"narrow by", of("output: {narrow_by: [a]}"), "3:57: tools.t.output.narrow_by: may only stand beside max_bytes"},
		{"description", of("description: ''"), "3:50: tools.t.description: must be a description, not an empty string"},

		{"errors", of("errors: {match: a}"), "3:45: tools.t.errors: must be a list of mappings, such as [{match: ENOENT, code: file_not_found, category: not_found}], not a mapping"},
		{"a rule of nothing", of("errors: [{}]"), "3:46: tools.t.errors[0]: needs match, a part of what an error says, or result, which tells a success that is none\n3:46: tools.t.errors[0].code: missing"},
		{"own code", of("errors: [{match: a, code: own}]"), "3:46: tools.t.errors[0].category: missing: own is a code of this file alone, and its category is one of budget, routing, protocol, validation, policy, not_found, dependency, conflict, internal, unknown"},
		{"odd code", of("errors: [{match: a, code: fileNotFound, category: not_found}]"), "3:63: tools.t.errors[0].code: must be a word in snake_case, such as file_not_found"},
		{"category", of("errors: [{match: a, code: own, category: notfound}]"), "3:78: tools.t.errors[0].category: must be one of budget, routing,"},
		{"category of a known code", of("errors: [{match: a, code: rate_limited, category: policy}]"), "3:87: tools.t.errors[0].category: must be dependency, or left out: so it is for rate_limited everywhere"},
		{"empty match", of("errors: [{match: '', code: own, category: policy}]"), "3:54: tools.t.errors[0].match: must be a text, not an empty string"},
		{"empty result", of("errors: [{result: {}, code: own, category: policy}]"), "3:55: tools.t.errors[0].result: must not be empty: it would be a part of every answer"},
		{"a result of words", of("errors: [{result: [a], code: own, category: policy}]"), "3:55: tools.t.errors[0].result: must be a mapping, which is a part of the answer, or a string, with which it begins, not a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, got := read(t, tt.text)
			check(t, got, tt.want)
		})
	}
	if _, _, faults := read(t, of("approval: never")); faults != "" {
		t.Errorf("what the faults are put in has one: %s", faults)
	}
}

// check compares faults with the beginnings of those that are wanted.
func check(t *testing.T, got, want string) {
	t.Helper()
	lines, wanted := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range lines {
		if len(lines) != len(wanted) || !strings.HasPrefix(line, "contract.yaml:"+wanted[i]) {
			t.Fatalf("faults:\n%s\nwant:\n%s", got, want)
		}
	}
	if strings.Contains(got, "s3cr3t") {
		t.Errorf("a secret is told:\n%s", got)
	}
}
