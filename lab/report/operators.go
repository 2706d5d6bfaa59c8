package report

import (
	"bufio"
	"io"

	"agentlab/lab/mutation"
)

// everyControl stands for the control of an operator that weakens each of them.
const everyControl = "each"

// OperatorsText writes what a list of operators does, for a terminal.
func OperatorsText(w io.Writer, operators []mutation.Operator) error {
	out := bufio.NewWriter(w)
	for i, o := range operators {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(o.Name + " (" + controlOf(o) + ")\n  " + o.Does + "\n")
		if o.Needs != "" {
			out.WriteString("  Needs " + o.Needs + ".\n")
		}
	}
	return out.Flush()
}

// OperatorsMarkdown writes them as a table.
func OperatorsMarkdown(w io.Writer, operators []mutation.Operator) error {
	out := bufio.NewWriter(w)
	out.WriteString("| operator | control | what it does | what it needs |\n| --- | --- | --- | --- |\n")
	for _, o := range operators {
		out.WriteString("| " + string(appendCode(nil, o.Name, true)) + " | " + controlOf(o) + " | " +
			string(appendInline(nil, o.Does)) + " | " + string(appendInline(nil, o.Needs)) + " |\n")
	}
	return out.Flush()
}

// OperatorsJSON writes them as a list, one a line.
func OperatorsJSON(w io.Writer, operators []mutation.Operator) error {
	out := bufio.NewWriter(w)
	out.WriteByte('[')
	for i, o := range operators {
		text, err := oneLine(struct {
			Name      string `json:"name"`
			Control   string `json:"control"`
			Does      string `json:"does"`
			Unchecked string `json:"unchecked"`
			Needs     string `json:"needs,omitempty"`
		}{o.Name, controlOf(o), o.Does, o.Unchecked, o.Needs})
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n  ")
		out.Write(text)
	}
	out.WriteString("\n]\n")
	return out.Flush()
}

func controlOf(o mutation.Operator) string {
	if o.Control == "" {
		return everyControl
	}
	return o.Control
}
