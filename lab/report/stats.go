package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter/tw"

	"agentlab/lab/eval"
	"agentlab/lab/stats"
)

// statsVersion is borne by the JSON of stats; it changes when a reader of the old form
// would misread the new one.
const statsVersion = 1

type statsGroup struct {
	Surface     *string       `json:"surface,omitempty"`
	Tool        *string       `json:"tool,omitempty"`
	Version     *string       `json:"version,omitempty"`
	Caller      *string       `json:"caller,omitempty"`
	Calls       int           `json:"calls"`
	Succeeded   int           `json:"succeeded"`
	SuccessRate *float64      `json:"success_rate"` // null of no calls
	Replayed    int           `json:"replayed"`
	Unread      int           `json:"unreadable_proposals"`
	Timeouts    int           `json:"timeouts"`
	BudgetStops int           `json:"budget_stops"`
	Refusals    []statsCount  `json:"refusals"`
	Invalid     int           `json:"invalid_arguments"`
	Properties  []statsCount  `json:"invalid_properties"`
	OutputBytes *distribution `json:"output_bytes"` // null of nothing
	LatencyMS   *distribution `json:"latency_ms"`
}

type statsCount struct {
	Control  string  `json:"control,omitempty"`
	Property *string `json:"property,omitempty"` // a JSON Pointer into the arguments
	Keyword  string  `json:"keyword,omitempty"`
	Count    int     `json:"count"`
}

type distribution struct {
	Count      int   `json:"count"`
	P50        int64 `json:"p50"`
	P90        int64 `json:"p90"`
	P99        int64 `json:"p99"`
	Max        int64 `json:"max"`
	Resolution int64 `json:"resolution"`
}

func distributionOf(h *stats.Histogram) *distribution {
	if h.N() == 0 {
		return nil
	}
	return &distribution{h.N(), h.Percentile(50), h.Percentile(90), h.Percentile(99), h.Max(), h.Resolution()}
}

// invalidAt is the property of a count, and the keyword that it broke.
func invalidAt(c stats.Count) (property, keyword string) {
	if i := strings.LastIndexByte(c.Name, ' '); i >= 0 {
		return c.Name[:i], c.Name[i+1:]
	}
	return c.Name, ""
}

func statsGroupOf(g *stats.Group, by []stats.Dimension) statsGroup {
	told := statsGroup{
		Calls: g.Calls, Succeeded: g.Succeeded, Replayed: g.Replayed, Unread: g.Unread, Timeouts: g.Timeouts, BudgetStops: g.BudgetStops,
		Refusals: []statsCount{}, Invalid: g.Invalid, Properties: []statsCount{},
		OutputBytes: distributionOf(&g.OutputBytes), LatencyMS: distributionOf(&g.LatencyMS),
	}
	for _, d := range by {
		part := g.Of(d)
		switch d {
		case stats.Surface:
			told.Surface = &part
		case stats.Tool:
			told.Tool = &part
		case stats.Version:
			told.Version = &part
		case stats.Caller:
			told.Caller = &part
		}
	}
	if g.Calls > 0 {
		rate := float64(g.Succeeded) / float64(g.Calls)
		told.SuccessRate = &rate
	}
	for _, c := range g.Refusals.List() {
		told.Refusals = append(told.Refusals, statsCount{Control: c.Name, Count: c.N})
	}
	for _, c := range g.Properties.List() {
		property, keyword := invalidAt(c)
		told.Properties = append(told.Properties, statsCount{Property: &property, Keyword: keyword, Count: c.N})
	}
	return told
}

// StatsJSON writes what was counted as JSON.
func StatsJSON(w io.Writer, s *stats.Stats) error {
	groups := []statsGroup{}
	for _, g := range s.Groups() {
		groups = append(groups, statsGroupOf(g, s.By()))
	}
	return writeDocument(w, struct {
		SchemaVersion int               `json:"schema_version"`
		Version       string            `json:"version"`
		Streams       int               `json:"streams"`
		Runs          int               `json:"runs"`
		CouldNotRun   int               `json:"could_not_run"`
		Todo          int               `json:"todo"`
		By            []stats.Dimension `json:"by"`
		Groups        []statsGroup      `json:"groups"`
	}{statsVersion, eval.Version, s.Streams, s.Runs, s.CouldNotRun, s.Todo, s.By(), groups})
}

// keyCells are the first cells of the rows of a group.
func keyCells(g *stats.Group, by []stats.Dimension) []string {
	cells := make([]string, len(by))
	for i, d := range by {
		if cells[i] = Visible(g.Of(d)); cells[i] == "" {
			cells[i] = "-"
		}
	}
	return cells
}

