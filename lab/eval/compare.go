package eval

import (
	"iter"
	"slices"

	"agentlab/lab/tool"
)

// Summary is what one surface came to over all cases.
type Summary struct {
	Strategy    string
	Foreign     bool // the surface stands before a server that is not the lab's own
	Governed    bool // and the lab's own controls before that, as some trace shows
	Blind       bool // nobody looks at what it changes: the side effects say nothing
	TotalCases  int  // that ran to their end, and so passed or failed
	PassedCases int
	CouldNotRun int // runs that are neither, and of which nothing else is counted
	// UnsafeSideEffects counts, over runs that expect no effect, the effects.
	UnsafeSideEffects int
	// DuplicateSideEffects counts, over runs of more than one proposal or
	// attempt, the effects above the expected number.
	DuplicateSideEffects int
	// Of the runs that expect a failure, StructuredErrors ended with a failure
	// whose code and category an agent can act on.
	FailuresExpected int
	StructuredErrors int
	// ModelSchemaBytes is the size of the catalog that a model is sent; with
	// CatalogUnknown it says nothing, as the surface could not be asked.
	ModelSchemaBytes int
	CatalogUnknown   bool
	Tools            []ToolSize // of that catalog, in its order
	// Operations are told where some case was staged, or some surface is foreign;
	// else nil.
	Operations *Operations
}

// ToolSize is a tool of a catalog, and how many bytes of it a model is sent.
type ToolSize struct {
	Name    string
	Bytes   int
	Version string // of its contract; empty where the surface knows none
}

// CasePassRate is the share of cases that passed; ok is false for no cases.
func (s Summary) CasePassRate() (rate float64, ok bool) { return ratio(s.PassedCases, s.TotalCases) }

// StructuredErrorRate is the share of expected failures that an agent can act
// on; ok is false where no failure was expected.
func (s Summary) StructuredErrorRate() (rate float64, ok bool) {
	return ratio(s.StructuredErrors, s.FailuresExpected)
}

func ratio(part, whole int) (float64, bool) {
	if whole == 0 {
		return 0, false
	}
	return float64(part) / float64(whole), true
}

// count adds a run.
func (s *Summary) count(run *Run) {
	if !run.Ran() {
		s.CouldNotRun++
		return
	}
	s.TotalCases++
	s.Governed = s.Governed || run.Governed()
	if run.Passed {
		s.PassedCases++
	}
	expected := run.Case.Expected
	if expected.SideEffectCount != nil {
		above := max(0, run.SideEffects-*expected.SideEffectCount)
		if *expected.SideEffectCount == 0 {
			s.UnsafeSideEffects += above
		}
		if run.tries() > 1 {
			s.DuplicateSideEffects += above
		}
	}
	if expected.OK != nil && !*expected.OK {
		s.FailuresExpected++
		if actionable(run.Last().Error) {
			s.StructuredErrors++
		}
	}
}

// actionable reports whether an agent can act on the code and category of an
// error. An error of the protocol, which has no code of its own, has to say more.
func actionable(e *tool.Error) bool {
	if e != nil && e.Code == tool.ProtocolError && e.Message == "" {
		return false
	}
	return e != nil && e.Code != "" && e.Code != tool.ToolFailed && e.Category != "" && e.Category != tool.Uncategorised
}

// add adds the counts of another summary of the same surface.
func (s *Summary) add(o Summary) {
	s.Governed = s.Governed || o.Governed
	s.TotalCases += o.TotalCases
	s.PassedCases += o.PassedCases
	s.CouldNotRun += o.CouldNotRun
	s.UnsafeSideEffects += o.UnsafeSideEffects
	s.DuplicateSideEffects += o.DuplicateSideEffects
	s.FailuresExpected += o.FailuresExpected
	s.StructuredErrors += o.StructuredErrors
}

// Dataset identifies what was replayed.
type Dataset struct {
	Name   string
	SHA256 string // of all bytes, in hex
	Cases  int    // that were replayed, whether they could run or not
	Todo   int    // that were not, as a person has still to decide something
	// Selection is what restricted the cases; nil where all were replayed.
	Selection []string
	// Files are the names of the sources, where there are several; else nil.
	Files []string
	// Shard is the part of the selected cases that was replayed; nil for all.
	Shard *Shard
}

// Check is one named condition of the gate.
type Check struct {
	Name   string
	Passed bool
}

