package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

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
	Baseline           string // pass, FAIL (of a server outside, with what failed) or could not run; empty where there is none
	Candidate          string
	BaselineRefusedBy  string // a control, or a dash; of a server with no control of the lab's before it, the last error
	CandidateRefusedBy string
}

func newRow(pair *eval.Pair) Row {
	row := Row{
		Case:               pair.Case.ID,
		Candidate:          verdict(&pair.Candidate),
		CandidateRefusedBy: stoppedBy(&pair.Candidate),
	}
	if pair.Baseline != nil {
		row.Baseline, row.BaselineRefusedBy = verdict(pair.Baseline), stoppedBy(pair.Baseline)
	}
	return row
}

func verdict(run *eval.Run) string {
	switch {
	case !run.Ran():
		return "could not run"
	case run.Passed:
		return "pass"
	case run.Observed():
		// No control refused, so what failed is all that there is to tell.
		return "FAIL: " + tool.Cut(strings.Join(FailedGraders(run), ", "), maxFailed)
	}
	return "FAIL"
}

// maxFailed is how many bytes of the names of failed graders the table shows.
const maxFailed = 60

// stoppedBy says what ended the last call of a run: a control, or of a server
// outside, whose own controls nobody sees, its error.
func stoppedBy(run *eval.Run) string {
	if !run.Ran() {
		return "-"
	}
	last, control := run.Last(), refusedBy(run)
	switch {
	case !run.Observed() || last.OK():
		return control
	case control == "-":
		return shownCode(last)
	case last.Trace.HandlerRan:
		return control + " (" + shownCode(last) + ")"
	}
	return control
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

// Text writes the result for a terminal: lines that scripts may rely on (the
// version, one a surface, the gate), the metrics, the cases, what could not run or
// is still to do, and the checks of a gate that failed. Rows are the first MaxRows
// cases.
func Text(w io.Writer, c *eval.Comparison, rows []Row) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "version: %s\n", eval.Version)
	if shard := c.Dataset.Shard; shard != nil {
		fmt.Fprintf(out, "%v: %s\n", shard, partOf(c))
	}
	if c.Repeat > 0 {
		fmt.Fprintf(out, "each case was replayed %d times on each surface\n", c.Repeat)
	}
	metricHead, caseHead := []string{"metric"}, []string{"case"}
	for _, s := range c.Summaries() {
		name, notRun, stop := Visible(s.Strategy), "", "refused by"
		if s.CouldNotRun > 0 {
			notRun = fmt.Sprintf(", %d could not run", s.CouldNotRun)
		}
		if s.Foreign && !s.Governed {
			stop = "last error"
		}
		fmt.Fprintf(out, "%s: %d / %d cases passed%s\n", name, s.PassedCases, s.TotalCases, notRun)
		metricHead, caseHead = append(metricHead, name), append(caseHead, name, stop)
	}
	fmt.Fprintf(out, "gate_passed: %t\n\n", c.GatePassed())

	table := newTable(out, tw.AlignLeft, tw.AlignRight, tw.AlignRight)
	table.Header(metricHead)
	for _, m := range metricsOf(c) {
		row := []string{m.name}
		for _, s := range c.Summaries() {
			row = append(row, m.of(s))
		}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	for _, row := range operationRows(c) {
		if err := table.Append(append([]string{row.name + Visible(row.control)}, row.values...)); err != nil {
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
	table.Header(caseHead)
	for _, r := range rows {
		row := []string{Visible(r.Case)}
		if c.Baseline != nil {
			row = append(row, r.Baseline, Visible(r.BaselineRefusedBy))
		}
		if err := table.Append(append(row, r.Candidate, Visible(r.CandidateRefusedBy))); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	if more := c.Dataset.Cases - len(rows); more > 0 {
		fmt.Fprintf(out, "and %s more, all of them in tool-runs.jsonl\n", Counted(more, "case"))
	}
	textNotRun(out, c)
	textTodo(out, c)
	if !c.GatePassed() {
		out.WriteString("\n")
		for _, check := range c.Checks {
			if !check.Passed {
				fmt.Fprintf(out, "gate check failed: %s\n", check.Name)
				if s := &c.Candidate; s.Foreign && check.Name == eval.ErrorsAreActionable {
					// Most servers outside fail it, and few say why.
					fmt.Fprintf(out, "  %d of %s did not bring a code and a category to act on: lab help suite\n",
						s.FailuresExpected-s.StructuredErrors, Counted(s.FailuresExpected, "expected failure"))
				}
			}
		}
	}
	return out.Flush()
}

// maxReasons is how many runs that could not run the text report tells one by
// one: a server that is down says the same of every case.
const maxReasons = 20

func textNotRun(out *bufio.Writer, c *eval.Comparison) {
	count := c.CouldNotRun()
	if count == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s could not run:\n", Counted(count, "run"))
	listed := c.NotRun[:min(len(c.NotRun), maxReasons)]
	for _, n := range listed {
		fmt.Fprintf(out, "  %s on %s: %s\n", Visible(n.Strategy), Visible(n.CaseID), Visible(tool.Cut(n.Reason, maxShown)))
	}
	if more := count - len(listed); more > 0 {
		fmt.Fprintf(out, "  and %d more, all of them in tool-runs.jsonl\n", more)
	}
}

func textTodo(out *bufio.Writer, c *eval.Comparison) {
	if c.Dataset.Todo == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s still to do:\n", Counted(c.Dataset.Todo, "case"))
	for _, t := range c.Todo {
		fmt.Fprintf(out, "  %s: %s\n", Visible(t.CaseID), Visible(t.Reason))
	}
	if more := c.Dataset.Todo - len(c.Todo); more > 0 {
		fmt.Fprintf(out, "  and %d more, all of them in tool-runs.jsonl\n", more)
	}
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
