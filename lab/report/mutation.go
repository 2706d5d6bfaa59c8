package report

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"strconv"

	"agentlab/lab/eval"
	"agentlab/lab/mutation"
)

// MutationSchema is the JSON Schema (draft 07) of mutation.json.
//
//go:embed schemas/mutation.schema.json
var MutationSchema []byte

// MutationScope says what a kill matrix is evidence of.
const MutationScope = "Each mutant is the surface with one control removed or weakened in one place. It is noticed where some case that passes on the surface fails on the mutant. This judges the cases, not the surface; no model is called."

// MutationJSON writes mutation.json, a line a mutant.
func MutationJSON(w io.Writer, m *mutation.Matrix) error {
	out := bufio.NewWriterSize(w, 64<<10)
	member := func(name string, value any) error {
		text, err := oneLine(value)
		if err != nil {
			return err
		}
		out.WriteString("  " + quote(name) + ": ")
		out.Write(text)
		out.WriteString(",\n")
		return nil
	}
	out.WriteString("{\n")
	var selection any
	if m.Selection != nil {
		selection = m.Selection
	}
	for _, of := range []struct {
		name  string
		value any
	}{
		{"schema_version", SchemaVersion}, {"version", eval.Version}, {"scope", MutationScope},
		{"surface", m.Surface}, {"full", m.Full}, {"selection", selection}, {"total", scoreOf(m.Total)},
	} {
		if of.value == nil {
			continue
		}
		if err := member(of.name, of.value); err != nil {
			return err
		}
	}
	controls := make([]any, len(m.Controls))
	for i, s := range m.Controls {
		controls[i] = scoreOf(s)
	}
	mutants := make([]any, len(m.Outcomes))
	for i, o := range m.Outcomes {
		mutants[i] = outcomeOf(o)
	}
	lists := []struct {
		name  string
		items []any
	}{
		{"controls", controls}, {"mutants", mutants}, {"cases", anyOf(m.Cases)}, {"left_out", anyOf(m.LeftOut)},
		{"idle_cases", anyOf(m.Idle)}, {"stale_waivers", anyOf(m.Stale)},
	}
	for i, list := range lists {
		if list.name == "idle_cases" && !m.Full {
			continue // nobody looked
		}
		out.WriteString("  " + quote(list.name) + ": [")
		for j, item := range list.items {
			text, err := oneLine(item)
			if err != nil {
				return err
			}
			if j > 0 {
				out.WriteByte(',')
			}
			out.WriteString("\n    ")
			out.Write(text)
		}
		if len(list.items) > 0 {
			out.WriteString("\n  ")
		}
		out.WriteByte(']')
		if i < len(lists)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("}\n")
	return out.Flush()
}

func anyOf[T any](items []T) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

func oneLine(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// sharedScore is a score with its share, which is null where there is nothing to
// judge.
type sharedScore struct {
	mutation.Score
	Share *float64 `json:"score"`
}

func scoreOf(s mutation.Score) sharedScore {
	if share, ok := s.Share(); ok {
		return sharedScore{s, &share}
	}
	return sharedScore{s, nil}
}

func outcomeOf(o mutation.Outcome) mutation.Outcome {
	kills := make([]mutation.Kill, len(o.Kills)) // never null
	for i, k := range o.Kills {
		kills[i] = mutation.Kill{Case: k.Case, Graders: append([]string{}, k.Graders...)}
	}
	o.Kills = kills
	return o
}

// Share writes a share from 0 to 1 with three decimals, cut and not rounded: what is
// not all never reads as 1.000.
func Share(share float64, ok bool) string {
	if !ok {
		return "n/a"
	}
	text := strconv.FormatFloat(share, 'f', 3, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && rounded > share && share < 1 {
		text = strconv.FormatFloat(rounded-0.001, 'f', 3, 64)
	}
	return text
}

// outcomesWith lists the outcomes that have one of these states, in their order.
func outcomesWith(m *mutation.Matrix, states ...mutation.Status) []mutation.Outcome {
	var found []mutation.Outcome
	for _, o := range m.Outcomes {
		for _, status := range states {
			if o.Status == status {
				found = append(found, o)
			}
		}
	}
	return found
}

// scoreColumns are the columns of a table of scores.
var scoreColumns = []struct {
	name string
	of   func(mutation.Score) string
}{
	{"mutants", func(s mutation.Score) string { return strconv.Itoa(s.Mutants) }},
	{"noticed", func(s mutation.Score) string { return strconv.Itoa(s.Noticed) }},
	{"survived", func(s mutation.Score) string { return strconv.Itoa(s.Survived) }},
	{"no coverage", func(s mutation.Score) string { return strconv.Itoa(s.NoCoverage) }},
	{"equivalent", func(s mutation.Score) string { return strconv.Itoa(s.Equivalent) }},
	{"score", func(s mutation.Score) string { return Share(s.Share()) }},
}
