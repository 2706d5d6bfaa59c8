package report

import (
	"strconv"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

const (
	failuresHead = "# Failures\n\nA row a failed run, in the order of the dataset; under the table, for each, what was expected and what came.\n\n"

	failuresTable = "| strategy | case | failed graders | side effects | last error |\n" +
		"| --- | --- | --- | ---: | --- |\n"

	noFailures = "No run failed.\n"
)

func appendFailureRow(dst []byte, run *eval.Run) []byte {
	dst = append(dst, "| "...)
	dst = appendCode(dst, run.Strategy, true)
	dst = append(dst, " | "...)
	dst = appendCode(dst, run.Case.ID, true)
	dst = append(dst, " | "...)
	listed := 0
	for i := range run.Grades {
		if run.Grades[i].Passed {
			continue
		}
		if listed++; listed > 1 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, run.Grades[i].Name...)
	}
	dst = append(dst, " | "...)
	dst = strconv.AppendInt(dst, int64(run.SideEffects), 10)
	dst = append(dst, " | "...)
	if e := run.Last().Error; e != nil {
		dst = appendCode(dst, string(e.Code), true)
	} else {
		dst = append(dst, "none"...)
	}
	return append(dst, " |\n"...)
}

func appendFailureDetail(dst []byte, run *eval.Run) []byte {
	dst = append(dst, "\n## "...)
	dst = appendCode(dst, run.Strategy, false)
	dst = append(dst, " on "...)
	dst = appendCode(dst, run.Case.ID, false)
	dst = append(dst, "\n\n"...)
	dst = appendInline(dst, run.Case.Intent)
	dst = append(dst, "\n\n"...)
	for i := range run.Grades {
		g := &run.Grades[i]
		if g.Passed {
			continue
		}
		dst = append(dst, "- "...)
		dst = append(dst, g.Name...)
		dst = append(dst, ": expected "...)
		dst = appendCode(dst, string(g.Expected), false)
		dst = append(dst, ", actual "...)
		dst = appendCode(dst, string(g.Actual), false)
		dst = append(dst, '\n')
	}
	dst = append(dst, "\nWhere it had to stop: "...)
	dst = appendStop(dst, &run.Case.Expected)
	return append(dst, ".\n"...)
}

// appendStop says which control answers a case as its expectation has it.
func appendStop(dst []byte, e *dataset.Expectation) []byte {
	if e.ErrorCode != nil {
		row, known := tool.Lookup(tool.Code(*e.ErrorCode))
		if known && row.Control != "" {
			dst = append(dst, "the "...)
			dst = append(dst, row.Control...)
			dst = append(dst, " control, with "...)
		} else {
			dst = append(dst, "a refusal with "...)
		}
		return appendCode(dst, *e.ErrorCode, false)
	}
	switch {
	case !e.OK:
		return append(dst, "any control; the case names no code"...)
	case e.Replayed != nil && *e.Replayed:
		return append(dst, "the idempotency control, which answers a repeat from its receipt"...)
	default:
		return append(dst, "nowhere; the case expects every control to pass"...)
	}
}
