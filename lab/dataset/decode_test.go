package dataset_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/datasets"
	"agentlab/lab/dataset"
)

func goodCase(id string) *dataset.Case {
	return &dataset.Case{
		ID:          id,
		Intent:      "Read a ticket.",
		Permissions: []string{"ticket:read"},
		Baseline:    []dataset.Proposal{{Name: "operation", Arguments: json.RawMessage(`{"a":1}`)}},
		Candidate:   []dataset.Proposal{{Name: "get_ticket", Arguments: json.RawMessage(`{"b":[2]}`)}},
		Expected:    dataset.Expectation{OK: ptr(true), SideEffectCount: ptr(0)},
	}
}

func goodCaseWith(change func(*dataset.Case)) *dataset.Case {
	c := goodCase("c1")
	change(c)
	return c
}

func TestDecodeAccepts(t *testing.T) {
	fullCase := &dataset.Case{
		ID:          "full",
		Intent:      "Write twice.",
		Permissions: []string{"ticket:read", "ticket:write"},
		Approved:    true,
		Baseline:    []dataset.Proposal{{Name: "operation", Arguments: json.RawMessage(`{}`)}},
		Candidate: []dataset.Proposal{
			{Name: "record", Arguments: json.RawMessage(`{"n":1e0}`)},
			{Name: "", Arguments: json.RawMessage(`{"é":"\u0000"}`)},
		},
		Expected: dataset.Expectation{
			OK:              ptr(false),
			SideEffectCount: ptr(2),
			ErrorCode:       ptr("tool_timeout"),
			Retryable:       ptr(true),
			Replayed:        ptr(false),
			OutputKeys:      []string{"b", "a"},
			OutputCount:     ptr(3),
			HasNextCursor:   ptr(false),
		},
	}
	counting := func(n int) *dataset.Case {
		return goodCaseWith(func(c *dataset.Case) { c.Expected.SideEffectCount = &n })
	}
	count := func(literal string) string {
		return edit(good, `"side_effect_count":0`, `"side_effect_count":`+literal)
	}
	tests := []struct {
		name string
		text string
		want []dataset.Line
	}{
		{"only what is required", good + "\n", []dataset.Line{{1, goodCase("c1")}}},
		{"every field", full + "\n", []dataset.Line{{1, fullCase}}},
		{"no newline at the end", good, []dataset.Line{{1, goodCase("c1")}}},
		{"CRLF", good + "\r\n" + named("c2") + "\r\n", []dataset.Line{{1, goodCase("c1")}, {2, goodCase("c2")}}},
		{"CR at the end of the file", good + "\r", []dataset.Line{{1, goodCase("c1")}}},
		{"blank lines", "\n \t\n\r\n" + good + "\n\n\n" + named("c2") + "\n\n",
			[]dataset.Line{{4, goodCase("c1")}, {7, goodCase("c2")}}},
		{"white space around and within", " \t" + strings.NewReplacer(`d":`, `d" : `, `[`, "[\t", `},`, `}  ,`).Replace(good) + " \t\n",
			[]dataset.Line{{1, goodCaseWith(func(c *dataset.Case) { c.Candidate[0].Arguments = json.RawMessage("{\"b\":[\t2]}") })}}},
		{"an escaped spelling of a key", edit(good, `"approved"`, `"\u0061pproved"`), []dataset.Line{{1, goodCase("c1")}}},
		{"another order of keys", edit(edit(good, `"case_id":"c1",`, ``), `"approved":false,`, `"approved":false,"case_id":"c1",`),
			[]dataset.Line{{1, goodCase("c1")}}},
		{"no permissions", edit(good, `["ticket:read"]`, `[]`),
			[]dataset.Line{{1, goodCaseWith(func(c *dataset.Case) { c.Permissions = []string{} })}}},
		{"no output keys", edit(good, `"ok":true`, `"ok":true,"output_keys":[]`),
			[]dataset.Line{{1, goodCaseWith(func(c *dataset.Case) { c.Expected.OutputKeys = []string{} })}}},
		{"an id of 200 characters", named(strings.Repeat("é", 200)),
			[]dataset.Line{{1, goodCaseWith(func(c *dataset.Case) { c.ID = strings.Repeat("é", 200) })}}},
		{"a surrogate pair", named(`\ud83d\ude00`), []dataset.Line{{1, goodCase("😀")}}},
		{"arguments as they were written", edit(good, `{"a":1}`, `{ "a" : 1.50e+1 }`),
			[]dataset.Line{{1, goodCaseWith(func(c *dataset.Case) { c.Baseline[0].Arguments = json.RawMessage(`{ "a" : 1.50e+1 }`) })}}},
		{"the digits of a count", count(`7`), []dataset.Line{{1, counting(7)}}},
		{"a count with a fraction of zero", count(`1.0`), []dataset.Line{{1, counting(1)}}},
		{"a count with an exponent", count(`1e0`), []dataset.Line{{1, counting(1)}}},
		{"a count with both", count(`0.012E+3`), []dataset.Line{{1, counting(12)}}},
		{"a count of minus zero", count(`-0`), []dataset.Line{{1, counting(0)}}},
		{"the largest count", count(`1000000000`), []dataset.Line{{1, counting(dataset.MaxCount)}}},
		{"the largest count with an exponent", count(`1e9`), []dataset.Line{{1, counting(dataset.MaxCount)}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := mustLoad(t, source("cases.jsonl", test.text))
			if diff := cmp.Diff(test.want, got.Lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	const whole = "must be a whole number from 0 to 1000000000"
	count := func(literal string) string {
		return edit(good, `"side_effect_count":0`, `"side_effect_count":`+literal)
	}
	grader := func(member string) string { return edit(good, `"ok":true`, `"ok":true,`+member) }
	tests := []struct {
		name string
		line string
		want []string // after "in/cases.jsonl:1: "; ¦ is the number of the byte at the line's ¦
	}{
		// Unknown fields.
		{"unknown field of a case", edit(good, `"intent"`, `"aproved":true,"intent"`), []string{"aproved: unknown field; did you mean \"approved\"?"}},
		{"unknown field of a proposal", edit(good, `"name":"get_ticket"`, `"name":"get_ticket","id":7`), []string{"candidate_calls[0].id: unknown field"}},
		{"misspelt grader", grader(`"error_cod":"tool_timeout"`), []string{"expected.error_cod: unknown field; did you mean \"error_code\"?"}},
		{"half a grader", grader(`"side_effects":0`), []string{`expected.side_effects: unknown field; did you mean "side_effect_count"?`}},
		{"a step's grader", grader(`"refused_by":"input"`), []string{"expected.refused_by: unknown field; it stands in expected.steps"}},
		{"all of a step's graders", grader(`"handler_ran":true,"outcome":"x","next_action":"x","output":{},"details":{}`), []string{
			"expected.handler_ran: unknown field; it stands in expected.steps", "expected.outcome: unknown field; it stands in expected.steps",
			"expected.next_action: unknown field; it stands in expected.steps", "expected.output: unknown field; it stands in expected.steps",
			"expected.details: unknown field; it stands in expected.steps"}},
		{"a step's grader elsewhere", edit(good, `"intent"`, `"refused_by":"input","intent"`), []string{"refused_by: unknown field"}},
		{"a name that is escaped", edit(good, `"intent"`, `"intnt\u0074":1,"intent"`), []string{`intntt: unknown field; did you mean "intent"?`}},
		{"another case of a name", edit(good, `"approved"`, `"Approved"`), []string{"Approved: unknown field; did you mean \"approved\"?", "approved: missing"}},
		{"unknown field with any value in it", edit(good, `"intent"`, `"x":{"y":[{"z":null}]},"intent"`), []string{"x: unknown field"}},
		{"unknown field without a name", grader(`"":1`), []string{`expected."": unknown field`}},
		{"unknown field that would move the cursor", grader(`"\u001b[2J\n":1`), []string{`expected."\x1b[2J\n": unknown field`}},
		{"unknown field with a dot", grader(`"a.b":1`), []string{`expected."a.b": unknown field`}},
		{"unknown field with a long name", grader(`"` + strings.Repeat("x", 81) + `":1`),
			[]string{"expected." + strings.Repeat("x", 80) + "...: unknown field"}},

		// Wrong types.
		{"array for a case", `[` + good + `]`, []string{"line: must be an object, not an array"}},
		{"string for a case", `"case"`, []string{"line: must be an object, not a string"}},
		{"null for a case", `null`, []string{"line: must be an object, not null"}},
		{"case_id", edit(good, `"c1"`, `1`), []string{"case_id: must be a string, not a number"}},
		{"empty case_id", named(""), []string{"case_id: must not be empty"}},
		{"long case_id", named(strings.Repeat("é", 201)), []string{"case_id: must be at most 200 characters"}},
		{"intent", edit(good, `"Read a ticket."`, `null`), []string{"intent: must be a string, not null"}},
		{"empty intent", edit(good, `"Read a ticket."`, `""`), []string{"intent: must not be empty"}},
		{"actor_permissions", edit(good, `["ticket:read"]`, `"ticket:read"`), []string{"actor_permissions: must be an array, not a string"}},
		{"a permission", edit(good, `["ticket:read"]`, `["ticket:read",true]`), []string{"actor_permissions[1]: must be a string, not true"}},
		{"an empty permission", edit(good, `["ticket:read"]`, `[""]`), []string{"actor_permissions[0]: must not be empty"}},
		{"approved", edit(good, `"approved":false`, `"approved":"false"`), []string{"approved: must be true or false, not a string"}},
		{"approved as null", edit(good, `"approved":false`, `"approved":null`), []string{"approved: must be true or false, not null"}},
		{"baseline_calls", edit(good, `[{"name":"operation","arguments":{"a":1}}]`, `{"name":"operation","arguments":{"a":1}}`),
			[]string{"baseline_calls: must be an array, not an object"}},
		{"no baseline_calls", edit(good, `[{"name":"operation","arguments":{"a":1}}]`, `[]`), []string{"baseline_calls: must not be empty"}},
		{"no candidate_calls", edit(good, `[{"name":"get_ticket","arguments":{"b":[2]}}]`, `[ ]`), []string{"candidate_calls: must not be empty"}},
		{"a proposal", edit(good, `{"name":"get_ticket","arguments":{"b":[2]}}`, `"get_ticket"`), []string{"candidate_calls[0]: must be an object, not a string"}},
		{"a name", edit(good, `"get_ticket"`, `["get_ticket"]`), []string{"candidate_calls[0].name: must be a string, not an array"}},
		{"arguments", edit(good, `{"b":[2]}`, `[2]`), []string{"candidate_calls[0].arguments: must be an object, not an array"}},
		{"arguments as text", edit(good, `{"b":[2]}`, `"{}"`), []string{"candidate_calls[0].arguments: must be an object, not a string"}},
		{"expected", edit(good, `{"ok":true,"side_effect_count":0}`, `true`), []string{"expected: must be an object, not true"}},
		{"ok", edit(good, `"ok":true`, `"ok":1`), []string{"expected.ok: must be true or false, not a number"}},
		{"side_effect_count", count(`"0"`), []string{"expected.side_effect_count: must be a whole number, not a string"}},
		{"error_code", grader(`"error_code":false`), []string{"expected.error_code: must be a string, not false"}},
		{"error_code as null", grader(`"error_code":null`), []string{"expected.error_code: must be a string, not null"}},
		{"empty error_code", grader(`"error_code":""`), []string{"expected.error_code: must not be empty"}},
		{"retryable", grader(`"retryable":null`), []string{"expected.retryable: must be true or false, not null"}},
		{"replayed", grader(`"replayed":0`), []string{"expected.replayed: must be true or false, not a number"}},
		{"output_keys", grader(`"output_keys":{}`), []string{"expected.output_keys: must be an array, not an object"}},
		{"a key", grader(`"output_keys":["a",1,2,""]`), []string{
			"expected.output_keys[1]: must be a string, not a number",
			"expected.output_keys[2]: must be a string, not a number"}},
		{"a key twice", grader(`"output_keys":["a","b","\u0061"]`), []string{`expected.output_keys[2]: repeats "a"`}},
		{"output_count", grader(`"output_count":true`), []string{"expected.output_count: must be a whole number, not true"}},
		{"has_next_cursor", grader(`"has_next_cursor":"no"`), []string{"expected.has_next_cursor: must be true or false, not a string"}},

		// Numbers.
		{"below zero", count(`-1`), []string{"expected.side_effect_count: " + whole}},
		{"a fraction", count(`0.5`), []string{"expected.side_effect_count: " + whole}},
		{"too many", count(`1000000001`), []string{"expected.side_effect_count: " + whole}},
		{"too many by an exponent", count(`1e10`), []string{"expected.side_effect_count: " + whole}},
		{"more than an int", count(`99999999999999999999`), []string{"expected.side_effect_count: " + whole}},
		{"more than a double", count(`1e400`), []string{"expected.side_effect_count: " + whole}},
		{"more than any number", count(`1e999999999`), []string{"expected.side_effect_count: " + whole}},
		{"less than a double", count(`1e-400`), []string{"expected.side_effect_count: " + whole}},
		{"nearly one", count(`0.99999999999999999999`), []string{"expected.side_effect_count: " + whole}},
		{"nearly few enough", count(`1000000000.00000001`), []string{"expected.side_effect_count: " + whole}},
		{"output_count below zero", grader(`"output_count":-3`), []string{"expected.output_count: " + whole}},

		// Missing fields.
		{"missing case_id", edit(good, `"case_id":"c1",`, ``), []string{"case_id: missing"}},
		{"missing intent", edit(good, `"intent":"Read a ticket.",`, ``), []string{"intent: missing"}},
		{"missing actor_permissions", edit(good, `"actor_permissions":["ticket:read"],`, ``), []string{"actor_permissions: missing"}},
		{"missing approved", edit(good, `"approved":false,`, ``), []string{"approved: missing"}},
		{"missing baseline_calls", edit(good, `"baseline_calls":[{"name":"operation","arguments":{"a":1}}],`, ``), []string{"baseline_calls: missing"}},
		{"missing candidate_calls", edit(good, `"candidate_calls":[{"name":"get_ticket","arguments":{"b":[2]}}],`, ``), []string{"candidate_calls: missing"}},
		{"missing expected", edit(good, `,"expected":{"ok":true,"side_effect_count":0}`, ``), []string{"expected: missing"}},
		{"missing name", edit(good, `"name":"operation",`, ``), []string{"baseline_calls[0].name: missing"}},
		{"missing arguments", edit(good, `,"arguments":{"b":[2]}`, ``), []string{"candidate_calls[0].arguments: missing"}},
		{"missing ok", edit(good, `"ok":true,`, ``), []string{"expected.ok: missing"}},
		{"missing side_effect_count", edit(good, `,"side_effect_count":0`, ``), []string{"expected.side_effect_count: missing"}},
		{"missing everything", `{}`, []string{
			"case_id: missing", "intent: missing", "actor_permissions: missing", "approved: missing",
			"baseline_calls: missing", "candidate_calls: missing", "expected: missing"}},

		// No single reading.
		{"duplicate key", edit(good, `"approved":false`, `"approved":false,¦"approved":true`),
			[]string{"approved: duplicate key (byte ¦ of the line)"}},
		{"duplicate key with an escaped spelling", edit(good, `"approved":false`, `"approved":false,¦"\u0061pproved":false`),
			[]string{"approved: duplicate key (byte ¦ of the line)"}},
		{"duplicate key in arguments", edit(good, `{"b":[2]}`, `{"b":[{"c":1,¦"c":1}]}`),
			[]string{"candidate_calls[0].arguments.b[0].c: duplicate key (byte ¦ of the line)"}},
		{"duplicate unknown key", edit(good, `"intent"`, `"x":1,¦"x":2,"intent"`),
			[]string{"x: unknown field", "x: duplicate key (byte ¦ of the line)"}},
		{"invalid UTF-8 in a string", named("c¦\xff"), []string{"case_id: invalid UTF-8 (byte ¦ of the line)"}},
		{"invalid UTF-8 in arguments", edit(good, `{"b":[2]}`, "{\"b\":\"¦\xc3\"}"), []string{"candidate_calls[0].arguments.b: invalid UTF-8 (byte ¦ of the line)"}},
		{"lone surrogate", named(`¦\ud83d`), []string{"case_id: invalid surrogate pair `\\ud83d\",\"int` in string (byte ¦ of the line)"}},
		{"surrogates in the wrong order", named(`¦\ude00\ud83d`), []string{"case_id: invalid surrogate pair `\\ude00\\ud83d` in string (byte ¦ of the line)"}},
		{"byte-order mark", "\ufeff" + good, []string{"line: the file starts with a byte-order mark"}},
		{"byte-order mark and nothing else", "\ufeff", []string{"line: the file starts with a byte-order mark"}},
		{"text after the case", good + ` ¦null`, []string{"line: text after the case (byte ¦ of the line)"}},
		{"two cases", good + "¦" + named("c2"), []string{"line: text after the case (byte ¦ of the line)"}},
		{"what is no JSON after the case", good + ` ¦// yes`, []string{"line: text after the case (byte ¦ of the line)"}},
		{"truncated", good[:len(good)-1] + "¦", []string{"line: the document ends too early (byte ¦ of the line)"}},
		{"truncated in a name", good[:5] + "¦", []string{"line: the document ends too early (byte ¦ of the line)"}},
		{"truncated in a proposal", good[:strings.Index(good, `,"arguments":{"b"`)] + "¦", []string{"candidate_calls[0]: the document ends too early (byte ¦ of the line)"}},
		{"not JSON", `¦case`, []string{"line: invalid character 'c' at start of value (byte ¦ of the line)"}},
		{"white space of Unicode", "¦\u00a0", []string{`line: invalid character '\u00a0' at start of value (byte ¦ of the line)`}},
		{"a form feed", "¦\f", []string{`line: invalid character '\f' at start of value (byte ¦ of the line)`}},
		{"no value", edit(good, `"c1"`, `¦`), []string{"case_id: invalid character ',' at start of value (byte ¦ of the line)"}},
		{"a comma too many", edit(good, `["ticket:read"]`, `["ticket:read"¦,]`), []string{"actor_permissions: invalid character ',' at start of value (byte ¦ of the line)"}},
		{"a number of JavaScript", count(`¦NaN`), []string{"expected.side_effect_count: invalid character 'N' at start of value (byte ¦ of the line)"}},
		{"a number with a zero in front", count(`0¦1`), []string{"expected: invalid character '1' after object value (expecting ',' or '}') (byte ¦ of the line)"}},

		// Several faults.
		{"in the order of the line", strings.NewReplacer(`"c1"`, `1`, `"approved":false`, `"approved":0`, `"ok":true,`, `"okay":true,`).Replace(good),
			[]string{"case_id: must be a string, not a number", "approved: must be true or false, not a number",
				"expected.okay: unknown field", "expected.ok: missing"}},
		{"up to what cannot be read", edit(edit(good, `"c1"`, `1`), `"approved":false`, `"approved":n¦o`),
			[]string{"case_id: must be a string, not a number", "approved: invalid character 'o' in literal null (expecting 'u') (byte ¦ of the line)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			line, after, _ := strings.Cut(test.line, "¦")
			place := strconv.Itoa(len(line) + 1)
			var want []string
			for _, fault := range test.want {
				want = append(want, "in/cases.jsonl:1: "+strings.Replace(fault, "¦", place, 1))
			}
			got := faultsOf(t, source("cases.jsonl", line+after+"\n"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShippedCases(t *testing.T) {
	got := mustLoad(t, source(datasets.ToolCasesName, string(datasets.ToolCases)))
	var ids []string
	for i, line := range got.Lines {
		ids = append(ids, line.Case.ID)
		if line.Number != i+1 {
			t.Errorf("%s is on line %d", line.Case.ID, line.Number)
		}
	}
	want := []string{"read-ticket", "preview-before-write", "write-needs-approval", "invalid-arguments",
		"permission-boundary", "duplicate-action", "idempotency-conflict", "transient-timeout", "bounded-list",
		"ticket-not-found", "invalid-cursor"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// Whoever writes to the arguments of a case, or behind them, changes no other.
func TestCasesShareNoArguments(t *testing.T) {
	lines := mustLoad(t, source("cases.jsonl", good+"\n"+named("c2")+"\n")).Lines
	first := lines[0].Case.Baseline[0].Arguments
	_ = append(first, strings.Repeat("?", 1000)...)
	first[1] = 'X'
	if diff := cmp.Diff(goodCase("c2"), lines[1].Case); diff != "" {
		t.Errorf("the second case (-want +got):\n%s", diff)
	}
}
