package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/stream"
	"agentlab/lab/tool"
)

// decoded is what a line of tool-runs.jsonl must read as, built from the run
// without the encoder that is under test.
func decoded(t *testing.T, run *eval.Run) any {
	t.Helper()
	results, grades, traces := []any{}, []any{}, []any{}
	for _, step := range run.Steps {
		var output, failure any
		if step.Error == nil {
			output = tree(t, step.Output)
		} else {
			failure = decodedError(t, step.Error)
		}
		result := map[string]any{
			"ok": step.Error == nil, "output": output, "error": failure,
			"side_effects": number(step.SideEffects), "replayed": step.Replayed,
		}
		decodeStaged(run, &step, result)
		decodeReply(&step, result)
		results = append(results, result)
		trace := map[string]any{
			"decisions": decodedDecisions(step.Trace.Decisions), "handler_ran": step.Trace.HandlerRan, "fingerprint": step.Trace.Fingerprint,
		}
		if run.Case.Stage != nil && (step.Effects == nil || run.Governed()) && step.Trace.Fault != "" {
			trace["fault"] = decodedText(step.Trace.Fault)
		}
		decodeEffects(&step, trace)
		traces = append(traces, trace)
	}
	for _, g := range run.Grades {
		grades = append(grades, map[string]any{
			"name": g.Name, "passed": g.Passed, "expected": tree(t, g.Expected), "actual": tree(t, g.Actual),
		})
	}
	line := map[string]any{
		"schema_version":    number(2),
		"event":             "run",
		"file":              "f",
		"line":              number(7),
		"proposals":         []any{map[string]any{"name": "n", "arguments": map[string]any{"a": "b"}}},
		"strategy":          decodedText(run.Strategy),
		"case_id":           decodedText(run.Case.ID),
		"intent":            decodedText(run.Case.Intent),
		"passed":            run.Passed,
		"side_effect_count": number(run.SideEffects),
		"results":           results,
		"grades":            grades,
		"trace":             traces,
	}
	if !run.Ran() {
		line["passed"], line["side_effect_count"] = nil, nil
	}
	if run.Case.Todo != "" {
		line["todo"] = decodedText(run.Case.Todo)
	}
	if run.Unavailable != nil {
		line["could_not_run"] = decodedText(run.Unavailable.Reason)
	}
	if run.State != nil {
		line["state"] = tree(t, run.State)
	}
	if run.Case.Stage != nil {
		line["staged"] = true
	}
	decodeUnshown(t, run, line)
	if run.Receipts != nil {
		line["receipts"] = tree(t, run.Receipts)
	}
	return line
}

func decodeEarlier(a *eval.Attempt, attempt map[string]any) {
	if a.Error == nil {
		attempt["output_bytes"] = number(len(a.Output))
	} else {
		attempt["category"] = decodedText(string(a.Error.Category))
	}
	if a.Replayed {
		attempt["replayed"] = true
	}
	decodeReply(&eval.Step{Result: a.Result}, attempt)
	attempt["decisions"] = decodedDecisions(a.Trace.Decisions)
}

func decodedDecisions(list []tool.Decision) []any {
	decisions := []any{}
	for _, d := range list {
		decision := map[string]any{"control": d.Control, "decision": string(d.Verdict)}
		if d.Code != "" {
			decision["code"] = decodedText(string(d.Code))
		}
		decisions = append(decisions, decision)
	}
	return decisions
}

func decodedError(t *testing.T, e *tool.Error) map[string]any {
	failure := map[string]any{
		"code":      decodedText(string(e.Code)),
		"category":  decodedText(string(e.Category)),
		"message":   decodedText(e.Message),
		"retryable": e.Retryable,
		"details":   tree(t, e.Details),
	}
	if e.NextAction != "" {
		failure["next_action"] = decodedText(e.NextAction)
	}
	if e.Outcome != "" {
		failure["outcome"] = decodedText(string(e.Outcome))
	}
	return failure
}

func decodeUnshown(t *testing.T, run *eval.Run, line map[string]any) {
	var unshown []any
	for _, u := range run.Unshown {
		unshown = append(unshown, map[string]any{"approval": number(u.Approval), "error": decodedError(t, u.Error)})
	}
	if unshown != nil {
		line["unshown"] = unshown
	}
}

func decodeReply(step *eval.Step, result map[string]any) {
	if step.Reply == nil {
		return
	}
	reply := map[string]any{"is_error": step.Reply.IsError, "bytes": number(step.Reply.Bytes)}
	if step.Reply.SchemaValid != nil {
		reply["schema_valid"] = *step.Reply.SchemaValid
	}
	result["reply"] = reply
}

