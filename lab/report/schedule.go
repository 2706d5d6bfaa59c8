package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/olekukonko/tablewriter/tw"

	"agentlab/lab/eval"
	"agentlab/lab/schedule"
)

// ScheduleJSON writes what came of schedules as one JSON document.
func ScheduleJSON(w io.Writer, r *schedule.Report) error {
	return writeDocument(w, struct {
		SchemaVersion int    `json:"schema_version"`
		Version       string `json:"version"`
		*schedule.Report
		Schedules  int `json:"schedules"`
		Violations int `json:"violations"`
	}{1, eval.Version, r, r.Schedules(), r.Violations()})
}

// scheduleRow is all patterns with one hazard.
type scheduleRow struct {
	tool, hazard                         string
	calls, variations, complete          int
	schedules, random, expired, violated int
}

// ScheduleText writes it for a terminal: lines that scripts may rely on (the
// version, the surface, the counts), a row a hazard, and each violation with the
// schedule and the case that replay it.
func ScheduleText(w io.Writer, r *schedule.Report) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "version: %s\n", eval.Version)
	fmt.Fprintf(out, "%s: %s of %s\n", Visible(r.Surface), Counted(r.Schedules(), "schedule"), Counted(len(r.Variations), "variation"))
	fmt.Fprintf(out, "violations: %d\n\n", r.Violations())

	var rows []scheduleRow
	for _, v := range r.Variations {
		i := len(rows) - 1
		for ; i >= 0; i-- {
			if rows[i].tool == v.Tool && rows[i].hazard == v.Hazard && rows[i].calls == v.Calls {
				break
			}
		}
		if i < 0 {
			i = len(rows)
			rows = append(rows, scheduleRow{tool: v.Tool, hazard: v.Hazard, calls: v.Calls})
		}
		row := &rows[i]
		row.variations++
		row.schedules += v.Schedules
		row.random += v.Random
		row.expired += v.Expired
		row.violated += len(v.Violations)
		if v.Complete {
			row.complete++
		}
	}
	table := newTable(out, tw.AlignLeft, tw.AlignRight, tw.AlignLeft, tw.AlignRight, tw.AlignRight, tw.AlignRight, tw.AlignRight)
	table.Header([]string{"tool", "calls", "hazard", "schedules", "at random", "every order of", "violations"})
	for _, row := range rows {
		if err := table.Append([]string{Visible(row.tool), strconv.Itoa(row.calls), row.hazard, strconv.Itoa(row.schedules), strconv.Itoa(row.random),
			fmt.Sprintf("%d / %d", row.complete, row.variations), strconv.Itoa(row.violated)}); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	for _, left := range r.LeftOut {
		fmt.Fprintf(out, "left out: %s: %s\n", Visible(left.Tool), Visible(left.Reason))
	}
	for _, v := range r.Variations {
		for _, broken := range v.Violations {
			fmt.Fprintf(out, "\n%s does not hold on %s: %s\n  --replay '%s'\n  %s\n", broken.Invariant, Counted(broken.Schedules, "schedule"),
				Visible(broken.Says), Visible(broken.Schedule), Visible(string(broken.Case)))
		}
	}
	return out.Flush()
}
