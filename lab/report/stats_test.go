package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/stats"
	"agentlab/lab/stream"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// counted counts the calls of a stream.
func counted(t *testing.T, text string, by ...stats.Dimension) (*stats.Stats, *eval.Comparison) {
	t.Helper()
	reader, err := stream.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s := stats.New(by)
	s.Begin(reader.Comparison())
	for {
		pair, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return s, reader.Comparison()
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Add(pair)
	}
}

var statsFormats = map[string]func(io.Writer, *stats.Stats) error{"txt": report.StatsText, "json": report.StatsJSON, "csv": report.StatsCSV}

// What is counted by groups adds up to what the eval counted as a whole.
func TestStatsOfControlCases(t *testing.T) {
	written := replayedCases(t, t.TempDir(), string(datasets.ControlCases), ticket.Wide{}, new(ticket.Production))
	s, comparison := counted(t, written[report.RunsFile], stats.Dimensions()...)
	for _, summary := range []*eval.Summary{comparison.Baseline, &comparison.Candidate} {
		var calls, ok, replays, timeouts, stops, malformed int
		refusals, outputs := map[string]int{}, 0
		for _, g := range s.Groups() {
			if g.Surface != summary.Strategy {
				continue
			}
			calls, ok, replays, timeouts, stops, malformed = calls+g.Calls, ok+g.Succeeded, replays+g.Replayed, timeouts+g.Timeouts, stops+g.BudgetStops, malformed+g.Unread
			outputs = max(outputs, int(g.OutputBytes.Max()))
			for _, c := range g.Refusals.List() {
				refusals[c.Name] += c.N
			}
		}
		o := summary.Operations
		got, want := []int{calls, ok, replays, timeouts, stops, malformed, outputs}, []int{o.Calls, o.Successes, o.Replays, o.Timeouts, o.BudgetStops, o.Malformed, 0}
		for size := range o.OutputBytes {
			want[6] = max(want[6], size)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", summary.Strategy, got, want)
		}
		for _, r := range o.Refusals {
			if refusals[r.Control] != r.Count {
				t.Errorf("%s: %d refused by %s, want %d", summary.Strategy, refusals[r.Control], r.Control, r.Count)
			}
		}
	}
	s, _ = counted(t, written[report.RunsFile], stats.Surface, stats.Tool, stats.Version)
	for name, render := range statsFormats {
		var out bytes.Buffer
		if err := render(&out, s); err != nil {
			t.Fatal(err)
		}
		golden(t, "stats/stats."+name, out.Bytes())
	}
}

// Nothing that a name says is obeyed by a terminal, a spreadsheet, or a reader of JSON.
func TestStatsOfHostileNames(t *testing.T) {
	for _, text := range []string{
		"plain", "", "a\r\nb", "nul\x00 escape\x1b[31m", "not \xff UTF-8", "line\u2028separator", "turned \u202eround", `a","b`, "日本語", "a b",
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"http://example.com\")\n", strings.Repeat("long ", 2000),
	} {
		s := stats.New(stats.Dimensions())
		c := &dataset.Case{ID: text, Candidate: []dataset.Proposal{{Name: text, Setting: &dataset.Setting{Caller: &tool.Caller{ID: text}}}}}
		failure := tool.Result{Error: &tool.Error{Code: tool.InvalidArguments}}
		failure.Trace.Decisions = []tool.Decision{{Control: text, Verdict: tool.Refuse}}
		pair := &eval.Pair{Case: c, Candidate: eval.Run{Strategy: text, Case: c, Steps: []eval.Step{{Result: failure}}}}
		details, err := json.Marshal(map[string]any{"violations": []tool.Violation{{Pointer: text, Keyword: text}}})
		if err != nil {
			t.Fatal(err)
		}
		pair.Candidate.Steps[0].Error.Details = details
		s.Begin(&eval.Comparison{Candidate: eval.Summary{Strategy: text, Tools: []eval.ToolSize{{Name: text, Version: text}}}})
		s.Add(pair)
		written := map[string][]byte{}
		for name, render := range statsFormats {
			var out bytes.Buffer
			if err := render(&out, s); err != nil {
				t.Fatal(err)
			}
			written[name] = out.Bytes()
		}
		for _, r := range string(written["txt"]) {
			if r != '\n' && unicode.IsControl(r) {
				t.Errorf("%q: %q in a table", text, r)
			}
		}
		var read struct{ Groups []struct{ Calls int } }
		if err := json.Unmarshal(written["json"], &read); err != nil || len(read.Groups) != 1 || read.Groups[0].Calls != 1 {
			t.Errorf("%q: %v, %+v", text, err, read)
		}
		rows, err := csv.NewReader(bytes.NewReader(written["csv"])).ReadAll()
		if err != nil || len(rows) < 8 {
			t.Errorf("%q: %d rows, %v", text, len(rows), err)
		}
		for _, cell := range slices.Concat(rows...) {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") || strings.ContainsFunc(cell, unicode.IsControl) {
				t.Errorf("%q: a cell %q", text, cell)
			}
		}
	}
}
