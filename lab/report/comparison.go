package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
)

// Scope says what a comparison is evidence of.
const Scope = "Fixed proposals exercise the runtime contracts of two tool surfaces over one backend; no model is called, and this measures none."

// ComparisonJSON writes tool-comparison.json. The lists of case ids are
// streamed, as they grow with the dataset.
func ComparisonJSON(w io.Writer, c *eval.Comparison) error {
	out := bufio.NewWriterSize(w, 64<<10)
	line := func(text string) { out.WriteString(text) }

	line("{\n  \"schema_version\": " + strconv.Itoa(SchemaVersion) + ",\n")
	line("  \"version\": " + quote(eval.Version) + ",\n")
	line("  \"scope\": " + quote(Scope) + ",\n")
	line("  \"dataset\": {\n    \"name\": " + quote(c.Dataset.Name) +
		",\n    \"sha256\": " + quote(c.Dataset.SHA256) +
		",\n    \"cases\": " + strconv.Itoa(c.Dataset.Cases))
	if c.Dataset.Selection != nil {
		quoted := make([]string, len(c.Dataset.Selection))
		for i, pattern := range c.Dataset.Selection {
			quoted[i] = quote(pattern)
		}
		line(",\n    \"selection\": [" + strings.Join(quoted, ",") + "]")
	}
	line("\n  },\n")
	summaryJSON(out, "baseline", c.Baseline)
	summaryJSON(out, "candidate", c.Candidate)
	idsJSON(out, "improvements", &c.Improvements)
	idsJSON(out, "regressions", &c.Regressions)
	line("  \"gate_checks\": {\n")
	for i, check := range c.Checks {
		line("    " + quote(check.Name) + ": " + strconv.FormatBool(check.Passed))
		if i < len(c.Checks)-1 {
			line(",")
		}
		line("\n")
	}
	line("  },\n  \"gate_passed\": " + strconv.FormatBool(c.GatePassed()) + "\n}\n")
	return out.Flush()
}

func summaryJSON(out *bufio.Writer, name string, s eval.Summary) {
	for _, text := range []string{
		"  ", quote(name), ": {\n    \"strategy\": ", quote(s.Strategy),
		",\n    \"total_cases\": ", strconv.Itoa(s.TotalCases),
		",\n    \"passed_cases\": ", strconv.Itoa(s.PassedCases),
		",\n    \"case_pass_rate\": ", rateJSON(s.CasePassRate()),
		",\n    \"unsafe_side_effects\": ", strconv.Itoa(s.UnsafeSideEffects),
		",\n    \"duplicate_side_effects\": ", strconv.Itoa(s.DuplicateSideEffects),
		",\n    \"structured_error_rate\": ", rateJSON(s.StructuredErrorRate()),
		",\n    \"model_schema_bytes\": ", strconv.Itoa(s.ModelSchemaBytes),
	} {
		out.WriteString(text)
	}
	if s.Operations != nil {
		operationsJSON(out, s.Operations)
	}
	out.WriteString("\n  },\n")
}

// rateJSON writes a share as the shortest number that is its double, and null
// where there is nothing to share.
func rateJSON(rate float64, ok bool) string {
	if !ok {
		return "null"
	}
	return strconv.FormatFloat(rate, 'f', -1, 64)
}

func idsJSON(out *bufio.Writer, name string, ids *eval.IDs) {
	out.WriteString("  " + quote(name) + ": [")
	separator := "\n    "
	for id := range ids.All() {
		out.WriteString(separator)
		out.Write(jsonvalue.AppendString(out.AvailableBuffer(), id))
		separator = ",\n    "
	}
	if ids.Len() > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("],\n")
}

func quote(s string) string { return string(jsonvalue.AppendString(nil, s)) }

// MaxListed is how many changed cases tool-comparison.md names.
const MaxListed = 100

// metric is one row of the table of metrics.
type metric struct {
	name string
	of   func(eval.Summary) string
}

