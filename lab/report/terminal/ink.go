package terminal

import (
	"github.com/fatih/color"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

// paint puts colour around a text that shows itself; nil leaves it as it is.
type paint func(...any) string

// ink is what is told by colour, which is never told by it alone.
type ink struct{ good, bad, doubt, faint, bold paint }

func inks(coloured bool) ink {
	if !coloured {
		return ink{}
	}
	of := func(attributes ...color.Attribute) paint {
		c := color.New(attributes...)
		c.EnableColor() // whoever asks for colour has looked at the terminal
		return c.SprintFunc()
	}
	return ink{of(color.FgGreen), of(color.FgRed), of(color.FgYellow), of(color.Faint), of(color.Bold)}
}

func (i ink) ofVerdict(run *eval.Run) paint {
	switch {
	case !run.Ran():
		return i.doubt
	case run.Passed:
		return i.good
	}
	return i.bad
}

func (i ink) verdict(run *eval.Run) string {
	return piece{verdict(run), i.ofVerdict(run)}.painted()
}

// decided is what one control said: a sign, its name, and the code where it refused.
func (i ink) decided(d tool.Decision) piece {
	name := report.Visible(d.Control)
	switch d.Verdict {
	case tool.Pass:
		return piece{"✓ " + name, i.good}
	case tool.Refuse:
		return piece{"✗ " + name + " " + report.Visible(tool.Cut(string(d.Code), maxLine)), i.bad}
	case tool.Replay:
		return piece{"↺ " + name, i.doubt}
	case tool.Skip:
		return piece{"· " + name, i.faint}
	}
	return piece{"? " + name + " " + report.Visible(string(d.Verdict)), i.doubt}
}

func (i ink) decision(d tool.Decision) string { return i.decided(d).painted() }
