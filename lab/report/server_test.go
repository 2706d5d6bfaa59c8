package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/report"
	"agentlab/lab/stream"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// server is a surface over a backend outside: a folder of notes. What it does is
// in the name of the tool that is called.
type server struct {
	name  string
	down  *tool.Unavailable
	blind bool
}

func (s server) Name() string            { return s.name }
func (s server) Down() *tool.Unavailable { return s.down }
func (s server) Blind() bool             { return s.blind }

func (s server) Definitions() []tool.Definition {
	if s.down != nil {
		return nil
	}
	return []tool.Definition{{Name: "write", Description: "Write a note.", InputSchema: json.RawMessage(`{"type":"object"}`)}}
}

func (s server) Open(context.Context) (tool.Session, error) {
	if s.down != nil {
		return nil, s.down
	}
	return &connection{server: s}, nil
}

type connection struct {
	server server
	last   string
	lost   error
}

func (c *connection) Call(_ context.Context, call tool.Call) tool.Result {
	valid := true
	c.last = call.Proposal.Name
	long := strings.Repeat("x", stream.MaxValue)
	text, _ := json.Marshal(hostileText)
	switch c.last {
	case "die":
		c.lost = &tool.Unavailable{Surface: c.server.name, Reason: "the server ended in the middle of a call", Detail: "pid 4711, exit status 7"}
		return tool.Result{}
	case "fail":
		return tool.Result{
			Error: &tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Message: hostileText, Details: json.RawMessage(`{"text":` + string(text) + `}`)},
			Reply: &tool.Reply{IsError: true, Texts: []string{hostileText}, Bytes: 77},
		}
	case "unknown":
		return tool.Result{Error: tool.Refusal(tool.ProtocolError, map[string]int{"code": -32602}, "Unknown tool.")}
	case "long":
		return tool.Result{Output: json.RawMessage(`{"text":"` + long + `"}`), Reply: &tool.Reply{Texts: []string{long}, Bytes: len(long) + 11, SchemaValid: &valid}}
	case "long failure":
		return tool.Result{
			Error: &tool.Error{Code: tool.Code("c" + long), Category: "k", Message: long + "é" + long, Details: json.RawMessage(`{"text":"` + long + `"}`)},
			Reply: &tool.Reply{IsError: true, Texts: []string{long}, Bytes: len(long)},
		}
	}
	return tool.Result{Output: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`), Reply: &tool.Reply{Texts: []string{"done"}, Bytes: 31},
		Trace: tool.Trace{ListChanged: c.last == "changes"}}
}

const hostileText = "no | such\n# file \x1b[31m<b>"

func (c *connection) Effects() int { return -1 }
func (c *connection) Lost() error  { return c.lost }
func (c *connection) Close() error { return nil }

func (c *connection) Settle(context.Context) ([]tool.Effect, error) { return nil, nil }

func (c *connection) Observe(context.Context) ([]tool.Effect, error) {
	switch c.last {
	case "write":
		return []tool.Effect{
			{Resource: "notes/a|b.txt", Change: tool.Added, After: 12},
			{Resource: "notes/old.txt", Change: tool.Removed, Before: 3},
			{Resource: "notes/same.txt", Change: tool.Changed, Before: 5, After: 9007199254740991},
		}, nil
	case "many":
		effects := make([]tool.Effect, 2*stream.MaxEffects)
		for i := range effects {
			effects[i] = tool.Effect{Resource: fmt.Sprint(i), Change: tool.Added}
		}
		return effects, nil
	}
	return nil, nil
}

// foreignCase is a case in which both surfaces are given these calls.
func foreignCase(id, member, expected string, calls ...string) string {
	list := `[{"name":"` + strings.Join(calls, `","arguments":{}},{"name":"`) + `","arguments":{}}]`
	return `{"case_id":"` + id + `","intent":"Do.",` + member + `"calls":{"before":` + list + `,"after":` + list + `},"expected":` + expected + "}\n"
}

// foreignCases pass, fail, cannot run and are still to do.
func foreignCases() string {
	const fine, twoChanges = `{"ok":true,"side_effect_count":0}`, `{"ok":true,"side_effect_count":3,"content_contains":"done","max_output_bytes":31}`
	return foreignCase("reads", "", fine, "read", "changes") +
		foreignCase("writes", "", twoChanges, "read", "write") +
		foreignCase("writes-unasked", "", fine, "write") +
		foreignCase("says no", "", `{"ok":true,"side_effect_count":0,"is_error":false}`, "fail") +
		foreignCase("refused", "", `{"ok":false,"side_effect_count":0,"error_code":"not_found","schema_valid":true}`, "unknown") +
		foreignCase("dies", "", fine, "write", "die", "read") +
		foreignCase("undecided", `"todo":"Say what *must* come of it.",`, fine, "die")
}

// foreignResults are the ways in which those cases come out.
var foreignResults = []struct {
	name                string
	baseline, candidate tool.Surface
}{
	{"alone", nil, server{name: "after"}},
	{"servers", server{name: "before"}, server{name: "after"}},
	{"down", server{name: "before"}, server{name: "after", down: &tool.Unavailable{Surface: "after", Reason: "it ended before it answered", Detail: "pid 4711"}}},
}

func TestGoldenReportsOfServers(t *testing.T) {
	comparisons, runs := compiled(t, report.ComparisonSchema), compiled(t, stream.Schema)
	for _, result := range foreignResults {
		t.Run(result.name, func(t *testing.T) {
			written := replayedCases(t, t.TempDir(), foreignCases(), result.baseline, result.candidate)
			for name, text := range written {
				if name == "text" {
					name = "text.txt"
				}
				golden(t, filepath.Join("foreign", result.name, name), []byte(text))
				if strings.Contains(text, "4711") {
					t.Errorf("%s tells a detail, which differs from run to run", name)
				}
				if strings.ContainsAny(text, "\x1b") {
					t.Errorf("a terminal would obey %s", name)
				}
			}
			if found := violations(t, comparisons, []byte(written[report.ComparisonFile])); found != nil {
				t.Errorf("%s: %v", report.ComparisonFile, found)
			}
			for line := range strings.Lines(written[report.RunsFile]) {
				if found := violations(t, runs, []byte(line)); found != nil {
					t.Errorf("%v in %s", found, line)
				}
			}
		})
	}
}

// A surface of the lab's own alone, or beside a server.
func TestReportsOfOurOwnBesideServers(t *testing.T) {
	line := `{"case_id":"c","intent":"i","proposals":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0}}`
	alone := replayedCases(t, t.TempDir(), line, nil, ticket.Typed{})
	beside := replayedCases(t, t.TempDir(), line, ticket.Typed{}, server{name: "after"})
	for _, test := range []struct {
		in   map[string]string
		file string
		want bool
		word string
	}{
		{alone, report.MarkdownFile, true, "# `typed-registry-v2`\n"},
		{alone, report.MarkdownFile, true, "Fixed proposals are called on one tool surface;"},
		{alone, report.MarkdownFile, false, "catalog"},
		{alone, report.MarkdownFile, false, "could not run"},
		{alone, report.ComparisonFile, false, "baseline"},
		{alone, report.ComparisonFile, false, "could_not_run"},
		{alone, report.ComparisonFile, false, "tool_failures"},
		{alone, report.ComparisonFile, false, "every_case_could_run"},
		{alone, report.RunsFile, true, `"took_ms":0`},
		{alone, report.RunsFile, false, `"effects"`},
		{alone, "text", true, "│ Replays "},
		{alone, "text", true, " │ refused by │\n"},
		{beside, report.MarkdownFile, true, "which need not share a backend"},
		{beside, report.MarkdownFile, true, "| Replays | 0 | 0 |"},
		{beside, report.MarkdownFile, true, "- [x] every_case_could_run"},
		{beside, "text", true, "│ refused by │"},
		{beside, "text", true, "│ last error │"},
		{beside, report.RunsFile, true, `"took_ms":0`},
		{beside, report.RunsFile, true, `"reply":{"is_error":false,"bytes":31}}],`},
		{beside, report.RunsFile, true, `"fingerprint":"","effects":[]}]}`},
	} {
		if strings.Contains(test.in[test.file], test.word) != test.want {
			t.Errorf("%s holds %s: want %v\n%s", test.file, test.word, test.want, test.in[test.file])
		}
	}
	if n := strings.Count(beside[report.RunsFile], "took_ms"); n != 1 {
		t.Errorf("took_ms stands %d times: a server has no simulated clock", n)
	}
	if found := violations(t, compiled(t, report.ComparisonSchema), []byte(alone[report.ComparisonFile])); found != nil {
		t.Errorf("%v", found)
	}
}

// However much a server says or changes, a run's line holds a bounded part.
func TestRunsOfServersAreBounded(t *testing.T) {
	step := `{"output":{"text":"x"}}`
	written := replayedCases(t, t.TempDir(),
		foreignCase("long", "", `{"ok":false,"side_effect_count":1,"content_contains":"y","steps":[`+step+`]}`, "long")+
			foreignCase("failure", "", `{"ok":false,"side_effect_count":0,"error_code":"c"}`, "long failure")+
			foreignCase("many", "", `{"ok":true,"side_effect_count":0}`, "many"), nil, server{name: "after"})
	runs := compiled(t, stream.Schema)
	lines := strings.Split(strings.TrimSpace(written[report.RunsFile]), "\n")[1:]
	for _, line := range lines {
		if found := violations(t, runs, []byte(line)); found != nil {
			t.Errorf("%v in %.200s", found, line)
		}
		if len(line) > 8*stream.MaxValue {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	get := func(line string, path ...any) any {
		value, err := jsonvalue.Decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range path {
			switch p := p.(type) {
			case int:
				value = value.([]any)[p]
			case string:
				value = value.(map[string]any)[p]
			}
		}
		return value
	}
	cutShort := map[string]any{"truncated_bytes": json.Number(fmt.Sprint(stream.MaxValue + 11)),
		"sha256": "SHA"}
	for _, place := range [][]any{{0, "results", 0, "output"}, {0, "grades", 3, "actual"}, {1, "results", 0, "error", "details"}} {
		found := get(lines[place[0].(int)], place[1:]...).(map[string]any)
		if digest := found["sha256"].(string); len(digest) != 64 {
			t.Errorf("%v: digest %q", place, digest)
		}
		found["sha256"] = "SHA"
		if diff := cmp.Diff(cutShort, found); diff != "" {
			t.Errorf("%v (-want +got):\n%s", place, diff)
		}
	}
	for _, member := range []string{"code", "message"} {
		text := get(lines[1], "results", 0, "error", member).(string)
		if len(text) > stream.MaxValue+len("…") || !strings.HasSuffix(text, "x…") {
			t.Errorf("%s has %d bytes and ends in %q", member, len(text), text[len(text)-5:])
		}
	}
	if n := len(get(lines[2], "trace", 0, "effects").([]any)); n != stream.MaxEffects {
		t.Errorf("%d effects are told, want %d", n, stream.MaxEffects)
	}
	if n := get(lines[2], "side_effect_count"); n != json.Number(fmt.Sprint(2*stream.MaxEffects)) {
		t.Errorf("%v effects are counted", n)
	}
	for _, name := range []string{report.FailuresFile, report.MarkdownFile, report.ComparisonFile, "text"} {
		if len(written[name]) > 10_000 {
			t.Errorf("%s has %d bytes", name, len(written[name]))
		}
	}
}

// What is not bounded by a server is as it is, up to the last byte.
func TestRunsOfServersAreWholeWhereTheyAreShort(t *testing.T) {
	written := replayedCases(t, t.TempDir(), foreignCase("c", "", `{"ok":true,"side_effect_count":3}`, "write"), nil, server{name: "after"})
	for _, want := range []string{
		`"output":{"content":[{"type":"text","text":"done"}]},"error":null,"side_effects":3,"replayed":false,"reply":{"is_error":false,"bytes":31}}`,
		`"effects":[{"resource":"notes/a|b.txt","change":"added","after_bytes":12},{"resource":"notes/old.txt","change":"removed","before_bytes":3},` +
			`{"resource":"notes/same.txt","change":"changed","before_bytes":5,"after_bytes":9007199254740991}]}]}`,
	} {
		if !strings.Contains(written[report.RunsFile], want) {
			t.Errorf("no %s in\n%s", want, written[report.RunsFile])
		}
	}
}

// Long lists of what could not run and of what is still to do are cut, and say
// so.
func TestReportsCutLongLists(t *testing.T) {
	cases := foreignCase("first", "", `{"ok":true,"side_effect_count":0}`, "read")
	for i := range 130 {
		cases += foreignCase(fmt.Sprint("d", i), "", `{"ok":true,"side_effect_count":0}`, "die")
		cases += foreignCase(fmt.Sprint("t", i), fmt.Sprintf(`"todo":"Decide %d.",`, i), `{"ok":true,"side_effect_count":0}`, "die")
	}
	written := replayedCases(t, t.TempDir(), cases, nil, server{name: "after"})
	for _, test := range []struct {
		file, word string
		times      int
	}{
		{report.MarkdownFile, "| the server ended in the middle of a call |", 100},
		{report.MarkdownFile, "And 30 more, all of them in tool-runs.jsonl.", 1},
		{report.MarkdownFile, ": Decide ", 100},
		{report.MarkdownFile, "- and 30 more, all of them in tool-runs.jsonl", 1},
		{report.FailuresFile, "| the server ended in the middle of a call |", 100},
		{report.FailuresFile, "And 30 more, all of them in tool-runs.jsonl.", 1},
		{report.FailuresFile, "No run failed.", 1},
		{"text", "after: 1 / 1 cases passed, 130 could not run\n", 1},
		{"text", ": the server ended in the middle of a call\n", 20},
		{"text", "  and 110 more, all of them in tool-runs.jsonl\n", 1},
		{"text", ": Decide ", 100},
		{"text", "  and 30 more, all of them in tool-runs.jsonl\n", 1},
		{"text", "and 31 cases more, all of them in tool-runs.jsonl\n", 1},
		{report.RunsFile, `"passed":null,"side_effect_count":null,"could_not_run":"the server ended in the middle of a call","proposals":[`, 130},
		{report.RunsFile, `"passed":null,"side_effect_count":null,"todo":"Decide `, 130},
		{report.ComparisonFile, `"cases": 131,`, 1},
		{report.ComparisonFile, `"todo": 130`, 1},
		{report.ComparisonFile, `"could_not_run": 130,`, 1},
	} {
		if n := strings.Count(written[test.file], test.word); n != test.times {
			t.Errorf("%s holds %q %d times, want %d", test.file, test.word, n, test.times)
		}
	}
}

