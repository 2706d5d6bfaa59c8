package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

func TestRates(t *testing.T) {
	tests := []struct {
		name               string
		summary            Summary
		passRate, errRate  float64
		passKnown, errKnow bool
	}{
		{"nothing", Summary{}, 0, 0, false, false},
		{"no failure expected", Summary{TotalCases: 4, PassedCases: 3}, 0.75, 0, true, false},
		{"none", Summary{TotalCases: 4, FailuresExpected: 2}, 0, 0, true, true},
		{"all", Summary{TotalCases: 4, PassedCases: 4, FailuresExpected: 2, StructuredErrors: 2}, 1, 1, true, true},
		{"a part", Summary{TotalCases: 8, PassedCases: 2, FailuresExpected: 4, StructuredErrors: 1}, 0.25, 0.25, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if rate, ok := test.summary.CasePassRate(); rate != test.passRate || ok != test.passKnown {
				t.Errorf("CasePassRate = %v, %v", rate, ok)
			}
			if rate, ok := test.summary.StructuredErrorRate(); rate != test.errRate || ok != test.errKnow {
				t.Errorf("StructuredErrorRate = %v, %v", rate, ok)
			}
		})
	}
}

func TestSummaryCount(t *testing.T) {
	run := func(ok bool, wanted, effects, steps int, failure *tool.Error) *Run {
		r := &Run{
			Case:        &dataset.Case{Expected: dataset.Expectation{OK: &ok, SideEffectCount: &wanted}},
			SideEffects: effects,
			Steps:       make([]Step, steps),
		}
		r.Last().Error = failure
		return r
	}
	passed := func(r *Run) *Run {
		r.Passed = true
		return r
	}
	said := func(code tool.Code, category tool.Category) *tool.Error {
		return &tool.Error{Code: code, Category: category}
	}
	tests := []struct {
		name string
		run  *Run
		want Summary
	}{
		{"passed", passed(run(true, 0, 0, 1, nil)), Summary{PassedCases: 1}},
		{"failed", run(true, 0, 0, 1, nil), Summary{}},
		{"unsafe", run(true, 0, 2, 1, nil), Summary{UnsafeSideEffects: 2}},
		{"unsafe, in two steps", run(true, 0, 2, 2, nil), Summary{UnsafeSideEffects: 2, DuplicateSideEffects: 2}},
		{"as many as expected", run(true, 2, 2, 2, nil), Summary{}},
		{"duplicate", run(true, 1, 3, 3, nil), Summary{DuplicateSideEffects: 2}},
		{"too many in one step", run(true, 1, 3, 1, nil), Summary{}},
		{"too few", run(true, 3, 1, 2, nil), Summary{}},
		{"undone", run(true, 0, -1, 2, nil), Summary{}},
		{"structured", run(false, 0, 0, 1, said(tool.PermissionDenied, tool.Policy)), Summary{FailuresExpected: 1, StructuredErrors: 1}},
		{"structured, of a code that is not ours", run(false, 0, 0, 1, said("quota_exceeded", "quota")), Summary{FailuresExpected: 1, StructuredErrors: 1}},
		{"an error of the protocol that says nothing", run(false, 0, 0, 1, said(tool.ProtocolError, tool.Protocol)), Summary{FailuresExpected: 1}},
		{"no failure", run(false, 0, 0, 1, nil), Summary{FailuresExpected: 1}},
		{"the code of a wide tool", run(false, 0, 0, 1, said(tool.ToolFailed, tool.Uncategorised)), Summary{FailuresExpected: 1}},
		{"that code in a category", run(false, 0, 0, 1, said(tool.ToolFailed, tool.Policy)), Summary{FailuresExpected: 1}},
		{"a code without a category", run(false, 0, 0, 1, said(tool.PermissionDenied, tool.Uncategorised)), Summary{FailuresExpected: 1}},
		{"an empty category", run(false, 0, 0, 1, said(tool.PermissionDenied, "")), Summary{FailuresExpected: 1}},
		{"an empty code", run(false, 0, 0, 1, said("", tool.Policy)), Summary{FailuresExpected: 1}},
		{"a failure that was not expected", run(true, 0, 0, 1, said(tool.PermissionDenied, tool.Policy)), Summary{}},
	}
	var sum, added Summary
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.want.TotalCases = 1
			var got Summary
			got.count(test.run)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			sum.count(test.run)
			added.add(got)
		})
	}
	if sum.TotalCases != len(tests) {
		t.Errorf("%d cases, want %d", sum.TotalCases, len(tests))
	}
	if diff := cmp.Diff(sum, added); diff != "" {
		t.Errorf("counted at once (-) and added up (+):\n%s", diff)
	}
}

