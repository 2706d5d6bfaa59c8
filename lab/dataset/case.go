// Package dataset reads cases from JSONL, one case a line, and refuses what it
// does not fully understand.
//
// Start with [Open], which gives batches of lines; [Batch.Decode] turns one
// into cases, on any goroutine; [Ledger.Record] takes the batches in order and
// finds what no single line shows.
//
// One invariant: every fault of every line is found and named by file, line
// and field. A dataset with a fault is never half used: whoever replays it
// asks [Ledger.Close] before showing what came of it.
//
// The package runs nothing and grades nothing. The JSON Schema in
// datasets/tool-cases.schema.json says the same as the field tables here; a
// test holds the two together.
package dataset

import "agentlab/lab/tool"

// Case is a named intent, a caller, the proposals that each surface is given,
// and what must come of them.
type Case struct {
	ID          string
	Intent      string // one plain sentence
	Permissions []string
	Approved    bool // the calls of the case were confirmed
	Baseline    []tool.Proposal
	Candidate   []tool.Proposal
	Expected    Expectation
}

// Expectation is what the graders compare with. OK and SideEffectCount always
// hold; a field that is nil is not graded.
type Expectation struct {
	OK              bool     // of the last result
	SideEffectCount int      // of the whole run
	ErrorCode       *string  // of the last result
	Retryable       *bool    // of the last result's error
	Replayed        *bool    // of any result
	OutputKeys      []string // of the last output, in any order
	OutputCount     *int     // the items of the last output
	HasNextCursor   *bool    // of the last output
}
