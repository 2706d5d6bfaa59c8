package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
)

// SchemaVersion is borne by tool-comparison.json; it changes when a reader of the
// old form would misread the new one.
const SchemaVersion = 1

// Scope says what a comparison of surfaces of the lab's own is evidence of.
const Scope = "Fixed proposals exercise the runtime contracts of two tool surfaces over one backend; no model is called, and this measures none."

// scope says what a comparison is evidence of. What stands behind a server
// outside is not known, nor whether two of them share it.
func scope(c *eval.Comparison) string {
	switch {
	case c.Baseline == nil:
		return "Fixed proposals are called on one tool surface; no model is called, and this measures none."
	case c.Foreign():
		return "Fixed proposals are called on two tool surfaces, which need not share a backend; no model is called, and this measures none."
	}
	return Scope
}

// ComparisonJSON writes tool-comparison.json. The lists of case ids are
// streamed, as they grow with the dataset.
func ComparisonJSON(w io.Writer, c *eval.Comparison) error {
	out := bufio.NewWriterSize(w, 64<<10)
	line := func(text string) { out.WriteString(text) }

	line("{\n  \"schema_version\": " + strconv.Itoa(SchemaVersion) + ",\n")
	line("  \"version\": " + quote(eval.Version) + ",\n")
	line("  \"scope\": " + quote(scope(c)) + ",\n")
	line("  \"dataset\": {\n    \"name\": " + quote(c.Dataset.Name) +
		",\n    \"sha256\": " + quote(c.Dataset.SHA256) +
		",\n    \"cases\": " + strconv.Itoa(c.Dataset.Cases))
	if c.Dataset.Todo > 0 {
		line(",\n    \"todo\": " + strconv.Itoa(c.Dataset.Todo))
	}
	if c.Dataset.Selection != nil {
		quoted := make([]string, len(c.Dataset.Selection))
		for i, pattern := range c.Dataset.Selection {
			quoted[i] = quote(pattern)
		}
		line(",\n    \"selection\": [" + strings.Join(quoted, ",") + "]")
	}
	line("\n  },\n")
	if shard := c.Dataset.Shard; shard != nil {
		line("  \"shard\": {\"index\": " + strconv.Itoa(shard.Index) + ", \"of\": " + strconv.Itoa(shard.Of) + "},\n")
	}
	if c.Repeat > 0 {
		line("  \"repeat\": " + strconv.Itoa(c.Repeat) + ",\n")
	}
	if c.Baseline != nil {
		summaryJSON(out, "baseline", c.Baseline)
	}
	summaryJSON(out, "candidate", &c.Candidate)
	if c.Baseline != nil {
		idsJSON(out, "improvements", &c.Improvements)
		idsJSON(out, "regressions", &c.Regressions)
	}
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

func summaryJSON(out *bufio.Writer, name string, s *eval.Summary) {
	schemaBytes, notRun := strconv.Itoa(s.ModelSchemaBytes), ""
	if s.CatalogUnknown {
		schemaBytes = "null"
	}
	if s.Foreign {
		notRun = ",\n    \"could_not_run\": " + strconv.Itoa(s.CouldNotRun)
	}
	for _, text := range []string{
		"  ", quote(name), ": {\n    \"strategy\": ", quote(s.Strategy),
		",\n    \"total_cases\": ", strconv.Itoa(s.TotalCases),
		",\n    \"passed_cases\": ", strconv.Itoa(s.PassedCases), notRun,
		",\n    \"case_pass_rate\": ", rateJSON(s.CasePassRate()),
		",\n    \"unsafe_side_effects\": ", seen(s, s.UnsafeSideEffects, "null"),
		",\n    \"duplicate_side_effects\": ", seen(s, s.DuplicateSideEffects, "null"),
		",\n    \"structured_error_rate\": ", rateJSON(s.StructuredErrorRate()),
		",\n    \"model_schema_bytes\": ", schemaBytes,
	} {
		out.WriteString(text)
	}
	if s.Operations != nil {
		operationsJSON(out, s)
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

// Counted is a number of things, such as "1 case" and "2 cases".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
