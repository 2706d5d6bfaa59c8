package report

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/eval"
)

// MaxListed is how many changed cases tool-comparison.md names.
const MaxListed = 100

// metric is one row of the table of metrics.
type metric struct {
	name    string
	foreign bool // only of a comparison with a server outside
	of      func(*eval.Summary) string
}

// metricsOf lists the rows that a comparison has.
func metricsOf(c *eval.Comparison) []metric {
	if c.Foreign() {
		return metrics
	}
	return slices.DeleteFunc(slices.Clone(metrics), func(m metric) bool { return m.foreign })
}

var metrics = []metric{
	{"Cases passed", false, func(s *eval.Summary) string {
		return strconv.Itoa(s.PassedCases) + " / " + strconv.Itoa(s.TotalCases) + " (" + percent(s.CasePassRate()) + ")"
	}},
	{"Cases that could not run", true, func(s *eval.Summary) string { return strconv.Itoa(s.CouldNotRun) }},
	{"Unsafe side effects", false, func(s *eval.Summary) string { return seen(s, s.UnsafeSideEffects, "n/a") }},
	{"Duplicate side effects", false, func(s *eval.Summary) string { return seen(s, s.DuplicateSideEffects, "n/a") }},
	{"Actionable error rate", false, func(s *eval.Summary) string { return percent(s.StructuredErrorRate()) }},
	{"Schema bytes", false, func(s *eval.Summary) string {
		if s.CatalogUnknown {
			return "n/a"
		}
		return strconv.Itoa(s.ModelSchemaBytes)
	}},
}

// seen is a number of effects, or what stands for it where nobody looks.
func seen(s *eval.Summary, effects int, unseen string) string {
	if s.Blind {
		return unseen
	}
	return strconv.Itoa(effects)
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

	if c.Baseline != nil {
		line("# ", code(c.Baseline.Strategy), " against ", code(c.Candidate.Strategy))
	} else {
		line("# ", code(c.Candidate.Strategy))
	}
	line()
	if c.GatePassed() {
		line("**The gate passed.**")
	} else {
		line("**The gate failed.**")
	}
	line()
	line(scope(c))
	line()
	cases := Counted(c.Dataset.Cases, "case")
	if c.Dataset.Todo > 0 {
		cases += " and " + strconv.Itoa(c.Dataset.Todo) + " still to do"
	}
	line("Dataset: ", code(c.Dataset.Name), ", ", cases, ", SHA-256 ", code(c.Dataset.SHA256), ".")
	if shard := c.Dataset.Shard; shard != nil {
		line()
		line("This is ", shard.String(), ": ", partOf(c), " All shards together are the whole: `lab report merge`.")
	}
	if c.Repeat > 0 {
		line()
		line("Each case was replayed ", strconv.Itoa(c.Repeat), " times on each surface. What is counted is of the first time; a case fails where another time came to anything else.")
	}
	if c.Dataset.Selection != nil {
		line()
		line("Only the cases that match these patterns were replayed:")
		line()
		for _, pattern := range c.Dataset.Selection {
			line("- ", code(pattern))
		}
	}
	line()
	for _, row := range MetricRows(c) {
		line(row)
	}
	line()
	if c.Baseline != nil {
		line("## What the catalog costs")
		line()
		line(catalogCost(c))
		line()
		line("## Changed cases")
		line()
		improved, regressed := "Only the candidate passes", "Only the baseline passes"
		if c.Foreign() {
			// What could not run on one of them is no change.
			improved, regressed = "The candidate passes and the baseline fails", "The baseline passes and the candidate fails"
		}
		idsMarkdown(line, improved, &c.Improvements)
		idsMarkdown(line, regressed, &c.Regressions)
	}
	if c.CouldNotRun() > 0 {
		line("## Could not run")
		line()
		out.Write(appendNotRun(nil, c))
		line()
	}
	if c.Dataset.Todo > 0 {
		line("## Still to do")
		line()
		todoMarkdown(line, c)
	}
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

// partOf says what part of the cases a shard has.
func partOf(c *eval.Comparison) string {
	if c.Dataset.Cases+c.Dataset.Todo == 0 {
		return "no case falls to it, and nothing was replayed."
	}
	return "only the cases that fall to it were replayed."
}

func catalogCost(c *eval.Comparison) string {
	for _, s := range c.Summaries() {
		if s.CatalogUnknown {
			return "What a model is sent by " + string(appendCode(nil, s.Strategy, false)) + " is not known, as it could not be asked."
		}
	}
	before, after := c.Baseline.ModelSchemaBytes, c.Candidate.ModelSchemaBytes
	cost := "A model is sent " + Counted(after, "byte") + " of tool definitions by the candidate and " + Counted(before, "byte") + " by the baseline: "
	switch {
	case after > before:
		cost += Counted(after-before, "byte") + " more in every request that carries the whole catalog"
	case after < before:
		cost += Counted(before-after, "byte") + " less in every request that carries the whole catalog"
	default:
		cost += "the same"
	}
	if before > 0 {
		cost += ", " + strconv.FormatFloat(float64(after)/float64(before), 'f', 1, 64) + " times the size"
	}
	return cost + ". Bytes of UTF-8 stand in for tokens, which differ from model to model."
}

// MetricRows are the lines of the table of metrics in Markdown: two of its head,
// and then one a metric.
func MetricRows(c *eval.Comparison) []string {
	cell := func(s string) string { return string(appendCode(nil, s, true)) }
	head, rule := "| metric |", "| --- |"
	for _, s := range c.Summaries() {
		head, rule = head+" "+cell(s.Strategy)+" |", rule+" ---: |"
	}
	rows := []string{head, rule}
	for _, m := range metricsOf(c) {
		row := "| " + m.name + " |"
		for _, s := range c.Summaries() {
			row += " " + m.of(s) + " |"
		}
		rows = append(rows, row)
	}
	for _, row := range operationRows(c) {
		name := row.name
		if row.control != "" {
			name += cell(row.control)
		}
		rows = append(rows, "| "+name+" | "+strings.Join(row.values, " | ")+" |")
	}
	return rows
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
