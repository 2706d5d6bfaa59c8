package report

import (
	"strconv"

	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// appendNotRun appends a table of the first runs that could not run, and how
// many more there are. Reasons are the same whenever the same happens; details
// are for a person at the time.
func appendNotRun(dst []byte, c *eval.Comparison) []byte {
	dst = append(dst, "These runs came to no end, and neither passed nor failed.\n\n"+
		"| strategy | case | reason |\n| --- | --- | --- |\n"...)
	listed := c.NotRun[:min(len(c.NotRun), MaxListed)]
	for _, n := range listed {
		dst = append(dst, "| "...)
		dst = appendCode(dst, n.Strategy, true)
		dst = append(dst, " | "...)
		dst = appendCode(dst, n.CaseID, true)
		dst = append(dst, " | "...)
		dst = appendInline(dst, tool.Cut(n.Reason, maxShown))
		dst = append(dst, " |\n"...)
	}
	if more := c.CouldNotRun() - len(listed); more > 0 {
		dst = append(dst, "\nAnd "...)
		dst = strconv.AppendInt(dst, int64(more), 10)
		dst = append(dst, " more, all of them in tool-runs.jsonl.\n"...)
	}
	return dst
}

// todoMarkdown lists the first cases that are still to do.
func todoMarkdown(line func(...string), c *eval.Comparison) {
	line("These cases were not replayed, and pass only when a person has said what must come of them.")
	line()
	listed := c.Todo[:min(len(c.Todo), MaxListed)]
	for _, t := range listed {
		line("- ", string(appendCode(nil, t.CaseID, false)), ": ", string(appendInline(nil, t.Reason)))
	}
	if more := c.Dataset.Todo - len(listed); more > 0 {
		line("- and ", strconv.Itoa(more), " more, all of them in tool-runs.jsonl")
	}
	line()
}