// StatsText writes what was counted as tables for a terminal.
func StatsText(w io.Writer, s *stats.Stats) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s of %s", Counted(s.Runs, "run"), Counted(s.Streams, "stream"))
	if s.CouldNotRun > 0 {
		fmt.Fprintf(out, ", %s that could not run", Counted(s.CouldNotRun, "more"))
	}
	if s.Todo > 0 {
		fmt.Fprintf(out, ", %d still to do", s.Todo)
	}
	out.WriteString("\n")
	by := s.By()
	var calls, refusals, invalid [][]string
	rough := false
	for _, g := range s.Groups() {
		rate := "n/a"
		if g.Calls > 0 {
			rate = percent(float64(g.Succeeded)/float64(g.Calls), true)
		}
		calls = append(calls, append(keyCells(g, by), strconv.Itoa(g.Calls), rate, strconv.Itoa(g.Refusals.Total()), strconv.Itoa(g.Invalid),
			strconv.Itoa(g.Timeouts), strconv.Itoa(g.BudgetStops), quartet(&g.OutputBytes), quartet(&g.LatencyMS)))
		rough = rough || g.OutputBytes.Resolution() > 1 || g.LatencyMS.Resolution() > 1
		for _, c := range g.Refusals.List() {
			refusals = append(refusals, append(keyCells(g, by), Visible(c.Name), strconv.Itoa(c.N)))
		}
		for _, c := range g.Properties.List() {
			property, keyword := invalidAt(c)
			if property == "" {
				property = "(all)"
			}
			invalid = append(invalid, append(keyCells(g, by), Visible(property), Visible(keyword), strconv.Itoa(c.N)))
		}
	}
	const numbers = "p50/p90/p99/max"
	for _, t := range []struct {
		head  []string
		right int // how many columns are numbers
		rows  [][]string
	}{
		{[]string{"calls", "success", "refused", "invalid", "timeouts", "budget", "bytes " + numbers, "ms " + numbers}, 8, calls},
		{[]string{"refused by", "calls"}, 1, refusals},
		{[]string{"invalid argument", "keyword", "calls"}, 1, invalid},
	} {
		if len(t.rows) == 0 {
			continue
		}
		out.WriteString("\n")
		var head []string
		for _, d := range by {
			head = append(head, string(d))
		}
		head = append(head, t.head...)
		alignment := make([]tw.Align, len(head))
		for i := range alignment {
			if alignment[i] = tw.AlignLeft; i >= len(head)-t.right {
				alignment[i] = tw.AlignRight
			}
		}
		table := newTable(out, alignment...)
		table.Header(head)
		if err := table.Bulk(t.rows); err != nil {
			return err
		}
		if err := table.Render(); err != nil {
			return err
		}
	}
	if rough {
		fmt.Fprintf(out, "\nSome percentiles are rounded up: of more than %d different values; --format json has the resolution.\n", stats.MaxValues)
	}
	return out.Flush()
}

func quartet(h *stats.Histogram) string {
	d := distributionOf(h)
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d/%d/%d", d.P50, d.P90, d.P99, d.Max)
}

// StatsCSV writes what was counted as CSV, a number a row: what it is of,
// which it is, and, where there are several, the name. A spreadsheet takes no cell of
// it for a formula.
func StatsCSV(w io.Writer, s *stats.Stats) error {
	out := csv.NewWriter(w)
	by := s.By()
	var head []string
	for _, d := range by {
		head = append(head, string(d))
	}
	out.Write(append(head, "metric", "name", "value")) // its Error has what went wrong
	for _, g := range s.Groups() {
		row := func(metric, name string, value int64) {
			var cells []string
			for _, d := range by {
				cells = append(cells, inert(g.Of(d)))
			}
			out.Write(append(cells, metric, inert(name), strconv.FormatInt(value, 10)))
		}
		for _, m := range []struct {
			name  string
			value int
		}{
			{"calls", g.Calls}, {"succeeded", g.Succeeded}, {"replayed", g.Replayed}, {"unreadable_proposals", g.Unread},
			{"timeouts", g.Timeouts}, {"budget_stops", g.BudgetStops}, {"invalid_arguments", g.Invalid},
		} {
			row(m.name, "", int64(m.value))
		}
		for _, c := range g.Refusals.List() {
			row("refusals", c.Name, int64(c.N))
		}
		for _, c := range g.Properties.List() {
			row("invalid_properties", c.Name, int64(c.N))
		}
		for _, d := range []struct {
			name string
			of   *distribution
		}{{"output_bytes", distributionOf(&g.OutputBytes)}, {"latency_ms", distributionOf(&g.LatencyMS)}} {
			if d.of == nil {
				continue
			}
			row(d.name, "count", int64(d.of.Count))
			row(d.name, "p50", d.of.P50)
			row(d.name, "p90", d.of.P90)
			row(d.name, "p99", d.of.P99)
			row(d.name, "max", d.of.Max)
			row(d.name, "resolution", d.of.Resolution)
		}
	}
	out.Flush()
	return out.Error()
}

// inert is a text as a cell that no spreadsheet takes for a formula.
func inert(s string) string {
	if s = Visible(s); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
