// Package report renders what an eval came to. Each renderer takes values or a
// writer and knows one format; [Set] writes the four reports of a run, whole
// or not at all.
//
// Start with [Create], and hand [Set.NewPage], [Page.Add] and [Set.Deliver] to
// [eval.Replay].
//
// One invariant: the same input gives the same bytes. Everything that comes
// from a tool or a dataset is data: escaped for the format it is put into.
//
// The package judges nothing: grades, metrics and the gate are lab/eval's.
package report

import (
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/stream"
)

// Page is what one worker has rendered of consecutive cases.
type Page struct {
	runs    []byte // lines of tool-runs.jsonl
	rows    []byte // rows of the table in tool-failures.md
	details []byte // what stands under that table
	table   []Row  // of the case table, while it is not full
	set     *Set
}

// Add renders a case. Pages may be filled at the same time.
func (p *Page) Add(pair *eval.Pair) {
	p.runs = stream.AppendPair(p.runs, pair)
	if pair.Case.Todo != "" {
		return
	}
	p.addFailures(pair)
	if !p.set.tableFull.Load() && len(p.table) < MaxRows {
		p.table = append(p.table, newRow(pair))
	}
}

func (p *Page) addFailures(pair *eval.Pair) {
	if pair.Baseline != nil {
		p.addFailure(pair.Baseline, pair.Case.Baseline)
	}
	p.addFailure(&pair.Candidate, pair.Case.Candidate)
}

func (p *Page) addFailure(run *eval.Run, proposals []dataset.Proposal) {
	if run.Ran() && !run.Passed {
		run = stream.Bounded(run) // what the stream alone would show
		p.rows = appendFailureRow(p.rows, run)
		p.details = appendFailureDetail(p.details, run, proposals)
	}
}

func (p *Page) reset() {
	p.runs, p.rows, p.details, p.table = p.runs[:0], p.rows[:0], p.details[:0], p.table[:0]
}
