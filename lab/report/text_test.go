package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// columns is how wide a terminal shows a line: two columns for the wide
// characters of East Asia and for pictures, none for marks.
func columns(line string) int {
	n := 0
	for _, r := range line {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
			r >= 0xf900 && r <= 0xfaff, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}

func textOf(t *testing.T, c *eval.Comparison, rows []Row) string {
	t.Helper()
	var text bytes.Buffer
	if err := Text(&text, c, rows); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestTextTablesStayStraight(t *testing.T) {
	var rows []Row
	for _, id := range []string{"plain", "日本語のチケット", "한국어", "🎫🎫", "e\u0301", "ＡＢＣ", "\x1b[31mred", "a\nb", "αβγ…—", ""} {
		rows = append(rows, Row{id, "pass", "FAIL", "-", "idempotency (replay)"})
	}
	c := comparisonOf("広い", "typed\x1b[1m")
	c.Baseline.Operations = new(eval.Operations)
	c.Candidate.Operations = &eval.Operations{Refusals: []eval.Refusals{{Control: "入力\x1b[1m", Count: 3}}}
	c.Dataset.Cases = len(rows)
	text := textOf(t, c, rows)

	width, tables := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("a terminal would obey %q", line)
		}
		switch {
		case strings.HasPrefix(line, "┌"):
			tables++
			width = columns(line)
		case strings.HasPrefix(line, "│"), strings.HasPrefix(line, "├"), strings.HasPrefix(line, "└"):
			if columns(line) != width {
				t.Errorf("%d columns, not %d, in %s", columns(line), width, line)
			}
		}
	}
	if tables != 2 {
		t.Errorf("there are %d tables, want 2", tables)
	}
	for _, id := range []string{"日本語のチケット", `\u001b[31mred`, `a\u000ab`, "αβγ…—", `Refused by 入力\u001b[1m`} {
		if !strings.Contains(text, "│ "+id+" ") {
			t.Errorf("%s is not in the table:\n%s", id, text)
		}
	}
}

// How wide some characters are is a matter of the locale; the report is not.
func TestTextDoesNotDependOnTheLocale(t *testing.T) {
	c, rows := comparisonOf("ααα", "…"), []Row{{"αβγ…—", "pass", "pass", "-", "-"}, {"a much longer name", "pass", "pass", "-", "-"}}
	twwidth.SetEastAsian(false)
	narrow := textOf(t, c, rows)
	twwidth.SetEastAsian(true)
	defer twwidth.SetEastAsian(false)
	if diff := cmp.Diff(narrow, textOf(t, c, rows)); diff != "" {
		t.Errorf("(-narrow +wide):\n%s", diff)
	}
}

func TestTextSaysHowManyCasesMoreThereAre(t *testing.T) {
	tests := []struct {
		cases int
		more  string
	}{
		{1, ""},
		{100, ""},
		{101, "and 1 case more, all of them in tool-runs.jsonl\n"},
		{110_000, "and 109900 cases more, all of them in tool-runs.jsonl\n"},
	}
	for _, test := range tests {
		c := comparisonOf("a", "b")
		c.Dataset.Cases = test.cases
		c.Checks = nil
		var rows []Row
		for i := range min(test.cases, MaxRows) {
			rows = append(rows, Row{Case: fmt.Sprintf("case-%d", i), Baseline: "pass", Candidate: "pass"})
		}
		_, table, _ := strings.Cut(textOf(t, c, rows), "│ case")
		if got := strings.Count(table, "│ case-"); got != len(rows) {
			t.Errorf("%d cases: %d rows, want %d", test.cases, got, len(rows))
		}
		if _, after, _ := strings.Cut(table, "┘\n"); after != test.more {
			t.Errorf("%d cases: after the table stands %q, want %q", test.cases, after, test.more)
		}
	}
}

// The first four lines are for scripts, whatever the surfaces are called.
func TestTextStartsWithFourLines(t *testing.T) {
	for _, s := range hostile {
		lines := strings.SplitN(textOf(t, comparisonOf(s, "plain"), nil), "\n", 6)
		want := []string{
			"version: " + eval.Version,
			Visible(s) + ": 2 / 4 cases passed",
			"plain: 2 / 4 cases passed",
			"gate_passed: false",
			"",
		}
		if diff := cmp.Diff(want, lines[:5]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	}
}

func TestTextNamesTheFailedChecks(t *testing.T) {
	c := comparisonOf("a", "b")
	if text := textOf(t, c, nil); !strings.HasSuffix(text, "┘\nand 4 cases more, all of them in tool-runs.jsonl\n\ngate check failed: candidate_passes_all_cases\n") {
		t.Errorf("the text ends otherwise:\n%s", text)
	}
	c.Checks[0].Passed = true
	if text := textOf(t, c, nil); strings.Contains(text, "failed:") || !strings.Contains(text, "gate_passed: true\n") {
		t.Errorf("the gate passed, yet:\n%s", text)
	}
}

func TestRefusedBy(t *testing.T) {
	tests := []struct {
		name      string
		decisions []tool.Decision
		want      string
	}{
		{"no controls", nil, "-"},
		{"all passed", []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "output", Verdict: tool.Pass}}, "-"},
		{"the last one skipped", []tool.Decision{{Control: "approval", Verdict: tool.Skip}}, "-"},
		{"refused", []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "input", Verdict: tool.Refuse}}, "input"},
		{"replayed", []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "idempotency", Verdict: tool.Replay}}, "idempotency (replay)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := &eval.Run{Steps: []eval.Step{
				{Result: tool.Result{Trace: tool.Trace{Decisions: []tool.Decision{{Control: "an earlier call", Verdict: tool.Refuse}}}}},
				{Result: tool.Result{Trace: tool.Trace{Decisions: test.decisions}}},
			}}
			if got := refusedBy(run); got != test.want {
				t.Errorf("refused by %q, want %q", got, test.want)
			}
		})
	}
}
