package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter/tw"

	"agentlab/lab/eval"
	"agentlab/lab/scan"
	"agentlab/lab/tool"
)

// ScanSchema is the JSON Schema (draft 07) of what lab scan --format json writes.
//
//go:embed schemas/scan.schema.json
var ScanSchema []byte

// scanVersion is the version of that document.
const scanVersion = 1

// scanScope says what a scan is evidence of.
const scanScope = "A scan says what calls of a server's tools showed, made of the schemas alone. It is no proof that anything else is right."

// ScanJSON writes a scan as one JSON document.
func ScanJSON(w io.Writer, r *scan.Report) error {
	return writeDocument(w, struct {
		SchemaVersion int    `json:"schema_version"`
		Version       string `json:"version"`
		Scope         string `json:"scope"`
		*scan.Report
	}{scanVersion, eval.Version, scanScope, r})
}

// ScanText writes a scan for a terminal: a line with the counts, the tools, the
// findings, and what was not looked at.
func ScanText(w io.Writer, r *scan.Report) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n\n", scanCounts(r))
	table := newTable(out, tw.AlignLeft, tw.AlignRight, tw.AlignLeft, tw.AlignRight, tw.AlignRight, tw.AlignRight)
	table.Header([]string{"tool", "calls", "plain call", "invalid taken", "largest answer", "findings"})
	for _, t := range r.Tools {
		if !t.Called {
			continue
		}
		row := []string{Visible(t.Name), strconv.Itoa(t.Calls), plainCall(t.Plain), fmt.Sprintf("%d / %d", t.Accepted, t.Invalid), strconv.Itoa(t.Largest), strconv.Itoa(len(findingsOf(r, t.Name)))}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if called, _ := r.Called(); called > 0 {
		if err := table.Render(); err != nil {
			return err
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "\n%s %s %s", f.Severity, Visible(foundAt(f)), f.Code)
		if n := shownCalls(f); n != "" {
			fmt.Fprintf(out, " (%s)", n)
		}
		fmt.Fprintf(out, "\n  %s\n", Visible(f.Says))
		if f.Arguments != nil {
			fmt.Fprintf(out, "  call:   %s\n", Visible(tool.Cut(string(f.Arguments), maxScanned)))
		}
		if f.Answer != "" {
			fmt.Fprintf(out, "  answer: %s\n", Visible(f.Answer))
		}
	}
	if skipped := leftOut(r); len(skipped) > 0 {
		fmt.Fprint(out, "\nnot called:\n")
		for _, t := range skipped {
			fmt.Fprintf(out, "  %s: %s\n", Visible(t.Name), Visible(t.Why))
		}
	}
	if unlooked := unlookedAt(r); len(unlooked) > 0 {
		fmt.Fprint(out, "\nnot looked at:\n")
		for _, text := range unlooked {
			fmt.Fprintf(out, "  %s\n", Visible(text))
		}
	}
	return out.Flush()
}

// ScanMarkdown writes a scan as a page.
func ScanMarkdown(w io.Writer, r *scan.Report) error {
	out := bufio.NewWriter(w)
	line := func(parts ...string) { fmt.Fprintln(out, strings.Join(parts, "")) }
	code := func(s string) string { return string(appendCode(nil, s, false)) }
	inline := func(s string) string { return string(appendInline(nil, s)) }
	line("# Scan of ", code(r.Server))
	line()
	line("**", inline(scanCounts(r)), "**")
	line()
	line(scanScope)
	line()
	line("| tool | calls | plain call | invalid taken | largest answer | findings |")
	line("| --- | ---: | --- | ---: | ---: | ---: |")
	for _, t := range r.Tools {
		if t.Called {
			line("| ", string(appendCode(nil, t.Name, true)), " | ", strconv.Itoa(t.Calls), " | ", plainCall(t.Plain), " | ", fmt.Sprintf("%d / %d", t.Accepted, t.Invalid),
				" | ", strconv.Itoa(t.Largest), " | ", strconv.Itoa(len(findingsOf(r, t.Name))), " |")
		}
	}
	if len(r.Findings) > 0 {
		line()
		line("## Findings")
	}
	for _, f := range r.Findings {
		line()
		line("### ", inline(foundAt(f)), ": ", code(string(f.Code)), " (", string(f.Severity), ")")
		line()
		text := inline(f.Says)
		if n := shownCalls(f); n != "" {
			text += " (" + n + ")"
		}
		line(text)
		if f.Arguments != nil {
			line()
			line("- call: ", code(tool.Cut(string(f.Arguments), maxScanned)))
		}
		if f.Answer != "" {
			if f.Arguments == nil {
				line()
			}
			line("- answer: ", code(f.Answer))
		}
	}
	if skipped := leftOut(r); len(skipped) > 0 {
		line()
		line("## Not called")
		line()
		for _, t := range skipped {
			line("- ", code(t.Name), ": ", inline(t.Why))
		}
	}
	if unlooked := unlookedAt(r); len(unlooked) > 0 {
		line()
		line("## Not looked at")
		line()
		for _, text := range unlooked {
			line("- ", inline(text))
		}
	}
	return out.Flush()
}

// maxScanned is how many bytes of arguments a person is shown; the JSON has them all.
const maxScanned = 600

func scanCounts(r *scan.Report) string {
	called, calls := r.Called()
	errors := 0
	for _, f := range r.Findings {
		if f.Severity == scan.Error {
			errors++
		}
	}
	return fmt.Sprintf("%s: %d of %s called, %s, %s and %s", Visible(r.Server), called, Counted(len(r.Tools), "tool"),
		Counted(calls, "call"), Counted(errors, "error"), Counted(len(r.Findings)-errors, "warning"))
}

func plainCall(c scan.Came) string { return strings.ReplaceAll(string(c), "_", " ") }

func findingsOf(r *scan.Report, name string) (all []scan.Finding) {
	for _, f := range r.Findings {
		if f.Tool == name {
			all = append(all, f)
		}
	}
	return all
}

func foundAt(f scan.Finding) string {
	if f.Tool == "" {
		return "the server"
	}
	return f.Tool
}

// shownCalls says how many calls showed a finding, where it was more than this one
// or could have been.
func shownCalls(f scan.Finding) string {
	switch {
	case f.Of > 0:
		return fmt.Sprintf("%d of %d such calls", f.Calls, f.Of)
	case f.Calls > 1:
		return Counted(f.Calls, "call")
	}
	return ""
}

func leftOut(r *scan.Report) (tools []scan.Tool) {
	for _, t := range r.Tools {
		if !t.Called && len(t.Unlooked) == 0 {
			tools = append(tools, t)
		}
	}
	return tools
}

// maxAlike is how many tools the same may be said of, each on a line of its own.
const maxAlike = 10

// unlookedAt is all that was not looked at, with the tools that it is about. What
// holds for very many, such as that the time was up, is said once, where it first
// holds; the JSON says it of each.
func unlookedAt(r *scan.Report) []string {
	alike := make(map[string][]string) // the tools of each sentence
	for _, t := range r.Tools {
		for _, text := range t.Unlooked {
			alike[text] = append(alike[text], t.Name)
		}
	}
	texts := append([]string(nil), r.Unlooked...)
	for _, t := range r.Tools {
		for _, text := range t.Unlooked {
			switch about := alike[text]; {
			case len(about) <= maxAlike:
				texts = append(texts, t.Name+": "+text)
			case about[0] == t.Name:
				texts = append(texts, fmt.Sprintf("%s and %d more tools: %s", strings.Join(about[:3], ", "), len(about)-3, text))
			}
		}
	}
	return texts
}