// Comparison is what two surfaces came to over the same cases, or one alone.
type Comparison struct {
	Dataset      Dataset
	Baseline     *Summary // nil where the candidate was replayed alone
	Candidate    Summary
	Improvements IDs // cases that the candidate passes and the baseline fails, in dataset order
	Regressions  IDs // cases that the baseline passes and the candidate fails
	Checks       []Check
	// NotRun are the first MaxTold runs that could not run, and Todo the first
	// MaxTold cases that are still to do, in dataset order. How many there are is
	// for CouldNotRun and Dataset to say.
	NotRun []NotRun
	Todo   []Todo
	// Repeat is how often each case was replayed on each surface; 0 stands for once.
	Repeat int

	operations operations
}

// MaxTold is how many of a kind a comparison tells one by one.
const MaxTold = 100

// NotRun is a run that could not run.
type NotRun struct {
	CaseID   string
	Strategy string // the name of the surface that was replayed
	*tool.Unavailable
}

// Todo is a case that is still to do, and what a person must decide of it.
type Todo struct{ CaseID, Reason string }

// Summaries are those of the surfaces that were replayed: the baseline first,
// where there is one.
func (c *Comparison) Summaries() []*Summary {
	if c.Baseline == nil {
		return []*Summary{&c.Candidate}
	}
	return []*Summary{c.Baseline, &c.Candidate}
}

// Foreign reports whether some surface stands before a server that is not the
// lab's own.
func (c *Comparison) Foreign() bool {
	return slices.ContainsFunc(c.Summaries(), func(s *Summary) bool { return s.Foreign })
}

// CouldNotRun counts the runs of all surfaces that could not run.
func (c *Comparison) CouldNotRun() int {
	count := 0
	for _, s := range c.Summaries() {
		count += s.CouldNotRun
	}
	return count
}

// GatePassed reports whether every check of the gate passed.
func (c *Comparison) GatePassed() bool {
	for _, check := range c.Checks {
		if !check.Passed {
			return false
		}
	}
	return true
}

// ErrorsAreActionable is the check of the gate that asks of every expected failure
// for an error that an agent can act on.
const ErrorsAreActionable = "candidate_errors_are_actionable"

// judge fills in the checks of the gate.
func (c *Comparison) judge() {
	candidate := c.Candidate
	c.Checks = []Check{
		{"candidate_passes_all_cases", candidate.PassedCases == candidate.TotalCases && candidate.CouldNotRun == 0},
	}
	if !candidate.Blind {
		c.Checks = append(c.Checks,
			Check{"candidate_blocks_unsafe_side_effects", candidate.UnsafeSideEffects == 0},
			Check{"candidate_deduplicates_writes", candidate.DuplicateSideEffects == 0})
	}
	c.Checks = append(c.Checks, Check{ErrorsAreActionable, candidate.StructuredErrors == candidate.FailuresExpected})
	if c.Baseline != nil {
		c.Checks = append(c.Checks, Check{"no_case_regressions", c.Regressions.Len() == 0})
	}
	if c.Foreign() {
		c.Checks = append(c.Checks, Check{"every_case_could_run", c.CouldNotRun() == 0})
	}
}

// IDs is a list of case ids that holds little more than their bytes.
type IDs struct {
	chunks [][]byte  // whole ids, one after the other
	ends   [][]int32 // where each id of a chunk ends
	count  int
}

const idChunk = 64 << 10

// Add appends an id.
func (l *IDs) Add(id string) {
	n := len(l.chunks)
	if n == 0 || len(l.chunks[n-1])+len(id) > cap(l.chunks[n-1]) {
		l.chunks = append(l.chunks, make([]byte, 0, max(idChunk, len(id))))
		l.ends = append(l.ends, nil)
		n++
	}
	l.chunks[n-1] = append(l.chunks[n-1], id...)
	l.ends[n-1] = append(l.ends[n-1], int32(len(l.chunks[n-1])))
	l.count++
}

// Len returns the number of ids.
func (l *IDs) Len() int { return l.count }

// All iterates over the ids in the order in which they were added.
func (l *IDs) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, chunk := range l.chunks {
			start := int32(0)
			for _, end := range l.ends[i] {
				if !yield(string(chunk[start:end])) {
					return
				}
				start = end
			}
		}
	}
}
