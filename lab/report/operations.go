package report

import (
	"bufio"
	"slices"
	"strconv"

	"agentlab/lab/eval"
)

func operationsJSON(out *bufio.Writer, s *eval.Summary) {
	o := s.Operations
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
		",\n      \"malformed\": ", strconv.Itoa(o.Malformed))
	if s.Foreign {
		write(",\n      \"tool_failures\": ", strconv.Itoa(o.ToolFailures),
			",\n      \"protocol_errors\": ", strconv.Itoa(o.ProtocolErrors))
	}
	write(
		",\n      \"output_bytes\": {\"median\": ", median, ", \"largest\": ", largest, "}\n    }")
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// operationRow is one row of the table of metrics, for what the calls came to.
type operationRow struct {
	name    string
	control string   // the surface's word, which ends the name
	values  []string // one a surface
}

// operationRows are none where no case was staged and no surface is foreign.
// Rows of what only one kind of surface can do are left out where there is none
// of that kind: one before which the lab's own controls stand can do both.
func operationRows(c *eval.Comparison) []operationRow {
	if c.Candidate.Operations == nil {
		return nil
	}
	var all []*eval.Operations
	own := false
	for _, s := range c.Summaries() {
		all = append(all, s.Operations)
		own = own || !s.Foreign || s.Governed
	}
	row := func(name string, of func(*eval.Operations) string) operationRow {
		r := operationRow{name: name}
		for _, o := range all {
			r.values = append(r.values, of(o))
		}
		return r
	}
	count := func(name string, of func(*eval.Operations) int) operationRow {
		return row(name, func(o *eval.Operations) string { return strconv.Itoa(of(o)) })
	}
	rows := []operationRow{
		count("Calls", func(o *eval.Operations) int { return o.Calls }),
		count("Calls that succeeded", func(o *eval.Operations) int { return o.Successes }),
	}
	if c.Foreign() {
		rows = append(rows,
			count("Failures that a tool told", func(o *eval.Operations) int { return o.ToolFailures }),
			count("Protocol errors", func(o *eval.Operations) int { return o.ProtocolErrors }))
	}
	for _, control := range refusingControls(all) {
		of := count("Refused by ", func(o *eval.Operations) int { return refusals(o, control) })
		of.control = control
		rows = append(rows, of)
	}
	rows = append(rows, count("Timeouts", func(o *eval.Operations) int { return o.Timeouts }))
	if own {
		rows = append(rows,
			count("Replays", func(o *eval.Operations) int { return o.Replays }),
			count("Budget stops", func(o *eval.Operations) int { return o.BudgetStops }))
	}
	return append(rows,
		count("Malformed proposals", func(o *eval.Operations) int { return o.Malformed }),
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

// refusingControls are those of the last surface, which is the candidate, in
// their order, and then those that only the baseline has.
func refusingControls(all []*eval.Operations) []string {
	var controls []string
	for _, o := range slices.Backward(all) {
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
