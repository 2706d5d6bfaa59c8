package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

func TestComparisonJSONOfHostileTexts(t *testing.T) {
	compiled, err := schema.Compile(ComparisonSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range hostile {
		c := comparisonOf(s, "plain")
		c.Baseline.Operations = new(eval.Operations)
		c.Candidate.Operations = &eval.Operations{
			Calls: 9, Successes: 3, Refusals: []eval.Refusals{{Control: s + "1", Count: 4}, {Control: "input", Count: 2}},
			Timeouts: 1, Replays: 2, BudgetStops: 3, Malformed: 4, OutputBytes: map[int]int{1: 1, 2: 1},
		}
		var text bytes.Buffer
		if err := ComparisonJSON(&text, c); err != nil {
			t.Fatal(err)
		}
		both := []any{decodedText(s), "plain"}
		summary := func(of eval.Summary) map[string]any {
			return map[string]any{
				"strategy": decodedText(of.Strategy), "total_cases": number(4), "passed_cases": number(2),
				"case_pass_rate": json.Number("0.5"), "unsafe_side_effects": number(0), "duplicate_side_effects": number(0),
				"structured_error_rate": nil, "model_schema_bytes": number(of.ModelSchemaBytes),
			}
		}
		want := map[string]any{
			"schema_version": number(1),
			"version":        eval.Version,
			"scope":          Scope,
			"dataset": map[string]any{
				"name": decodedText(s), "sha256": c.Dataset.SHA256, "cases": number(4), "selection": both,
			},
			"baseline": with(summary(*c.Baseline), "operations", map[string]any{
				"calls": number(0), "successes": number(0), "refusals": map[string]any{}, "timeouts": number(0), "replays": number(0),
				"budget_stops": number(0), "malformed": number(0), "output_bytes": map[string]any{"median": nil, "largest": nil},
			}),
			"candidate": with(summary(c.Candidate), "operations", map[string]any{
				"calls": number(9), "successes": number(3), "refusals": map[string]any{decodedText(s) + "1": number(4), "input": number(2)},
				"timeouts": number(1), "replays": number(2), "budget_stops": number(3), "malformed": number(4),
				"output_bytes": map[string]any{"median": json.Number("1.5"), "largest": number(2)},
			}),
			"improvements": both,
			"regressions":  both,
			"gate_checks":  map[string]any{"candidate_passes_all_cases": false, "no_case_regressions": true},
			"gate_passed":  false,
		}
		if diff := cmp.Diff(want, tree(t, text.Bytes())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
		value, err := jsonvalue.Decode(text.Bytes())
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if found := compiled.Validate(value); found != nil {
			t.Errorf("%q: violations of the schema: %v", s, found)
		}
	}
}

func with(object map[string]any, name string, value any) map[string]any {
	object[name] = value
	return object
}

func TestRateJSON(t *testing.T) {
	tests := []struct {
		part, whole float64
		want        string
	}{
		{0, 0, "null"},
		{0, 3, "0"},
		{3, 3, "1"},
		{1, 3, "0.3333333333333333"},
		{1, 11, "0.09090909090909091"},
		{1, 1e9, "0.000000001"},
	}
	for _, test := range tests {
		got := rateJSON(test.part/max(test.whole, 1), test.whole > 0)
		if got != test.want {
			t.Errorf("rate of %v / %v is %s, want %s", test.part, test.whole, got, test.want)
		}
	}
}

// full is a writer without room.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRenderersTellOfAWriterWithoutRoom(t *testing.T) {
	c := comparisonOf("a", "b")
	for name, err := range map[string]error{
		"ComparisonJSON":     ComparisonJSON(full{}, c),
		"ComparisonMarkdown": ComparisonMarkdown(full{}, c),
		"Text":               Text(full{}, c, nil),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("the error of %s is %v", name, err)
		}
	}
}
