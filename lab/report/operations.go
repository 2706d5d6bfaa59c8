package report

import (
	"bufio"
	"slices"
	"strconv"

	"agentlab/lab/eval"
)

func operationsJSON(out *bufio.Writer, o *eval.Operations) {
	write := func(texts ...string) {
		for _, text := range texts {
			out.WriteString(text)
		}
	}
	write(",\n    \"operations\": {\n      \"calls\": ", strconv.Itoa(o.Calls),
		",\n      \"successes\": ", strconv.Itoa(o.Successes),
		",\n      \"refusals\": {")
	for i, by := range o.Refusals {
		if i > 0 {
			write(", ")
		}
		write(quote(by.Control), ": ", strconv.Itoa(by.Count))
	}
	median, largest := "null", "null"
	if bytes, ok := o.MedianOutput(); ok {
		median = decimal(bytes)
	}
	if bytes, ok := o.LargestOutput(); ok {
		largest = strconv.Itoa(bytes)
	}
	write("},\n      \"timeouts\": ", strconv.Itoa(o.Timeouts),
		",\n      \"replays\": ", strconv.Itoa(o.Replays),
		",\n      \"budget_stops\": ", strconv.Itoa(o.BudgetStops),
		",\n      \"malformed\": ", strconv.Itoa(o.Malformed),
		",\n      \"output_bytes\": {\"median\": ", median, ", \"largest\": ", largest, "}\n    }")
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// operationRow is one row of the table of metrics, for what a stage brings up.
type operationRow struct {
	name                string
	control             string // the surface's word, which ends the name
	baseline, candidate string
}

// operationRows are none where no case was staged.
func operationRows(c *eval.Comparison) []operationRow {
	b, n := c.Baseline.Operations, c.Candidate.Operations
	if b == nil || n == nil {
		return nil
	}
	row := func(name string, of func(*eval.Operations) string) operationRow {
		return operationRow{name: name, baseline: of(b), candidate: of(n)}
	}
	rows := []operationRow{
		row("Calls", func(o *eval.Operations) string { return strconv.Itoa(o.Calls) }),
		row("Calls that succeeded", func(o *eval.Operations) string { return strconv.Itoa(o.Successes) }),
	}
	for _, control := range refusingControls(b, n) {
		of := row("Refused by ", func(o *eval.Operations) string { return strconv.Itoa(refusals(o, control)) })
		of.control = control
		rows = append(rows, of)
	}
	return append(rows,
		row("Timeouts", func(o *eval.Operations) string { return strconv.Itoa(o.Timeouts) }),
		row("Replays", func(o *eval.Operations) string { return strconv.Itoa(o.Replays) }),
		row("Budget stops", func(o *eval.Operations) string { return strconv.Itoa(o.BudgetStops) }),
		row("Malformed proposals", func(o *eval.Operations) string { return strconv.Itoa(o.Malformed) }),
		row("Output bytes, median", func(o *eval.Operations) string {
			if bytes, ok := o.MedianOutput(); ok {
				return decimal(bytes)
			}
			return "n/a"
		}),
		row("Output bytes, largest", func(o *eval.Operations) string {
			if bytes, ok := o.LargestOutput(); ok {
				return strconv.Itoa(bytes)
			}
			return "n/a"
		}),
	)
}

// refusingControls are those of the candidate in their order, and then those
// that only the baseline has.
func refusingControls(baseline, candidate *eval.Operations) []string {
	var controls []string
	for _, o := range []*eval.Operations{candidate, baseline} {
		for _, by := range o.Refusals {
			if !slices.Contains(controls, by.Control) {
				controls = append(controls, by.Control)
			}
		}
	}
	return controls
}

func refusals(o *eval.Operations, control string) int {
	for _, by := range o.Refusals {
		if by.Control == control {
			return by.Count
		}
	}
	return 0
}
