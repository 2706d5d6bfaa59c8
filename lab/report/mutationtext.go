package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter/tw"

	"agentlab/lab/eval"
	"agentlab/lab/mutation"
)

// maxSurvivors is how many survivors of a kind the text report names.
const maxSurvivors = 20

// MutationText writes a kill matrix for a terminal: lines that scripts may rely on
// (the version, the surface, the score), a row a control, and who was not noticed.
func MutationText(w io.Writer, m *mutation.Matrix) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "version: %s\n", eval.Version)
	fmt.Fprintf(out, "%s: %d / %s noticed\n", Visible(m.Surface), m.Total.Noticed, Counted(m.Total.Mutants-m.Total.Equivalent, "mutant"))
	fmt.Fprintf(out, "mutation_score: %s\n\n", Share(m.Total.Share()))

	alignment, head := tw.Alignment{tw.AlignLeft}, []string{"control"}
	for _, column := range scoreColumns {
		alignment, head = append(alignment, tw.AlignRight), append(head, column.name)
	}
	table := newTable(out, alignment...)
	table.Header(head)
	for _, s := range append(m.Controls[:len(m.Controls):len(m.Controls)], m.Total) {
		row := []string{Visible(s.Control)}
		if s.Control == "" {
			row[0] = "all"
		}
		for _, column := range scoreColumns {
			row = append(row, column.of(s))
		}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	for _, part := range []struct {
		said   string
		status mutation.Status
	}{
		{"survived", mutation.Survived},
		{"survived, and no case reaches what is weakened", mutation.NoCoverage},
	} {
		found := outcomesWith(m, part.status)
		if len(found) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s %s:\n", Counted(len(found), "mutant"), part.said)
		for i, o := range found {
			if i == maxSurvivors {
				fmt.Fprintf(out, "  and %d more, all of them in %s\n", len(found)-maxSurvivors, MutationMarkdownFile)
				break
			}
			fmt.Fprintf(out, "  %s\n    %s\n", Visible(o.ID), Visible(cut(o.Unchecked, maxShown)))
			if o.Suggested != "" {
				fmt.Fprintf(out, "    the generated case %s would notice\n", Visible(o.Suggested))
			}
		}
	}
	if len(m.Idle) > 0 {
		fmt.Fprintf(out, "\n%s no mutant that no other case notices; they are in %s\n", Counted(len(m.Idle), "case")+verb(len(m.Idle), " notices", " notice"), MutationMarkdownFile)
	}
	return out.Flush()
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
