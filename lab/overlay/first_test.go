package overlay

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/tool"
)

func define(name, schema, annotations string) tool.Definition {
	return tool.Definition{Name: name, InputSchema: json.RawMessage(schema), Annotations: json.RawMessage(annotations)}
}

var start = Start{Name: "files", Pin: "catalog.lock", Within: "${SANDBOX}", NamesPath: namesPath, Key: "action_id"}

func namesPath(argument string) bool {
	return slices.Contains([]string{"path", "paths", "file", "source", "source\n", "destination"}, argument)
}

func TestWriteAFirstContract(t *testing.T) {
	got := start.Write([]tool.Definition{
		define("write_file", `{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"]}`, ``),
		define("move", `{"type":"object","properties":{"source":{"type":"string"},"destination":{"type":"string"}},"required":["source","destination"],"additionalProperties":false}`, `{"destructiveHint":true}`),
		define("read_file", `{"type":"object","properties":{"path":{"type":"string"},"other_path":{"type":"string"}},"required":["path"]}`, `{"readOnlyHint":true}`),
		define("broken", `{"type":"objekt"}`, ``),
		define("save any", `{"type":"object","properties":{"action_id":{"type":"integer"}}}`, ``),
	})
	const want = `# What lab tool-eval lays over the server's tools; "lab help contract" tells every key.
# Effects are guessed: each line with REVIEW is for a person to confirm or to correct.
version: 1
pin: "catalog.lock"   # what was reviewed; "lab pin --check" tells what has changed since
default: deny   # tools that are not named here are not exposed
tools:
  # REVIEW: broken is left out: "the server's input schema cannot be checked: invalid schema: /type: \"objekt\" is not a type of JSON Schema"
  move:
    permission: "files:destructive"
    effect: destructive   # REVIEW: annotated destructiveHint: true
    approval: required
    idempotency: {key: action_id, add: true}
    resource: [{argument: destination, within: "${SANDBOX}"}, {argument: source, within: "${SANDBOX}"}]   # REVIEW: called like a path
    output: {max_bytes: 100000}
  read_file:
    permission: "files:read"
    effect: read   # REVIEW: annotated readOnlyHint: true
    resource: [{argument: path, within: "${SANDBOX}"}]   # REVIEW: called like a path
    input: {additionalProperties: false}
    output: {max_bytes: 100000}
  "save any":
    permission: "files:write"
    effect: write   # REVIEW: from the verb "save"
    approval: required
    input: {additionalProperties: false}
    output: {max_bytes: 100000}
  write_file:
    permission: "files:write"
    effect: write   # REVIEW: from the verb "write"
    approval: required
    idempotency: {key: action_id, add: true}
    resource: [{argument: path, within: "${SANDBOX}"}]   # REVIEW: called like a path
    input: {additionalProperties: false}
    output: {max_bytes: 100000}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := string(start.Write([]tool.Definition{define("broken", `{"type":"objekt"}`, ``)})); !strings.HasSuffix(got, "\n  {}\n") {
		t.Errorf("of no tool that fits:\n%s", got)
	}
}

// Whatever a server lists, its first contract can be read and laid over it.
func TestFirstContractsOfHostileCatalogs(t *testing.T) {
	names := rapid.OneOf(rapid.StringN(1, 30, -1), rapid.SampledFrom([]string{
		"true", "1", "- a", "a: b", "# x", "a\nb", "\x1b[31m", "\u2028", "\u202e", strings.Repeat("n", 5000), "A", "a", " ", "~", "\xff\xfe", "\ufeff", "delete_path", "${HOME}", "a ${SANDBOX}"}))
	schemas := rapid.SampledFrom([]string{
		`{}`, `true`, `false`, `null`, `[]`, `{"type":"objekt"}`, `{"$ref":"#"}`, `{"type":"object"}`, `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`,
		`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`,
		`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"}}},"required":["paths"],"maxProperties":1}`,
		`{"type":"object","properties":{"file":{"type":"string","pattern":"("}},"required":["file"]}`,
		`{"type":"object","properties":{"file":{"type":"string"}},"required":["file"],"anyOf":[{"additionalProperties":false}]}`,
		`{"type":"object","properties":{"action_id":{"type":"string"},"a: b":{"type":"string"},"source\n":{"type":"string"}},"required":["source\n"]}`,
		`{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"maxLength":3}}`,
	})
	rapid.Check(t, func(t *rapid.T) {
		var definitions []tool.Definition
		for _, name := range rapid.SliceOfNDistinct(names, 1, 5, rapid.ID).Draw(t, "names") {
			definitions = append(definitions, define(name, schemas.Draw(t, "schema"), rapid.SampledFrom([]string{``, `{"readOnlyHint":true}`, `{`}).Draw(t, "annotations")))
		}
		text := start.Write(definitions)
		fitting := 0
		for _, p := range start.First(definitions) {
			if p.Unfit == "" {
				fitting++
			}
		}
		if fitting == 0 {
			return
		}
		f, err := parse(text, "contract.yaml", func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		tools, err := f.Lay(definitions)
		if err != nil || len(tools) != fitting {
			t.Fatalf("%d tools, %v\n%s", len(tools), err, text)
		}
	})
}

// What the registry could not hold within a folder is not taken for a path.
func TestPathsOfAFirstContract(t *testing.T) {
	proposed := start.First([]tool.Definition{define("t", `{"type":"object","required":["path","paths","source"],"$defs":{"p":{"type":"string"}},
		"properties":{"path":{"$ref":"#/$defs/p"},"paths":{"type":"array","prefixItems":[true],"items":{"type":"string"}},"source":{"type":"integer"},"file":{"type":"string"}}}`, ``)})
	if diff := cmp.Diff([]string{"path"}, proposed[0].Paths); diff != "" || proposed[0].Unfit != "" {
		t.Errorf("%s\n%s", proposed[0].Unfit, diff)
	}
}