// Adding counts leaves alone what is known of the surface.
func TestSummaryAddKeepsTheSurface(t *testing.T) {
	s := Summary{Strategy: "a", ModelSchemaBytes: 7}
	s.add(Summary{Strategy: "b", ModelSchemaBytes: 9, TotalCases: 1})
	if diff := cmp.Diff(Summary{Strategy: "a", ModelSchemaBytes: 7, TotalCases: 1}, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each check of the gate fails alone, and fails the gate.
func TestJudge(t *testing.T) {
	good := Summary{TotalCases: 3, PassedCases: 3, FailuresExpected: 2, StructuredErrors: 2}
	bad := Summary{TotalCases: 3, UnsafeSideEffects: 4, DuplicateSideEffects: 2, FailuresExpected: 2}
	tests := []struct {
		fails  string
		change func(*Comparison)
	}{
		{"", func(*Comparison) {}},
		{"", func(c *Comparison) { c.Baseline = &bad }},
		{"", func(c *Comparison) { c.Improvements.Add("x") }},
		{"", func(c *Comparison) { c.Candidate.FailuresExpected, c.Candidate.StructuredErrors = 0, 0 }},
		{"candidate_passes_all_cases", func(c *Comparison) { c.Candidate.PassedCases-- }},
		{"candidate_blocks_unsafe_side_effects", func(c *Comparison) { c.Candidate.UnsafeSideEffects++ }},
		{"candidate_deduplicates_writes", func(c *Comparison) { c.Candidate.DuplicateSideEffects++ }},
		{"candidate_errors_are_actionable", func(c *Comparison) { c.Candidate.StructuredErrors-- }},
		{"no_case_regressions", func(c *Comparison) { c.Regressions.Add("x") }},
		{"", func(c *Comparison) { c.Baseline = nil }},
		{"", func(c *Comparison) { c.Candidate.Foreign = true }},
		{"candidate_passes_all_cases every_case_could_run", func(c *Comparison) { c.Candidate.Foreign, c.Candidate.CouldNotRun = true, 1 }},
		{"candidate_passes_all_cases every_case_could_run", func(c *Comparison) {
			c.Baseline = nil
			c.Candidate.Foreign, c.Candidate.CouldNotRun = true, 1
		}},
		{"every_case_could_run", func(c *Comparison) { c.Baseline = &Summary{Foreign: true, CouldNotRun: 1} }},
	}
	failed := make(map[string]bool)
	for i, test := range tests {
		t.Run(fmt.Sprint(i, test.fails), func(t *testing.T) {
			c := &Comparison{Baseline: &good, Candidate: good}
			test.change(c)
			c.judge()
			var fails []string
			for _, check := range c.Checks {
				if !check.Passed {
					fails = append(fails, check.Name)
					failed[check.Name] = true
				}
			}
			if diff := cmp.Diff(strings.Fields(test.fails), append([]string{}, fails...)); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			if c.GatePassed() != (test.fails == "") {
				t.Errorf("GatePassed = %v", c.GatePassed())
			}
		})
	}
	c := &Comparison{Baseline: &Summary{Foreign: true}}
	c.judge()
	for _, check := range c.Checks {
		if !failed[check.Name] {
			t.Errorf("check %s has not failed in this table", check.Name)
		}
	}
}

func TestIDs(t *testing.T) {
	many := make([]string, 50_000)
	for i := range many {
		many[i] = strings.Repeat("x", i%7) + fmt.Sprint(i)
	}
	longest := strings.Repeat("é", 200)
	tests := map[string][]string{
		"none":                 {},
		"one":                  {"a"},
		"empty ones":           {"", "", "a", ""},
		"many":                 many,
		"as long as a chunk":   {"a", strings.Repeat("b", idChunk), "c", strings.Repeat("d", idChunk-1), "e"},
		"longer than a chunk":  {strings.Repeat("a", 3*idChunk), "b", strings.Repeat("c", idChunk+1), "", "d"},
		"up to a chunk's end":  {strings.Repeat("a", idChunk-3), "bcd", "e"},
		"beyond a chunk's end": {strings.Repeat("a", idChunk-2), "bcd", "e"},
		"of many bytes":        slices.Repeat([]string{longest}, 1000),
	}
	for name, ids := range tests {
		t.Run(name, func(t *testing.T) {
			var list IDs
			for i, id := range ids {
				if list.Len() != i {
					t.Fatalf("Len = %d, want %d", list.Len(), i)
				}
				list.Add(id)
			}
			got := slices.AppendSeq([]string{}, list.All())
			if !slices.Equal(ids, got) {
				t.Errorf("%d ids, not the %d that were added", len(got), len(ids))
			}
			if list.Len() != len(ids) {
				t.Errorf("Len = %d, want %d", list.Len(), len(ids))
			}
		})
	}
}

func TestIDsStop(t *testing.T) {
	var list IDs
	for i := range 30_000 {
		list.Add(fmt.Sprint("case-", i))
	}
	if len(list.chunks) < 2 {
		t.Fatalf("%d chunks, want more than one", len(list.chunks))
	}
	got := 0
	for range list.All() {
		if got++; got == 3 {
			break
		}
	}
	if got != 3 {
		t.Errorf("%d ids after a break at the third", got)
	}
}
