package report

import (
	"slices"

	"agentlab/lab/mutation"
)

// What a heat map has room for. Where there is more, mutants are counted by their
// operator, and then by their control; and cases that notice less share a column.
const (
	maxHeatRows    = 200
	maxHeatColumns = 240
)

// heat is a kill matrix as it is drawn: groups of rows, by control, and a column a
// case.
type heat struct {
	of      string // what a row is
	columns []heatColumn
	groups  []heatGroup
}

type heatColumn struct {
	label string
	title string // what is said of it where a person points
}

type heatGroup struct {
	score mutation.Score
	rows  []*heatRow
}

type heatRow struct {
	label, title string
	mutants      int
	states       map[mutation.Status]int
	kills        []int // by column: how many of the mutants it noticed
}

// The rows of a heat map, from the finest.
var heatRows = []struct {
	of  string
	row func(mutation.Outcome) (label, title string)
}{
	{"a mutant", func(o mutation.Outcome) (string, string) { return o.ID, o.Does }},
	{"the mutants of an operator", func(o mutation.Outcome) (string, string) { return o.Operator, "" }},
	{"the mutants of a control", func(o mutation.Outcome) (string, string) { return "all", "" }},
}

// heatOf counts a kill matrix into as many rows and columns as there is room for.
func heatOf(m *mutation.Matrix) heat {
	h := heat{}
	columnOf := h.columnsOf(m)
	for _, rows := range heatRows {
		h.of, h.groups = rows.of, nil
		byControl := make(map[string]int)
		for _, s := range m.Controls {
			byControl[s.Control] = len(h.groups)
			h.groups = append(h.groups, heatGroup{score: s})
		}
		byLabel := make(map[[2]string]*heatRow)
		for _, o := range m.Outcomes {
			label, title := rows.row(o)
			row := byLabel[[2]string{o.Control, label}]
			if row == nil {
				row = &heatRow{label: label, title: title, states: make(map[mutation.Status]int), kills: make([]int, len(h.columns))}
				byLabel[[2]string{o.Control, label}] = row
				group, known := byControl[o.Control]
				if !known {
					group = len(h.groups)
					byControl[o.Control] = group
					h.groups = append(h.groups, heatGroup{score: mutation.Score{Control: o.Control}})
				}
				h.groups[group].rows = append(h.groups[group].rows, row)
			}
			row.mutants++
			row.states[o.Status]++
			seen := make(map[int]bool)
			for _, k := range o.Kills {
				if at, known := columnOf[k.Case]; known && !seen[at] {
					seen[at] = true
					row.kills[at]++
				}
			}
		}
		if len(byLabel) <= maxHeatRows {
			return h
		}
	}
	return h
}

// columnsOf makes the columns, and returns which one a case has. Where there are more
// cases than columns, those that notice least share the last.
func (h *heat) columnsOf(m *mutation.Matrix) map[string]int {
	kills := make(map[string]int)
	for _, o := range m.Outcomes {
		for _, k := range o.Kills {
			kills[k.Case]++
		}
	}
	own := make(map[string]bool) // which have a column of their own
	for _, id := range m.Cases {
		own[id] = true
	}
	if len(m.Cases) > maxHeatColumns {
		most := slices.Clone(m.Cases)
		slices.SortStableFunc(most, func(a, b string) int { return kills[b] - kills[a] })
		for _, id := range most[maxHeatColumns-1:] {
			delete(own, id)
		}
	}
	columnOf, rest := make(map[string]int), 0
	for _, id := range m.Cases {
		if !own[id] {
			rest++
			continue
		}
		columnOf[id] = len(h.columns)
		h.columns = append(h.columns, heatColumn{label: id, title: "case " + id + ": " + Counted(kills[id], "mutant")})
	}
	if rest > 0 {
		last := Counted(rest, "other case")
		for _, id := range m.Cases {
			if !own[id] {
				columnOf[id] = len(h.columns)
			}
		}
		h.columns = append(h.columns, heatColumn{label: last, title: last})
	}
	return columnOf
}
