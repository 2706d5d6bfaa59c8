package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"agentlab/lab/report/terminal"
)

// plainly reports whether colour and progress were turned off.
func plainly(cmd *cobra.Command) bool {
	return isSet(cmd, "no-color") || os.Getenv("NO_COLOR") != ""
}

// isTerminal reports whether a person sees what is written to w, or types what is
// read from it. What wraps a terminal for its errors is one.
func isTerminal(w any) (*os.File, bool) {
	if wrapping, ok := w.(*firstError); ok {
		w = wrapping.w
	}
	file, ok := w.(*os.File)
	return file, ok && isatty.IsTerminal(file.Fd())
}

// styleOf is how text is laid out that is written to w: for a pipe it is neither
// coloured nor wrapped.
func styleOf(cmd *cobra.Command, w io.Writer) terminal.Style {
	file, ok := isTerminal(w)
	if !ok {
		return terminal.Style{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return terminal.Style{Width: width, Colour: !plainly(cmd)}
}
