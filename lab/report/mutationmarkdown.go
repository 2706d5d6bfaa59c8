package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"agentlab/lab/mutation"
)

// maxNoticing is how many of the cases that notice a mutant mutation.md names.
const maxNoticing = 3

// MutationMarkdown writes mutation.md.
func MutationMarkdown(w io.Writer, m *mutation.Matrix) error {
	out := bufio.NewWriter(w)
	line := func(parts ...string) {
		for _, part := range parts {
			out.WriteString(part)
		}
		out.WriteByte('\n')
	}
	code := func(s string) string { return string(appendCode(nil, s, false)) }
	cell := func(s string) string { return string(appendCode(nil, s, true)) }
	inline := func(s string) string { return string(appendInline(nil, s)) }

	line("# Mutants of ", code(m.Surface))
	line()
	if share, ok := m.Total.Share(); ok {
		line("**Score ", Share(share, ok), ": ", strconv.Itoa(m.Total.Noticed), " of ", Counted(m.Total.Mutants-m.Total.Equivalent, "mutant"), " noticed.**")
	} else {
		line("**There is no mutant to judge.**")
	}
	line()
	line(MutationScope)
	line()
	if m.Full {
		line(Counted(len(m.Cases), "case"), ", each replayed on every mutant.")
	} else {
		line(Counted(len(m.Cases), "case"), ", replayed on each mutant until one noticed.")
	}
	line()
	if m.Selection != nil {
		line("Only the mutants that match these patterns were looked at:")
		line()
		for _, pattern := range m.Selection {
			line("- ", code(pattern))
		}
		line()
	}
	head, rule := "| control |", "| --- |"
	for _, column := range scoreColumns {
		head, rule = head+" "+column.name+" |", rule+" ---: |"
	}
	line(head)
	line(rule)
	for _, s := range append(m.Controls[:len(m.Controls):len(m.Controls)], m.Total) {
		row := "| " + cell(s.Control) + " |"
		if s.Control == "" {
			row = "| all |"
		}
		for _, column := range scoreColumns {
			row += " " + column.of(s) + " |"
		}
		line(row)
	}
	line()

	if len(m.Stale) > 0 {
		line("## Stale waivers")
		line()
		line("They excuse nothing, and are to be taken out.")
		line()
		for _, s := range m.Stale {
			line("- ", code(s.Mutant), ": ", inline(s.Why))
		}
		line()
	}
	for _, part := range []struct {
		title, none, said string
		status            mutation.Status
	}{
		{"Survivors", "No mutant that a case reaches survived.", "Every case passes on them.", mutation.Survived},
		{"No coverage", "There is no mutant that no case reaches.", "No case reaches what is weakened.", mutation.NoCoverage},
	} {
		line("## ", part.title)
		line()
		found := outcomesWith(m, part.status)
		if len(found) == 0 {
			line(part.none)
			line()
			continue
		}
		line(part.said)
		line()
		for _, o := range found {
			line("- ", code(o.ID), ": ", inline(o.Does), " ", inline(o.Unchecked))
			if o.Suggested != "" {
				line("  The generated case ", code(o.Suggested), " would notice.")
			}
		}
		line()
	}
	if found := outcomesWith(m, mutation.Equivalent); len(found) > 0 {
		line("## Equivalent")
		line()
		line("No case could notice them, for the reason that a waiver gives.")
		line()
		for _, o := range found {
			line("- ", code(o.ID), ": ", inline(o.Reason))
		}
		line()
	}
	for _, part := range []struct {
		title, said string
		ids         []string
	}{
		{"Cases left out", "They do not pass on the surface itself, and so cannot notice anything.", m.LeftOut},
		{"Idle cases", "They notice no mutant that no other case notices.", m.Idle},
	} {
		if len(part.ids) == 0 {
			continue
		}
		line("## ", part.title)
		line()
		line(part.said)
		line()
		for _, id := range part.ids {
			line("- ", code(id))
		}
		line()
	}

	line("## All mutants")
	control, begun := "", false
	for _, o := range m.Outcomes {
		if !begun || o.Control != control {
			control, begun = o.Control, true
			line()
			line("### ", code(control))
			line()
			line("| mutant | what is weaker | status | noticed by |")
			line("| --- | --- | --- | --- |")
		}
		line("| ", cell(o.ID), " | ", inline(o.Does), " | ", statusName(o.Status), " | ", noticing(o.Kills, cell), " |")
	}
	return out.Flush()
}

func statusName(s mutation.Status) string { return strings.ReplaceAll(string(s), "_", " ") }

// noticing names the cases that notice a mutant, each with the graders that fail.
func noticing(kills []mutation.Kill, cell func(string) string) string {
	if len(kills) == 0 {
		return "-"
	}
	var named []string
	for i, k := range kills {
		if i == maxNoticing {
			named = append(named, "and "+strconv.Itoa(len(kills)-maxNoticing)+" more")
			break
		}
		text := cell(k.Case)
		if len(k.Graders) > 0 {
			text += " (" + string(appendInline(nil, strings.Join(k.Graders, ", "))) + ")"
		}
		named = append(named, text)
	}
	return strings.Join(named, ", ")
}
