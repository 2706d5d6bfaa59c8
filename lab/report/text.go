package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// MaxRows is how many cases the text report shows one by one.
const MaxRows = 100

// Row is a case in the text report.
type Row struct {
	Case               string
	Baseline           string // pass or FAIL
	Candidate          string
	BaselineRefusedBy  string // a control, or a dash
	CandidateRefusedBy string
}

func newRow(pair *eval.Pair) Row {
	return Row{
		Case:               pair.Case.ID,
		Baseline:           verdict(pair.Baseline.Passed),
		Candidate:          verdict(pair.Candidate.Passed),
		BaselineRefusedBy:  refusedBy(&pair.Baseline),
		CandidateRefusedBy: refusedBy(&pair.Candidate),
	}
}

func verdict(passed bool) string {
	if passed {
		return "pass"
	}
	return "FAIL"
}

// refusedBy says where the last call of a run ended before its handler's
// output was returned.
func refusedBy(run *eval.Run) string {
	trace := run.Last().Trace
	if control := trace.RefusedBy(); control != "" {
		return control
	}
	if n := len(trace.Decisions); n > 0 && trace.Decisions[n-1].Verdict == tool.Replay {
		return trace.Decisions[n-1].Control + " (replay)"
	}
	return "-"
}

// Text writes the result for a terminal: four lines that scripts may rely on,
// the metrics, the cases, and the checks of a gate that failed. Rows are the
// first MaxRows cases.
func Text(w io.Writer, c *eval.Comparison, rows []Row) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "version: %s\n", eval.Version)
	for _, s := range []eval.Summary{c.Baseline, c.Candidate} {
		fmt.Fprintf(out, "%s: %d / %d cases passed\n", Visible(s.Strategy), s.PassedCases, s.TotalCases)
	}
	fmt.Fprintf(out, "gate_passed: %t\n\n", c.GatePassed())

	baseline, candidate := Visible(c.Baseline.Strategy), Visible(c.Candidate.Strategy)
	table := newTable(out, tw.AlignLeft, tw.AlignRight, tw.AlignRight)
	table.Header("metric", baseline, candidate)
	for _, m := range metrics {
		if err := table.Append(m.name, m.of(c.Baseline), m.of(c.Candidate)); err != nil {
			return err
		}
	}
	for _, row := range operationRows(c) {
		if err := table.Append(row.name+Visible(row.control), row.baseline, row.candidate); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	out.WriteString("\n")

	// One table serves for both, as a new one costs as much as the rest of it.
	table.Reset()
	table.Options(tablewriter.WithAlignment(tw.Alignment{tw.AlignLeft, tw.AlignLeft, tw.AlignLeft}))
	table.Header("case", baseline, "refused by", candidate, "refused by")
	for _, r := range rows {
		if err := table.Append(Visible(r.Case), r.Baseline, r.BaselineRefusedBy, r.Candidate, r.CandidateRefusedBy); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	if more := c.Dataset.Cases - len(rows); more > 0 {
		fmt.Fprintf(out, "and %s more, all of them in tool-runs.jsonl\n", counted(more, "case"))
	}
	if !c.GatePassed() {
		out.WriteString("\n")
		for _, check := range c.Checks {
			if !check.Passed {
				fmt.Fprintf(out, "gate check failed: %s\n", check.Name)
			}
		}
	}
	return out.Flush()
}

// newTable returns a table that leaves its cells as they are: no upper-casing
// of headers, no wrapping.
func newTable(w io.Writer, alignment ...tw.Align) *tablewriter.Table {
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Symbols: tw.NewSymbols(tw.StyleLight),
			Borders: tw.Border{Left: tw.On, Right: tw.On, Top: tw.On, Bottom: tw.On},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithAlignment(alignment),
		// The widths of a table do not depend on whose terminal it is.
		tablewriter.WithEastAsian(tw.Off),
	)
}

// SurfaceTable writes a table of surfaces and the size of their catalogs.
func SurfaceTable(w io.Writer, surfaces []tool.Surface) error {
	table := newTable(w, tw.AlignLeft, tw.AlignRight, tw.AlignRight)
	table.Header("surface", "tools", "schema bytes")
	for _, s := range surfaces {
		definitions := s.Definitions()
		catalog, err := tool.Catalog(definitions)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		if err := table.Append(s.Name(), fmt.Sprint(len(definitions)), fmt.Sprint(len(catalog))); err != nil {
			return err
		}
	}
	return table.Render()
}
