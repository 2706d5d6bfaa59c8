package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/datasets"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// The JSON Schema and the field tables name the same fields, and require the
// same.
func TestSchemaNamesTheFields(t *testing.T) {
	type object struct {
		AdditionalProperties *bool
		Properties           map[string]json.RawMessage
		Required             []string
	}
	var document struct {
		object
		Definitions map[string]object
	}
	if err := json.Unmarshal(datasets.ToolCasesSchema, &document); err != nil {
		t.Fatal(err)
	}
	var expected object
	if err := json.Unmarshal(document.Properties["expected"], &expected); err != nil {
		t.Fatal(err)
	}
	for _, place := range []struct {
		name   string
		schema object
		table  map[string]bool
	}{
		{"case", document.object, requiredFields(caseFields)},
		{"expected", expected, requiredFields(expectedFields)},
		{"proposal", document.Definitions["proposal"], requiredFields(proposalFields)},
		{"faults", document.Definitions["faults"], requiredFields(faultFields)},
		{"caller", document.Definitions["caller"], requiredFields(callerFields)},
		{"approver", document.Definitions["approver"], requiredFields(approverFields)},
		{"approval", document.Definitions["approval"], requiredFields(approvalFields)},
		{"call", document.Definitions["call"], requiredFields(callFields)},
		{"budget", document.Definitions["budget"], requiredFields(budgetFields)},
		{"step", document.Definitions["step"], requiredFields(stepFields)},
	} {
		named := make(map[string]bool)
		for name := range place.schema.Properties {
			named[name] = slices.Contains(place.schema.Required, name)
		}
		if diff := cmp.Diff(place.table, named); diff != "" {
			t.Errorf("%s: which fields are required (-table +schema):\n%s", place.name, diff)
		}
		if closed := place.schema.AdditionalProperties; closed == nil || *closed {
			t.Errorf("%s: the schema allows other fields", place.name)
		}
	}
}

// requiredFields says of each field of a table whether it is required,
// whatever else is there.
func requiredFields[T any](fields table[T]) map[string]bool {
	required := make(map[string]bool)
	for _, f := range fields {
		required[f.name] = f.required && f.unless == nil
	}
	return required
}

