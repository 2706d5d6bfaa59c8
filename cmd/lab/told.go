package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"agentlab/lab/eval"
	"agentlab/lab/governed"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/tool"
)

// notices are written to stderr, one at a time, from any goroutine.
func notices(stderr io.Writer) func(string) {
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(stderr, "lab: "+report.Visible(text))
	}
}

// maxTold is how many faults of one surface are told.
const maxTold = 50

// each tells every text once, and no more than a person would read: a server that is
// out of order is so in every case. A nil notice tells nothing.
func each(notice func(string), surface string) func(string) {
	var mu sync.Mutex
	told := make(map[string]bool)
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if notice == nil || told[text] || len(told) > maxTold {
			return
		}
		if told[text] = true; len(told) > maxTold {
			text = surface + ": and more faults, which are not told"
		}
		notice(text)
	}
}

// tellStarts says on stderr how long servers took to start, which no report may
// hold.
func tellStarts(stderr io.Writer, servers []*sandbox.Surface) {
	for _, s := range servers {
		count, median, longest := s.Starts()
		if count == 0 {
			continue
		}
		noun := "start"
		if s.Remote() {
			noun = "connection"
		}
		fmt.Fprintf(stderr, "%s: %s, %s in the middle, %s at most\n", report.Visible(s.Name()), report.Counted(count, noun),
			median.Round(time.Millisecond), longest.Round(time.Millisecond))
	}
}

// tellRemarks says on stderr what a person should doubt.
func tellRemarks(stderr io.Writer, servers []*sandbox.Surface, plan eval.Plan, c *eval.Comparison) {
	var remarks []string
	for _, s := range servers {
		remarks = append(remarks, s.Remarks()...)
	}
	for _, s := range []tool.Surface{plan.Baseline, plan.Candidate} {
		if behind, ok := s.(*governed.Surface); ok {
			remarks = append(remarks, behind.Remarks()...)
		}
	}
	for _, s := range c.Summaries() {
		if o := s.Operations; s.Governed && o.Calls > 0 && o.Successes == 0 {
			remarks = append(remarks, s.Strategy+": no call succeeded: a contract that refuses everything passes such cases")
		}
	}
	for _, remark := range remarks {
		fmt.Fprintln(stderr, "lab: "+report.Visible(remark))
	}
}

// maxCauses is how many causes are told of runs that could not run.
const maxCauses = 10

// notRun is the error of runs that could not run, each cause once.
func notRun(c *eval.Comparison) error {
	type cause struct {
		*tool.Unavailable
		first string
		runs  int
	}
	var causes []*cause
	for _, n := range c.NotRun {
		at := slices.IndexFunc(causes, func(c *cause) bool { return c.Surface == n.Surface && c.Reason == n.Reason })
		if at < 0 {
			at = len(causes)
			causes = append(causes, &cause{n.Unavailable, n.CaseID, 0})
		}
		causes[at].runs++
	}
	var text strings.Builder
	runs := c.CouldNotRun()
	text.WriteString(report.Counted(runs, "run") + " could not run")
	all := 0 // how many were told apart, where that is not all of them
	if len(c.NotRun) < runs {
		all = len(c.NotRun)
	}
	for i, c := range causes {
		if i == maxCauses {
			fmt.Fprintf(&text, "\nand more, for other reasons")
			break
		}
		fmt.Fprintf(&text, "\n%s: %s (%s", c.Surface, c.Reason, c.first)
		if c.runs > 1 {
			fmt.Fprintf(&text, " and %d more", c.runs-1)
		}
		if all > 0 {
			fmt.Fprintf(&text, " among the first %d", all)
		}
		text.WriteString(")")
		for line := range strings.SplitSeq(c.Detail, "\n") {
			if line != "" {
				text.WriteString("\n  " + line)
			}
		}
	}
	return couldNotRun(errors.New(text.String()))
}
