package eval

import (
	"cmp"
	"slices"

	"agentlab/lab/tool"
)

// Operations are what the calls of a surface came to, over all runs. Every
// attempt is a call.
type Operations struct {
	Calls       int
	Successes   int
	Refusals    []Refusals // by control, in the order in which a call meets them
	Timeouts    int
	Replays     int
	BudgetStops int
	Malformed   int // proposals that could not be read, and led to no call
	// ToolFailures are the failures that a server answered with, ProtocolErrors
	// the calls that it took for no call of a tool.
	ToolFailures   int
	ProtocolErrors int
	// OutputBytes counts the outputs of successes by their size; of an answer that
	// came over a wire, as it came.
	OutputBytes map[int]int
}

// Refusals is how often one control refused a call.
type Refusals struct {
	Control string
	Count   int
	// Place is how many controls a refused call had met before this one: the
	// order in which surfaces meet them, as far as traces show it.
	Place int
}

// MedianOutput is the median size of the outputs, in bytes: between the two
// middle ones of an even number. It is false where there are none.
func (o *Operations) MedianOutput() (bytes float64, ok bool) {
	sizes := make([]int, 0, len(o.OutputBytes))
	outputs := 0
	for size, count := range o.OutputBytes {
		sizes = append(sizes, size)
		outputs += count
	}
	if outputs == 0 {
		return 0, false
	}
	slices.Sort(sizes)
	// ranked is the size of the output with so many before it.
	ranked := func(rank int) int {
		for _, size := range sizes {
			if rank -= o.OutputBytes[size]; rank < 0 {
				return size
			}
		}
		return 0
	}
	return float64(ranked((outputs-1)/2)+ranked(outputs/2)) / 2, true
}

// LargestOutput is false where there are no outputs.
func (o *Operations) LargestOutput() (bytes int, ok bool) {
	for size := range o.OutputBytes {
		bytes, ok = max(bytes, size), true
	}
	return bytes, ok
}

func (o *Operations) countRun(run *Run) {
	for i := range run.Steps {
		step := &run.Steps[i]
		switch {
		case step.Malformed:
			o.Malformed++
		case step.Attempts == nil:
			o.countResult(&step.Result)
		}
		for j := range step.Attempts {
			o.countResult(&step.Attempts[j].Result)
		}
	}
}

func (o *Operations) countResult(r *tool.Result) {
	o.Calls++
	if r.Replayed {
		o.Replays++
	}
	if r.OK() {
		o.Successes++
		if o.OutputBytes == nil {
			o.OutputBytes = make(map[int]int)
		}
		size := len(r.Output)
		if r.Reply != nil {
			size = r.Reply.Bytes
		}
		o.OutputBytes[size]++
		return
	}
	switch {
	case toldByTool(r):
		o.ToolFailures++
	case r.Error.Category == tool.Protocol:
		o.ProtocolErrors++
	}
	switch r.Error.Code {
	case tool.ToolTimeout:
		o.Timeouts++
	case tool.BudgetExhausted:
		o.BudgetStops++
	}
	if control := r.Trace.RefusedBy(); control != "" {
		o.refused(Refusals{control, 1, len(r.Trace.Decisions) - 1})
	}
}

// toldByTool reports whether a server said of a call that its tool failed. Where
// the lab's own controls stand before the server, most failures are theirs.
func toldByTool(r *tool.Result) bool {
	switch {
	case r.Reply == nil || !r.Reply.IsError:
		return false
	case len(r.Trace.Decisions) == 0:
		return true
	}
	handler, _ := tool.Lookup(tool.HandlerFailed)
	return r.Trace.RefusedBy() == handler.Control && r.Error.Category != tool.Protocol &&
		r.Error.Code != tool.OutcomeUnknown && r.Error.Code != tool.ToolTimeout
}

func (o *Operations) refused(by Refusals) {
	i := slices.IndexFunc(o.Refusals, func(r Refusals) bool { return r.Control == by.Control })
	if i < 0 {
		o.Refusals = append(o.Refusals, by)
	} else {
		o.Refusals[i].Count += by.Count
		o.Refusals[i].Place = min(o.Refusals[i].Place, by.Place)
	}
}

func (o *Operations) add(more *Operations) {
	o.Calls += more.Calls
	o.Successes += more.Successes
	o.Timeouts += more.Timeouts
	o.Replays += more.Replays
	o.BudgetStops += more.BudgetStops
	o.Malformed += more.Malformed
	o.ToolFailures += more.ToolFailures
	o.ProtocolErrors += more.ProtocolErrors
	for _, by := range more.Refusals {
		o.refused(by)
	}
	if o.OutputBytes == nil {
		o.OutputBytes = more.OutputBytes
		return
	}
	for size, count := range more.OutputBytes {
		o.OutputBytes[size] += count
	}
}

// operations are those of both surfaces, and whether any case was staged.
type operations struct {
	baseline, candidate Operations
	staged              bool
}

func (o *operations) count(pair *Pair) {
	o.staged = o.staged || pair.Case.Stage != nil
	if pair.Baseline != nil && pair.Baseline.Ran() {
		o.baseline.countRun(pair.Baseline)
	}
	if pair.Candidate.Ran() {
		o.candidate.countRun(&pair.Candidate)
	}
}

func (o *operations) add(more *operations) {
	o.staged = o.staged || more.staged
	o.baseline.add(&more.baseline)
	o.candidate.add(&more.candidate)
}

// tellOperations gives the summaries their operations, where a case was staged or
// a surface is foreign: a dataset that stages nothing is compared by what came of
// its runs.
func (c *Comparison) tellOperations() {
	if !c.operations.staged && !c.Foreign() {
		return
	}
	if c.Baseline != nil {
		c.Baseline.Operations = &c.operations.baseline
	}
	c.Candidate.Operations = &c.operations.candidate
	for _, s := range c.Summaries() {
		slices.SortFunc(s.Operations.Refusals, func(a, b Refusals) int {
			return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Control, b.Control))
		})
	}
}