func decodeEffects(step *eval.Step, trace map[string]any) {
	if step.Trace.ListChanged {
		trace["tools_list_changed"] = true
	}
	if step.Effects == nil {
		return
	}
	effects := []any{}
	for _, e := range step.Effects {
		effect := map[string]any{"resource": decodedText(e.Resource), "change": decodedText(e.Change)}
		for name, size := range map[string]int64{"before_bytes": e.Before, "after_bytes": e.After} {
			if size != 0 {
				effect[name] = number(int(size))
			}
		}
		effects = append(effects, effect)
	}
	trace["effects"] = effects
}

func decodeStaged(run *eval.Run, step *eval.Step, result map[string]any) {
	simulated := step.Effects == nil
	if run.Case.Stage == nil || !simulated && !run.Governed() {
		return
	}
	if simulated {
		result["took_ms"] = number(int(step.Took.Milliseconds()))
	}
	if step.ReplacedBy != "" {
		result["replaced_by"] = decodedText(step.ReplacedBy)
	}
	if step.Attempts == nil {
		return
	}
	attempts := []any{}
	for i, a := range step.Attempts {
		attempt := map[string]any{
			"ok": a.Error == nil, "action": decodedText(string(a.Next.Action)),
			"reason": decodedText(a.Next.Reason),
		}
		if simulated {
			attempt["wait_ms"] = number(int(a.Next.Wait.Milliseconds()))
		}
		if a.Error != nil {
			attempt["code"] = decodedText(string(a.Error.Code))
		}
		if i < len(step.Attempts)-1 {
			decodeEarlier(&a, attempt)
		}
		attempts = append(attempts, attempt)
	}
	result["attempts"] = attempts
}

func number(n int) json.Number {
	text, _ := json.Marshal(n)
	return json.Number(text)
}

// tree decodes JSON with every number as it is written.
func tree(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return value
}

func TestAppendRunRoundTrip(t *testing.T) {
	compiled, err := schema.Compile(stream.Schema)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]*eval.Run{
		"a wide tool's failure": {
			Strategy: "s", Case: &dataset.Case{ID: "c", Intent: "i"}, Passed: true, SideEffects: -1,
			Steps: []eval.Step{{
				SideEffects: -1,
				Result: tool.Result{
					Error: &tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Details: json.RawMessage("{}")},
					Trace: tool.Trace{Decisions: []tool.Decision{}},
				},
			}},
			Grades: []eval.Grade{
				{Name: "ok", Expected: json.RawMessage("false"), Actual: json.RawMessage("false")},
				{Name: "retryable", Expected: json.RawMessage("false"), Actual: json.RawMessage("null")},
			},
		},
		"an output that is null": {
			Strategy: "s", Case: &dataset.Case{ID: "c", Intent: "i"},
			Steps: []eval.Step{{Result: tool.Result{Output: json.RawMessage("null")}}},
			Grades: []eval.Grade{
				{Name: "ok", Expected: json.RawMessage("true"), Actual: json.RawMessage("true")},
				{Name: "output_keys", Expected: json.RawMessage(`[""]`), Actual: json.RawMessage("null")},
			},
		},
	}
	for _, s := range hostile {
		name := jsonText(s)[:min(len(jsonText(s)), 40)]
		runs["hostile "+name] = hostileRun(s)
		runs["hostile and staged "+name] = stagedRun(s)
		runs["hostile and outside "+name] = outsideRun(s)
		runs["hostile and governed "+name] = governedRun(s)
		lost := outsideRun(s)
		lost.Grades, lost.Unavailable = nil, &tool.Unavailable{Surface: s, Reason: s, Detail: "a detail"}
		runs["hostile and lost "+name] = lost
		if s != "" {
			runs["hostile and to do "+name] = &eval.Run{Strategy: s, Case: &dataset.Case{ID: s, Intent: s, Todo: s}}
		}
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			before := []byte("what stood there before")
			pair := &eval.Pair{Case: run.Case, Candidate: *run, File: "f", Line: 7}
			run.Case.Candidate = []dataset.Proposal{{Name: "n", Arguments: json.RawMessage(`{"a":"b"}`)}}
			line, kept := bytes.CutPrefix(stream.AppendPair(before, pair), before)
			if !kept {
				t.Fatal("what stood before the run is gone")
			}
			if !utf8.Valid(line) {
				t.Errorf("the line is no UTF-8: %q", line)
			}
			if bytes.IndexByte(line, '\n') != len(line)-1 {
				t.Fatalf("not one line: %q", line)
			}
			if diff := cmp.Diff(decoded(t, run), tree(t, line)); diff != "" {
				t.Errorf("the line reads as something else (-run +line):\n%s", diff)
			}
			value, err := jsonvalue.Decode(line)
			if err != nil {
				t.Fatal(err)
			}
			// The validator compares no numbers that a double cannot hold.
			for _, result := range value.(map[string]any)["results"].([]any) {
				result.(map[string]any)["output"] = nil
			}
			delete(value.(map[string]any), "state")
			if found := compiled.Validate(value); found != nil {
				t.Errorf("violations of the schema: %v", found)
			}
		})
	}
}