// verdicts says whether a line is right to the schema and to the loader.
func verdicts(t interface{ Fatalf(string, ...any) }, cases *schema.Schema, line []byte) (bySchema, byLoader bool, why string) {
	value, err := jsonvalue.Decode(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	violations := cases.Validate(value)
	decoded := Batch{firstLine: 1, lines: line}.Decode()
	if len(decoded.Lines)+min(decoded.Total, 1) != 1 {
		t.Fatalf("%s: %d cases and %d faults", line, len(decoded.Lines), decoded.Total)
	}
	// What takes two places of a case to see is beyond the schema.
	beyond := func(f Fault) bool {
		return slices.ContainsFunc([]string{"is before that of an earlier", "there is no such proposal", "not each surface is given as many"},
			func(reason string) bool { return strings.Contains(f.Reason, reason) })
	}
	byLoader = !slices.ContainsFunc(decoded.Faults, func(f Fault) bool { return !beyond(f) })
	return violations == nil, byLoader, fmt.Sprintf("schema: %v\nloader: %v", violations, decoded.Faults)
}

func compileCases(t testing.TB) *schema.Schema {
	t.Helper()
	cases, err := schema.Compile(datasets.ToolCasesSchema)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// stagedLine is a case in which every field stands that a stage can have.
const stagedLine = `{"case_id":"staged","intent":"Write.","caller":{"id":"agent","permissions":["w"],"task":"t","environment":"e"},"approved":true,` +
	`"proposals":[{"name":"a","arguments":{"n":1},"at_ms":5,"caller":{"id":"other","permissions":[]},` +
	`"faults":{"latency_ms":1,"panic":true,"error":"down","bad_output":false,"output":null,"lost_response":true,"crash":false}},` +
	`{"raw":"{}","format":"mcp","at_ms":5},{"raw":""}],` +
	`"approvals":[{"proposal":0,"approver":{"id":"lead","permissions":["ok"]},"at_ms":1,"issued_at_ms":2,"expires_at_ms":3},` +
	`{"call":{"name":"b","arguments":{}},"approver":{"id":"lead","permissions":[]},"expires_at_ms":0}],` +
	`"budget":{"proposals":1,"elapsed_ms":2,"concurrent":3,"cost":4},"parallel":true,"recovery":"auto","tags":["x","y"],` +
	`"expected":{"ok":true,"side_effect_count":0,"state":{"a":[1,null]},"steps":[null,{},{"ok":true,"side_effect_count":1,"error_code":"c",` +
	`"retryable":false,"replayed":true,"output_keys":["k"],"output_count":2,"has_next_cursor":false,"refused_by":null,"handler_ran":true,` +
	`"outcome":"unknown","next_action":"stop","output":{"x":[{}]},"details":null}]}}`

// callsLine is a case in which every field stands that servers outside bring up.
const callsLine = `{"case_id":"foreign","intent":"Write.","todo":"Say what is right.",` +
	`"calls":{"before":[{"name":"a","arguments":{}}],"after":[{"name":"b","arguments":{"n":1},"at_ms":0}]},` +
	`"expected":{"ok":true,"side_effect_count":0,"is_error":false,"content_contains":"done","max_output_bytes":100,"schema_valid":true,` +
	`"steps":[{"is_error":true,"content_contains":" ","max_output_bytes":0,"schema_valid":false}]}}`

func shippedLines() [][]byte {
	return bytes.Split(bytes.TrimSpace(datasets.ToolCases), []byte("\n"))
}

func TestSchemaAgrees(t *testing.T) {
	line := strings.TrimSpace(caseLine("c1"))
	grader := func(member string) string {
		return strings.Replace(line, `"ok":true`, `"ok":true,`+member, 1)
	}
	tests := []struct {
		line string
		want bool
	}{
		{line, true},
		{`{}`, false},
		{`[]`, false},
		{`null`, false},
		{strings.Replace(line, `"c1"`, `""`, 1), false},
		{strings.Replace(line, `c1`, strings.Repeat("é", MaxIDLength), 1), true},
		{strings.Replace(line, `c1`, strings.Repeat("é", MaxIDLength+1), 1), false},
		{strings.Replace(line, `c1`, strings.Repeat("😀", MaxIDLength), 1), true},
		{strings.Replace(line, `"intent":"Read."`, `"intent":""`, 1), false},
		{strings.Replace(line, `"actor_permissions":[]`, `"actor_permissions":["a","a"]`, 1), true},
		{strings.Replace(line, `"actor_permissions":[]`, `"actor_permissions":[""]`, 1), false},
		{strings.Replace(line, `"name":"b"`, `"name":""`, 1), true},
		{strings.Replace(line, `[{"name":"b","arguments":{}}]`, `[]`, 1), false},
		{strings.Replace(line, `{"name":"b","arguments":{}}`, `{"name":"b"}`, 1), false},
		{strings.Replace(line, `{"name":"b","arguments":{}}`, `{"name":"b","arguments":{},"id":1}`, 1), false},
		{strings.Replace(line, `{"name":"b","arguments":{}}`, `{"name":"b","arguments":{"deep":[{"er":[[]]}]}}`, 1), true},
		{grader(`"output_keys":[]`), true},
		{grader(`"output_keys":["",""]`), false},
		{grader(`"output_keys":["a","A"]`), true},
		{grader(`"output_keys":[1,1]`), false},
		{grader(`"error_code":""`), false},
		{grader(`"error_code":"no_such_code"`), true},
		{grader(`"error_code":null`), false},
		{grader(`"output_count":0`), true},
		{grader(`"output_count":-0`), true},
		{grader(`"output_count":-0.0e7`), true},
		{grader(`"output_count":1e9`), true},
		{grader(`"output_count":10.0e8`), true},
		{grader(`"output_count":1000000001`), false},
		{grader(`"output_count":1000000000.0000000001`), false},
		{grader(`"output_count":0.99999999999999999999`), false},
		{grader(`"output_count":1e-400`), false},
		{grader(`"output_count":1e400`), false},
		{grader(`"output_count":-1`), false},
		{grader(`"output_count":"1"`), false},
		{grader(`"output_count":null`), false},
		{grader(`"outputcount":1`), false},
	}
	staged := func(old, new string, want bool) {
		if strings.Count(stagedLine, old) != 1 {
			t.Fatalf("%s is not once in the staged line", old)
		}
		tests = append(tests, struct {
			line string
			want bool
		}{strings.Replace(stagedLine, old, new, 1), want})
	}
	staged(`"parallel":true`, `"parallel":false`, true)
	staged(`"parallel":true`, `"parallel":"yes"`, false)
	staged(`"recovery":"auto"`, `"recovery":"Auto"`, false)
	staged(`"recovery":"auto"`, `"recovery":null`, false)
	staged(`["x","y"]`, `["x","x"]`, false)
	staged(`["x","y"]`, `["x",""]`, false)
	staged(`["x","y"]`, `[]`, true)
	staged(`"approved":true,`, ``, true)
	staged(`"approved":true,`, `"actor_permissions":[],`, false)
	staged(`"approved":true,`, `"baseline_calls":[{"name":"a","arguments":{}}],`, false)
	staged(`"id":"agent",`, ``, false)
	staged(`"id":"agent"`, `"id":""`, false)
	staged(`"task":"t"`, `"task":""`, false)
	staged(`"task":"t"`, `"tusk":"t"`, false)
	staged(`"permissions":["ok"]`, `"permissions":["ok"],"task":"t"`, false)
	staged(`"name":"a",`, ``, false)
	staged(`"name":"a",`, `"name":"a","format":"mcp",`, false)
	staged(`"name":"a",`, `"name":"a","raw":"",`, false)
	staged(`"raw":"{}",`, ``, false)
	staged(`"format":"mcp"`, `"format":"MCP"`, false)
	staged(`"latency_ms":1`, `"latency_ms":-1`, false)
	staged(`"latency_ms":1`, `"latency_ms":1.5`, false)
	staged(`"latency_ms":1`, `"delay_ms":1`, false)
	staged(`"error":"down"`, `"error":""`, false)
	staged(`"panic":true`, `"panic":1`, false)
	staged(`"proposal":0,`, ``, false)
	staged(`"proposal":0,`, `"proposal":0,"call":{"name":"b","arguments":{}},`, false)
	staged(`"proposal":0`, `"proposal":-1`, false)
	staged(`,"expires_at_ms":3`, ``, false)
	staged(`{"name":"b","arguments":{}}`, `{"name":"b"}`, false)
	staged(`"cost":4`, `"cost":0`, false)
	staged(`"cost":4`, `"cost":1e9`, true)
	staged(`"cost":4`, `"costs":4`, false)
	staged(`[null,{},`, `[{},null,`, true)
	staged(`[null,{},`, `[1,{},`, false)
	staged(`"refused_by":null`, `"refused_by":"input"`, true)
	staged(`"refused_by":null`, `"refused_by":""`, false)
	staged(`"refused_by":null`, `"refused_by":0`, false)
	staged(`"outcome":"unknown"`, `"outcome":"maybe"`, false)
	staged(`"next_action":"stop"`, `"next_action":null`, false)
	staged(`"details":null`, `"details":[1,"x",{"y":1e2}]`, true)
	staged(`"handler_ran":true`, `"handlerran":true`, false)
	foreign := func(old, new string, want bool) {
		if strings.Count(callsLine, old) != 1 {
			t.Fatalf("%s is not once in the line with calls", old)
		}
		tests = append(tests, struct {
			line string
			want bool
		}{strings.Replace(callsLine, old, new, 1), want})
	}
	const before, after = `"before":[{"name":"a","arguments":{}}],`, `"after":[{"name":"b","arguments":{"n":1},"at_ms":0}]`
	foreign(`"todo":"Say what is right.",`, ``, true)
	foreign(`"Say what is right."`, `""`, false)
	foreign(`"Say what is right."`, `true`, false)
	foreign(`Say what is right.`, strings.Repeat("é", MaxTodo), true)
	foreign(`Say what is right.`, strings.Repeat("é", MaxTodo+1), false)
	foreign(`"todo":`, `"clause":"a input /b minimum below","todo":`, true)
	foreign(`"todo":`, `"clause":"","todo":`, false)
	foreign(`"todo":`, `"clause":"`+strings.Repeat("é", MaxClause+1)+`","todo":`, false)
	foreign(`"ok":true,"side_effect_count":0,"is_error"`, `"is_error"`, false)
	foreign(`"ok":true,"side_effect_count":0,"is_error"`, `"accepted":true,"is_error"`, true)
	foreign(`"ok":true,"side_effect_count":0,"is_error"`, `"ok":true,"accepted":false,"is_error"`, true)
	foreign(`"ok":true,"side_effect_count":0,"is_error"`, `"accepted":null,"is_error"`, false)
	foreign(`[{"is_error"`, `[{"accepted":true,"is_error"`, true)
	foreign(`[{"is_error"`, `[{"accepted":1,"is_error"`, false)
	foreign(before+after, ``, false)
	foreign(before+after, after, true)
	foreign(before, `"before":[],`, false)
	foreign(before, `"before":{},`, false)
	foreign(before, `"before":null,`, false)
	foreign(before, `"":[{"name":"a","arguments":{}}],`, true)
	foreign(`"calls":`, `"actor_permissions":["w"],"calls":`, true)
	foreign(`"calls":`, `"approved":true,"calls":`, true)
	foreign(`"calls":`, `"caller":{"id":"a","permissions":[]},"calls":`, true)
	foreign(`"calls":`, `"actor_permissions":[],"caller":{"id":"a","permissions":[]},"calls":`, false)
	foreign(`"calls":`, `"proposals":[{"name":"a","arguments":{}}],"calls":`, false)
	foreign(`"calls":`, `"baseline_calls":[{"name":"a","arguments":{}}],"calls":`, false)
	foreign(`"calls":`, `"candidate_calls":[{"name":"a","arguments":{}}],"calls":`, false)
	foreign(`"calls":`, `"call":`, false)
	foreign(`"calls":{`+before+after+`}`, `"proposals":[{"name":"a","arguments":{}}]`, true)
	foreign(`"calls":{`+before+after+`}`, `"proposals":[{"name":"a","arguments":{}}],"actor_permissions":[]`, true)
	foreign(`"calls":{`+before+after+`}`, `"baseline_calls":[{"name":"a","arguments":{}}],"candidate_calls":[{"name":"a","arguments":{}}]`, false)
	foreign(`"calls":{`+before+after+`}`, `"actor_permissions":[],"approved":true,"baseline_calls":[{"name":"a","arguments":{}}],"candidate_calls":[{"name":"a","arguments":{}}]`, true)
	foreign(`"is_error":false`, `"is_error":null`, false)
	foreign(`"done"`, `""`, false)
	foreign(`"done"`, `["done"]`, false)
	foreign(`"max_output_bytes":100`, `"max_output_bytes":1e2`, true)
	foreign(`"max_output_bytes":100`, `"max_output_bytes":-1`, false)
	foreign(`"schema_valid":true`, `"schema_valid":"yes"`, false)
	foreign(`"schema_valid":true`, `"schemavalid":true`, false)
	foreign(`"is_error":true`, `"is_error":1`, false)
	foreign(`" "`, `""`, false)
	foreign(`"max_output_bytes":0`, `"max_output_bytes":0.5`, false)
	foreign(`"schema_valid":false`, `"schema_valid":null`, false)
	cases := compileCases(t)
	for _, test := range tests {
		bySchema, byLoader, why := verdicts(t, cases, []byte(test.line))
		if bySchema != test.want || byLoader != test.want {
			t.Errorf("%s\nwant %v\n%s", test.line, test.want, why)
		}
	}
	for _, shipped := range append(shippedLines(), []byte(stagedLine), []byte(callsLine)) {
		if bySchema, byLoader, why := verdicts(t, cases, shipped); !bySchema || !byLoader {
			t.Errorf("%s\n%s", shipped, why)
		}
	}
}

// However a shipped case is changed, the schema and the loader agree.
func TestSchemaAgreesOnMutations(t *testing.T) {
	cases := compileCases(t)
	lines := slices.Concat(shippedLines(), slices.Repeat([][]byte{[]byte(stagedLine)}, 11), slices.Repeat([][]byte{[]byte(callsLine)}, 11))
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tree, err := jsonvalue.Decode(rapid.SampledFrom(lines).Draw(t, "line"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "mutations") {
			tree = mutate(t, tree)
		}
		line, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		bySchema, byLoader, why := verdicts(t, cases, line)
		if bySchema != byLoader {
			t.Fatalf("%s\n%s", line, why)
		}
		if byLoader {
			valid++
		} else {
			invalid++
		}
	})
	if valid == 0 || invalid == 0 {
		t.Errorf("%d lines were right and %d wrong: the mutations show nothing", valid, invalid)
	}
}

// place is a value within a tree.
type place struct {
	value any
	set   func(any) // replaces it
	// remove takes it out of what holds it; nil for the root.
	remove func()
	// free: the schema says nothing of it, but cannot compare a number that a
	// double cannot hold.
	free bool
}

// places lists every value of a tree, in one order.
func places(root *any) []place {
	var all []place
	var walk func(p place)
	walk = func(p place) {
		all = append(all, p)
		switch v := p.value.(type) {
		case []any:
			for i := range v {
				remove := func() { p.set(slices.Delete(slices.Clone(v), i, i+1)) }
				walk(place{v[i], func(x any) { v[i] = x }, remove, p.free})
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				set := func(x any) { v[name] = x }
				walk(place{v[name], set, func() { delete(v, name) }, p.free || slices.Contains(freeNames, name)})
			}
		}
	}
	walk(place{value: *root, set: func(x any) { *root = x }})
	return all
}

var freeNames = []string{"arguments", "output", "details", "state"}

var (
	someNames = []string{"ok", "side_effect_count", "error_code", "retryable", "replayed", "output_keys", "output_count",
		"has_next_cursor", "case_id", "intent", "name", "arguments", "expected", "Name", "ok ", "", "é", "items",
		"raw", "format", "at_ms", "faults", "caller", "proposal", "proposals", "call", "approver", "budget", "parallel", "recovery", "tags",
		"actor_permissions", "approved", "baseline_calls", "candidate_calls", "calls", "todo", "before", "is_error", "content_contains",
		"max_output_bytes", "schema_valid", "steps", "refused_by", "outcome", "id", "permissions", "task",
		"expires_at_ms", "cost", "latency_ms", "panic"}
	someTexts   = []string{"", "auto", "mcp", "applied", "a", "b", " ", "é", "\x00", "<&>", strings.Repeat("é", MaxIDLength), strings.Repeat("é", MaxIDLength+1)}
	someDoubles = []json.Number{"0", "-0", "-0.0", "1", "1.0", "1e0", "10e-1", "2.50e1", "-1", "0.5", "3", "999999999",
		"1000000000", "1e9", "1000000000.0", "1000000001", "1e10", "9007199254740992", "1e300", "5e-324"}
	someDecimals = []json.Number{"9007199254740993", "1e400", "1e-400", "0.99999999999999999999", "1.00000000000000000001",
		"1000000000.0000000001", "999999999.99999999999"}
)

func mutate(t *rapid.T, root any) any {
	all := places(&root)
	p := all[rapid.IntRange(0, len(all)-1).Draw(t, "place")]
	switch change := rapid.SampledFrom([]string{"drop", "add", "replace", "repeat"}).Draw(t, "change"); {
	case change == "drop" && p.remove != nil:
		p.remove()
	case change == "add":
		name := rapid.SampledFrom(someNames).Draw(t, "name")
		_, isObject := p.value.(map[string]any)
		added := anyValue(t, p.free || isObject && slices.Contains(freeNames, name))
		switch v := p.value.(type) {
		case []any:
			p.set(append(slices.Clone(v), added))
		case map[string]any:
			v[name] = added
		default:
			p.set(added)
		}
	case change == "repeat":
		if v, ok := p.value.([]any); ok && len(v) > 0 {
			p.set(append(slices.Clone(v), v[0]))
		}
	default:
		p.set(anyValue(t, p.free))
	}
	return root
}

func anyValue(t *rapid.T, free bool) any {
	switch rapid.SampledFrom([]string{"null", "boolean", "text", "number", "array", "object", "call"}).Draw(t, "kind") {
	case "boolean":
		return rapid.Bool().Draw(t, "boolean")
	case "text":
		return rapid.SampledFrom(someTexts).Draw(t, "text")
	case "number":
		numbers := someDoubles
		if !free {
			numbers = slices.Concat(someDoubles, someDecimals)
		}
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case "array":
		return anySlice(rapid.SliceOfN(rapid.SampledFrom(someTexts), 0, 3).Draw(t, "texts"))
	case "object":
		return map[string]any{}
	case "call":
		return map[string]any{"name": "tool", "arguments": map[string]any{}}
	}
	return nil
}

func anySlice(texts []string) []any {
	items := []any{}
	for _, text := range texts {
		items = append(items, text)
	}
	return items
}
