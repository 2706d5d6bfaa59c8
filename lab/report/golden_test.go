package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/report"
	"agentlab/lab/schema"
	"agentlab/lab/stream"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file in testdata, or writes that file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +got); if this is what it should be, run make golden:\n%s", path, diff)
	}
}

// replayed replays the shipped cases into dir.
func replayed(t *testing.T, dir string, baseline, candidate tool.Surface) (*eval.Comparison, []report.Row) {
	t.Helper()
	set, err := report.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	plan := eval.Plan{
		Cases: dataset.Open(dataset.Source{
			Name: datasets.ToolCasesName,
			Path: datasets.ToolCasesName,
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(datasets.ToolCases)), nil },
		}),
		Baseline:  baseline,
		Candidate: candidate,
		Started:   set.Start,
	}
	comparison, err := eval.Replay(context.Background(), plan, set.NewPage, (*report.Page).Add, set.Deliver)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Publish(comparison); err != nil {
		t.Fatal(err)
	}
	return comparison, set.Rows()
}

// results are the two ways in which the shipped cases come out.
var results = []struct {
	name                string
	baseline, candidate tool.Surface
}{
	{"passed", ticket.Wide{}, ticket.Typed{}},
	{"failed", ticket.Typed{}, ticket.Wide{}},
}

func TestGoldenReports(t *testing.T) {
	for _, result := range results {
		t.Run(result.name, func(t *testing.T) {
			dir := t.TempDir()
			comparison, rows := replayed(t, dir, result.baseline, result.candidate)
			for _, name := range report.Files() {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join(result.name, name), text)
			}
			var text bytes.Buffer
			if err := report.Text(&text, comparison, rows); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(result.name, "text.txt"), text.Bytes())
		})
	}
}

func TestGoldenSurfaceTable(t *testing.T) {
	var text bytes.Buffer
	if err := report.SurfaceTable(&text, ticket.Surfaces()); err != nil {
		t.Fatal(err)
	}
	golden(t, "surfaces.txt", text.Bytes())
}

func TestReportsHoldToTheirSchemas(t *testing.T) {
	comparisonSchema, runsSchema := compiled(t, report.ComparisonSchema), compiled(t, stream.Schema)
	for _, result := range results {
		dir := t.TempDir()
		replayed(t, dir, result.baseline, result.candidate)

		text, err := os.ReadFile(filepath.Join(dir, report.ComparisonFile))
		if err != nil {
			t.Fatal(err)
		}
		if found := violations(t, comparisonSchema, text); found != nil {
			t.Errorf("%s: %s: %v", result.name, report.ComparisonFile, found)
		}
		text, err = os.ReadFile(filepath.Join(dir, report.RunsFile))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range bytes.Lines(text) {
			lines++
			if found := violations(t, runsSchema, line); found != nil {
				t.Errorf("%s: %s:%d: %v", result.name, report.RunsFile, lines, found)
			}
		}
		if lines != 1+2*11+1 {
			t.Errorf("%s: %s has %d lines, want two a case and one at each end", result.name, report.RunsFile, lines)
		}
	}
}

// A schema that allows everything would make the test above an empty one.
func TestSchemasRefuseOtherDocuments(t *testing.T) {
	tests := []struct {
		name   string
		schema []byte
		good   string
		spoil  func(map[string]any)
	}{
		{"comparison without a gate", report.ComparisonSchema, report.ComparisonFile, func(d map[string]any) { delete(d, "gate_passed") }},
		{"comparison of no case", report.ComparisonSchema, report.ComparisonFile, func(d map[string]any) { d["dataset"].(map[string]any)["cases"] = json.Number("0") }},
		{"comparison of another version", report.ComparisonSchema, report.ComparisonFile, func(d map[string]any) { d["schema_version"] = json.Number("2") }},
		{"rate beyond 1", report.ComparisonSchema, report.ComparisonFile, func(d map[string]any) { d["baseline"].(map[string]any)["case_pass_rate"] = json.Number("1.5") }},
		{"unknown member", report.ComparisonSchema, report.ComparisonFile, func(d map[string]any) { d["host"] = "x" }},
		{"run without a trace", stream.Schema, report.RunsFile, func(d map[string]any) { d["trace"] = []any{} }},
		{"run without results", stream.Schema, report.RunsFile, func(d map[string]any) { d["results"] = []any{} }},
		{"run with a clock", stream.Schema, report.RunsFile, func(d map[string]any) { d["started"] = "now" }},
		{"run with another fingerprint", stream.Schema, report.RunsFile, func(d map[string]any) {
			d["trace"].([]any)[0].(map[string]any)["fingerprint"] = "md5:00"
		}},
	}
	dir := t.TempDir()
	replayed(t, dir, ticket.Wide{}, ticket.Typed{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, test.good))
			if err != nil {
				t.Fatal(err)
			}
			if test.good == report.RunsFile {
				text = bytes.Split(text, []byte("\n"))[1]
			}
			value, err := jsonvalue.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			s := compiled(t, test.schema)
			if found := s.Validate(value); found != nil {
				t.Fatalf("the document as it is: %v", found)
			}
			test.spoil(value.(map[string]any))
			if found := s.Validate(value); len(found) != 1 {
				t.Errorf("violations are %v, want one", found)
			}
		})
	}
}

func compiled(t *testing.T, document []byte) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func violations(t *testing.T, s *schema.Schema, document []byte) []tool.Violation {
	t.Helper()
	value, err := jsonvalue.Decode(document)
	if err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	return s.Validate(value)
}