// The schemas refuse what would make a run that could not run look like another.
func TestSchemasRefuseMixedVerdicts(t *testing.T) {
	written := replayedCases(t, t.TempDir(), foreignCases(), server{name: "before"}, server{name: "after"})
	line := func(word string) string {
		for l := range strings.Lines(written[report.RunsFile]) {
			if strings.Contains(l, word) {
				return l
			}
		}
		t.Fatalf("no line with %s", word)
		return ""
	}
	passed, dead, todo := line(`"passed":true`), line(`"could_not_run"`), line(`"todo"`)
	null := json.RawMessage(`null`)
	tests := []struct {
		name   string
		schema []byte
		line   string
		change func(map[string]any)
	}{
		{"no verdict and no reason", stream.Schema, passed, func(d map[string]any) { d["passed"] = nil }},
		{"effects that are no number", stream.Schema, passed, func(d map[string]any) { d["side_effect_count"] = "none" }},
		{"a pass that could not run", stream.Schema, passed, func(d map[string]any) { d["could_not_run"] = "x" }},
		{"a failure that could not run", stream.Schema, dead, func(d map[string]any) { d["passed"] = false }},
		{"grades of what could not run", stream.Schema, dead, func(d map[string]any) {
			d["grades"] = []any{map[string]any{"name": "ok", "passed": false, "expected": null, "actual": null}}
		}},
		{"a todo that could not run", stream.Schema, dead, func(d map[string]any) { d["todo"] = "x" }},
		{"a todo that passed", stream.Schema, todo, func(d map[string]any) { d["passed"] = true }},
		{"a todo without a reason", stream.Schema, todo, func(d map[string]any) { d["todo"] = "" }},
		{"a baseline without changes", report.ComparisonSchema, written[report.ComparisonFile], func(d map[string]any) { delete(d, "regressions") }},
		{"changes without a baseline", report.ComparisonSchema, written[report.ComparisonFile], func(d map[string]any) { delete(d, "baseline") }},
		{"none still to do", report.ComparisonSchema, written[report.ComparisonFile], func(d map[string]any) { d["dataset"].(map[string]any)["todo"] = json.Number("0") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			decoder := json.NewDecoder(bytes.NewReader([]byte(test.line)))
			decoder.UseNumber()
			var document map[string]any
			if err := decoder.Decode(&document); err != nil {
				t.Fatal(err)
			}
			s := compiled(t, test.schema)
			if found := s.Validate(document); found != nil {
				t.Fatalf("as it is: %v", found)
			}
			test.change(document)
			if found := s.Validate(document); found == nil {
				t.Error("the schema allows it")
			}
		})
	}
}

func TestReportsOfABlindRun(t *testing.T) {
	text := `{"case_id":"write","intent":"Write.","proposals":[{"name":"write","arguments":{}}],"expected":{"ok":true,"side_effect_count":1}}` + "\n"
	written := replayedCases(t, t.TempDir(), text, nil, server{name: "after", blind: true})
	for file, parts := range map[string][]string{
		report.ComparisonFile: {`"unsafe_side_effects": null`, `"duplicate_side_effects": null`},
		report.RunsFile:       {`"side_effect_count":null`, `"side_effects":null`},
		report.MarkdownFile:   {"| Unsafe side effects | n/a |"},
	} {
		for _, part := range parts {
			if !strings.Contains(written[file], part) {
				t.Errorf("%s does not hold %s:\n%s", file, part, written[file])
			}
		}
	}
	if strings.Contains(written[report.ComparisonFile], "candidate_blocks_unsafe_side_effects") {
		t.Error("the gate judges what nobody saw")
	}
}