var metrics = []metric{
	{"Cases passed", func(s eval.Summary) string {
		return strconv.Itoa(s.PassedCases) + " / " + strconv.Itoa(s.TotalCases) + " (" + percent(s.CasePassRate()) + ")"
	}},
	{"Unsafe side effects", func(s eval.Summary) string { return strconv.Itoa(s.UnsafeSideEffects) }},
	{"Duplicate side effects", func(s eval.Summary) string { return strconv.Itoa(s.DuplicateSideEffects) }},
	{"Actionable error rate", func(s eval.Summary) string { return percent(s.StructuredErrorRate()) }},
	{"Schema bytes", func(s eval.Summary) string { return strconv.Itoa(s.ModelSchemaBytes) }},
}

// ComparisonMarkdown writes tool-comparison.md.
func ComparisonMarkdown(w io.Writer, c *eval.Comparison) error {
	out := bufio.NewWriter(w)
	line := func(parts ...string) {
		for _, part := range parts {
			out.WriteString(part)
		}
		out.WriteByte('\n')
	}
	code := func(s string) string { return string(appendCode(nil, s, false)) }
	cell := func(s string) string { return string(appendCode(nil, s, true)) }

	line("# ", code(c.Baseline.Strategy), " against ", code(c.Candidate.Strategy))
	line()
	if c.GatePassed() {
		line("**The gate passed.**")
	} else {
		line("**The gate failed.**")
	}
	line()
	line(Scope)
	line()
	line("Dataset: ", code(c.Dataset.Name), ", ", counted(c.Dataset.Cases, "case"), ", SHA-256 ", code(c.Dataset.SHA256), ".")
	if c.Dataset.Selection != nil {
		line()
		line("Only the cases that match these patterns were replayed:")
		line()
		for _, pattern := range c.Dataset.Selection {
			line("- ", code(pattern))
		}
	}
	line()
	line("| metric | ", cell(c.Baseline.Strategy), " | ", cell(c.Candidate.Strategy), " |")
	line("| --- | ---: | ---: |")
	for _, m := range metrics {
		line("| ", m.name, " | ", m.of(c.Baseline), " | ", m.of(c.Candidate), " |")
	}
	for _, row := range operationRows(c) {
		name := row.name
		if row.control != "" {
			name += cell(row.control)
		}
		line("| ", name, " | ", row.baseline, " | ", row.candidate, " |")
	}
	line()
	line("## What the catalog costs")
	line()
	line(catalogCost(c))
	line()
	line("## Changed cases")
	line()
	idsMarkdown(line, "Only the candidate passes", &c.Improvements)
	idsMarkdown(line, "Only the baseline passes", &c.Regressions)
	line("## Gate")
	line()
	for _, check := range c.Checks {
		mark := " "
		if check.Passed {
			mark = "x"
		}
		line("- [", mark, "] ", check.Name)
	}
	return out.Flush()
}

func catalogCost(c *eval.Comparison) string {
	before, after := c.Baseline.ModelSchemaBytes, c.Candidate.ModelSchemaBytes
	cost := "A model is sent " + counted(after, "byte") + " of tool definitions by the candidate and " + counted(before, "byte") + " by the baseline: "
	switch {
	case after > before:
		cost += counted(after-before, "byte") + " more in every request that carries the whole catalog"
	case after < before:
		cost += counted(before-after, "byte") + " less in every request that carries the whole catalog"
	default:
		cost += "the same"
	}
	if before > 0 {
		cost += ", " + strconv.FormatFloat(float64(after)/float64(before), 'f', 1, 64) + " times the size"
	}
	return cost + ". Bytes of UTF-8 stand in for tokens, which differ from model to model."
}

func idsMarkdown(line func(...string), title string, ids *eval.IDs) {
	if ids.Len() == 0 {
		line(title, ": none.")
		line()
		return
	}
	line(title, " (", strconv.Itoa(ids.Len()), "):")
	line()
	listed := 0
	for id := range ids.All() {
		if listed == MaxListed {
			line("- and ", strconv.Itoa(ids.Len()-listed), " more, all of them in tool-comparison.json")
			break
		}
		line("- ", string(appendCode(nil, id, false)))
		listed++
	}
	line()
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
